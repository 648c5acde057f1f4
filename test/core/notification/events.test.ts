import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventFor } from '../../../src/core/notification/events.js';
import type { OutboxEvent } from '../../../src/core/records/notification.js';
import type { TransactionView } from '../../../src/core/records/transaction.js';

const view: TransactionView = {
  transaction: {
    id: 'tx-1',
    relayerId: 'r',
    chain: 'evm:1',
    account: '0x0000000000000000000000000000000000000001',
    status: 'pending',
    statusReason: null,
    failureReason: null,
    intent: 'content',
    content: { network: 'evm', to: null, valueWei: 0n, data: '0x00', gasLimit: null, pricing: { kind: 'speed', speed: 'fast' } },
    queued: null,
    traceParent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tags: null,
    delays: null,
    approval: null,
    nonce: null,
    liveVersion: null,
    mined: null,
    createdAtMs: 0,
    updatedAtMs: 0,
    sentAtMs: null,
    confirmedAtMs: null,
    validUntilMs: null,
    revision: 1,
  },
  shown: null,
};

function depsThatShow(record: string) {
  const inserted: OutboxEvent[] = [];
  const change = {
    insertEvent(event: OutboxEvent) {
      inserted.push(event);
      return { name: 'insertEvent' };
    },
  };
  const clock = { nowMs: () => Date.UTC(2030, 0, 2, 3, 4, 5, 60) };
  const ids = { timeOrdered: () => '0190-v7', random: () => 'random' };
  return {
    inserted,
    deps: { change, clock, ids, renderTransaction: (shown: TransactionView) => record.replace('ID', shown.transaction.id) },
  };
}

it('event: contains payload_type and the record with every digit', () => {
  const { inserted, deps } = depsThatShow('{"id":"ID","value":123456789012345678901234567890}');
  assert.deepEqual(eventFor(deps, { notificationId: 'n' }, view), { name: 'insertEvent' });
  const nowMs = deps.clock.nowMs();
  assert.deepEqual(inserted, [
    {
      id: '0190-v7',
      notificationId: 'n',
      event: 'transaction_update',
      orderKey: 'tx-1',
      body:
        '{"id":"0190-v7","event":"transaction_update",' +
        '"payload":{"payload_type":"transaction","id":"tx-1","value":123456789012345678901234567890},' +
        '"timestamp":"2030-01-02T03:04:05.060Z"}',
      status: 'pending',
      attempts: 0,
      nextAttemptAtMs: nowMs,
      createdAtMs: nowMs,
      traceParent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  ]);
});

it('event: is null for a relayer without a notification', () => {
  const { inserted, deps } = depsThatShow('{"id":"ID"}');
  assert.equal(eventFor(deps, { notificationId: null }, view), null);
  assert.deepEqual(inserted, []);
});

it('event: throws if the rendered record is not an object', () => {
  assert.throws(() => eventFor(depsThatShow('[]').deps, { notificationId: 'n' }, view));
});
