import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { LaneSchema, type LaneSlot, LaneSlotKind, LaneSlotSchema } from '../../gen/relayer/v1/relayer_service_pb.js';
import { AttemptPurpose, AttemptSchema, TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { barsOf, kindOf, spanOf, verdictOf } from '../../src/console/model/lane.js';
import { mergeSlots } from '../../src/console/model/slots.js';

const attempt = (version: number, maxFee: string, extra: { isMined?: boolean; purpose?: AttemptPurpose } = {}) =>
  create(AttemptSchema, {
    version,
    purpose: AttemptPurpose.CONTENT,
    hash: `0x${version}`,
    network: { case: 'evm', value: { maxFeePerGas: maxFee, maxPriorityFeePerGas: '1' } },
    ...extra,
  });

const slot = (number: number, status: TransactionStatus, attempts = [attempt(1, '100')]): LaneSlot =>
  create(LaneSlotSchema, {
    number: String(number),
    kind: status >= TransactionStatus.CONFIRMED ? LaneSlotKind.FINAL : LaneSlotKind.OPEN,
    transaction: { id: `t${number}`, status, attempts },
  });

const surroundings = { isPaused: false, disabledReason: undefined, head: undefined, inFlight: 0, numberWord: 'nonce' };

describe('console: lane', () => {
  it('bars: stack attempts by their bids, whatever their order', () => {
    const bars = barsOf(slot(1, TransactionStatus.SUBMITTED, [attempt(1, '30'), attempt(2, '10'), attempt(3, '20')]).transaction);
    assert.deepEqual(
      bars.map(({ version, bid, above, isNewest }) => [version, bid, above, isNewest]),
      [
        [2, 10n, null, false],
        [3, 20n, 10n, true],
        [1, 30n, 20n, false],
      ],
    );
  });

  it('bars: of two attempts with one bid, show the mined one', () => {
    const bars = barsOf(slot(1, TransactionStatus.MINED, [attempt(1, '10', { isMined: true }), attempt(2, '10')]).transaction);
    assert.deepEqual(
      bars.map(({ version, isMined }) => [version, isMined]),
      [[1, true]],
    );
  });

  it('bars: mark self-transfers', () => {
    const bars = barsOf(
      slot(1, TransactionStatus.SUBMITTED, [attempt(1, '10'), attempt(2, '20', { purpose: AttemptPurpose.CANCEL })]).transaction,
    );
    assert.deepEqual(
      bars.map(({ isSelfTransfer }) => isSelfTransfer),
      [false, true],
    );
  });

  it('kinds: distinguish what is open, mined, final, a gap, used by others and not loaded', () => {
    const other = create(LaneSlotSchema, { number: '1', kind: LaneSlotKind.OTHER });
    const gap = create(LaneSlotSchema, { number: '1', kind: LaneSlotKind.GAP });
    const statuses = [
      TransactionStatus.SENT,
      TransactionStatus.SUBMITTED,
      TransactionStatus.MINED,
      TransactionStatus.CONFIRMED,
      TransactionStatus.FAILED,
    ];
    assert.deepEqual([undefined, other, gap, ...statuses.map((status) => slot(1, status))].map(kindOf), [
      'unknown',
      'other',
      'gap',
      'waiting',
      'open',
      'mined',
      'confirmed',
      'failed',
    ]);
  });

  it('span: begins in the past of an account, and keeps its beginning while the chain moves', () => {
    const first = spanOf(
      create(LaneSchema, { chainNumber: '812', nextNumber: '850', slots: [slot(807, TransactionStatus.CONFIRMED)] }),
      null,
    );
    assert.deepEqual(first, { from: 607n, to: 850n });
    assert.deepEqual(spanOf(create(LaneSchema, { chainNumber: '840', nextNumber: '900' }), first), { from: 607n, to: 900n });
  });

  it('span: does not reach before zero, nor before the account of Stellar', () => {
    assert.equal(
      spanOf(create(LaneSchema, { chainNumber: '3', nextNumber: '4', slots: [slot(0, TransactionStatus.CONFIRMED)] }), null)?.from,
      0n,
    );
    const slots = [create(LaneSlotSchema, { number: '17179869185', kind: LaneSlotKind.FINAL })];
    assert.equal(spanOf(create(LaneSchema, { chainNumber: '17179869186', nextNumber: '17179869186', slots }), null)?.from, 17179869185n);
  });

  it('span: is null on a network without numbers', () => {
    assert.equal(spanOf(create(LaneSchema, { waitingCount: 3 }), null), null);
  });

  it('slots: keep the map and the slots that have not changed', () => {
    const known = mergeSlots(new Map(), [slot(1, TransactionStatus.SUBMITTED), slot(2, TransactionStatus.SUBMITTED)], 1n);
    assert.equal(mergeSlots(known, [slot(1, TransactionStatus.SUBMITTED)], 1n), known);
    const changed = mergeSlots(known, [slot(1, TransactionStatus.MINED), slot(2, TransactionStatus.SUBMITTED)], 1n);
    assert.notEqual(changed.get(1n), known.get(1n));
    assert.equal(changed.get(2n), known.get(2n));
  });

  it('slots: drop the farthest ones beyond the limit', () => {
    const loaded = Array.from({ length: 1_500 }, (_, index) => slot(index, TransactionStatus.CONFIRMED));
    const kept = mergeSlots(new Map(), loaded, 1_400n);
    assert.equal(kept.size, 1_200);
    assert.ok(kept.has(1_499n) && !kept.has(100n));
  });
});

describe('console: what a lane waits for', () => {
  const stuck = slot(812, TransactionStatus.SUBMITTED, [attempt(1, '100')]);

  it('idle: everything is final', () => {
    assert.equal(verdictOf(create(LaneSchema, { chainNumber: '1' }), surroundings).tone, 'good');
  });

  it('a bid below the base fee is bad, and counts those behind it', () => {
    const lane = create(LaneSchema, { chainNumber: '812', nextNumber: '850', waitingCount: 312, baseFee: '101' });
    const verdict = verdictOf(lane, { ...surroundings, head: stuck, inFlight: 38 });
    assert.deepEqual(
      [verdict.tone, verdict.headline, verdict.transactionId],
      ['bad', 'Nonce 812 is next; 349 transactions wait behind it.', 't812'],
    );
    assert.equal(verdictOf(create(LaneSchema, { ...lane, baseFee: '99' }), { ...surroundings, head: stuck, inFlight: 38 }).tone, 'busy');
  });

  it('a gap, a missing node, a disabled relayer and a pause are named before anything else', () => {
    const lane = create(LaneSchema, { chainNumber: '812', nextNumber: '850', waitingCount: 2 });
    const gap = create(LaneSlotSchema, { number: '812', kind: LaneSlotKind.GAP });
    assert.match(
      verdictOf(lane, { ...surroundings, head: gap, inFlight: 3 }).headline,
      /^Nothing uses nonce 812\. 3 transactions after it wait/,
    );
    assert.equal(verdictOf(create(LaneSchema, { ...lane, problem: 'refused' }), { ...surroundings, head: stuck }).detail, 'refused');
    assert.equal(verdictOf(lane, { ...surroundings, head: stuck, disabledReason: 'wrong chain' }).detail, 'wrong chain');
    assert.match(verdictOf(lane, { ...surroundings, head: stuck, isPaused: true }).headline, /^Paused with 2 waiting/);
  });

  it('unsigned transactions: names the first one', () => {
    const lane = create(LaneSchema, {
      waitingCount: 1,
      waiting: [{ id: 'w', status: TransactionStatus.PENDING, statusReason: 'waiting: no RPC node' }],
    });
    const verdict = verdictOf(lane, surroundings);
    assert.deepEqual(
      [verdict.headline, verdict.detail, verdict.transactionId],
      ['1 transaction is not signed yet.', 'waiting: no RPC node', 'w'],
    );
  });
});
