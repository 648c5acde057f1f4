import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Ended, endWaiting } from '../../../src/core/transaction/end-waiting.js';
import { openStore } from '../../../src/storage/open-store.js';
import { anAttempt, aTransaction, next, sampleLane, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

test('restore: ends every unsigned transaction and leaves signed ones to the chain', async (context) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  context.after(() => store.close());
  const waiting = Array.from({ length: 450 }, (_, index) => aTransaction({ id: `waiting-${String(index).padStart(3, '0')}` }));
  const signed = aTransaction({ id: 'signed' });
  const { change } = store;
  await store.commit([
    ...[...waiting, signed].map((transaction) => change.insertTransaction(transaction)),
    change.insertAttempt(anAttempt({ transactionId: 'signed' })),
    change.updateTransaction(next(signed, { status: 'sent', nonce: 0n, liveVersion: 1 })),
  ]);
  const pages: Ended[] = [];
  await endWaiting(store, 1_000, (page) => void pages.push(page));
  assert.deepEqual(
    pages.flatMap(({ ended }) => ended.map(({ id }) => id)),
    waiting.map(({ id }) => id),
  );
  assert.deepEqual(
    pages.flatMap(({ signed }) => signed.map(({ transaction, attempts }) => [transaction.id, attempts.length])),
    [['signed', 1]],
  );
  // A database with many open transactions must not fill the memory.
  assert.equal(Math.max(...pages.map(({ ended, signed }) => ended.length + signed.length)), 200);
  const open = await store.read.openTransactions(sampleLane);
  assert.deepEqual(
    open.map(({ transaction }) => transaction.id),
    ['signed'],
  );
  const restored = (await store.read.transaction('waiting-449'))?.transaction;
  assert.match(restored?.statusReason ?? '', /^restored from a backup/);
  assert.equal(restored?.failureReason, 'unresolvable');
  // So that the cleaner removes them later, like every final transaction.
  const ends = (await store.read.oldestTransactions(signed.relayerId, 500)).map(({ endedAtMs }) => endedAtMs);
  assert.deepEqual(ends, [...waiting.map(() => 1_000), null]);
});
