import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { AttemptSchema, TransactionSchema, TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { minimumOutbid, statedMinimum } from '../../src/console/model/replacement.js';
import { isChangeable, isFinal, stepsOf } from '../../src/console/model/timeline.js';
import { minimumReplacement } from '../../src/core/fees/price.js';

const evm = (value: { maxFeePerGas?: string; maxPriorityFeePerGas?: string; gasPrice?: string }) =>
  create(AttemptSchema, { network: { case: 'evm', value } });

describe('console: the minimum of a replacement', () => {
  it('is the one that the service requires', () => {
    for (const [maxFee, priorityFee] of [
      [30_000_000_000n, 1_500_000_000n],
      [9n, 0n],
      [1n, 1n],
    ] as const) {
      const minimum = minimumOutbid([evm({ maxFeePerGas: String(maxFee), maxPriorityFeePerGas: String(priorityFee) })]);
      const required = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: maxFee, maxPriorityFeePerGasWei: priorityFee });
      assert.deepEqual(minimum, { maxFee: required.maxFeePerGasWei, priorityFee: required.maxPriorityFeePerGasWei });
    }
  });

  it('outbids every attempt, and both prices of a legacy one', () => {
    const attempts = [evm({ maxFeePerGas: '100', maxPriorityFeePerGas: '10' }), evm({ maxFeePerGas: '90', maxPriorityFeePerGas: '20' })];
    assert.deepEqual(minimumOutbid(attempts), { maxFee: 111n, priorityFee: 23n });
    assert.deepEqual(minimumOutbid([evm({ gasPrice: '100' })]), { maxFee: 111n, priorityFee: 111n });
  });

  it('is null if nothing is signed, or the network has no bids', () => {
    assert.equal(minimumOutbid([]), null);
    assert.equal(minimumOutbid([create(AttemptSchema, { network: { case: 'solana', value: {} } })]), null);
  });

  it('takes what the error states, and keeps what it does not', () => {
    const present = { maxFee: 5n, priorityFee: 6n };
    assert.deepEqual(statedMinimum({ minimum_wei: '7' }, present), { maxFee: 7n, priorityFee: 6n });
    assert.deepEqual(statedMinimum({ minimum_wei: 'x', minimum_priority_wei: '8' }, present), { maxFee: 5n, priorityFee: 8n });
  });
});

describe('console: the timeline of a transaction', () => {
  const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });
  const states = (values: Parameters<typeof create<typeof TransactionSchema>>[1]) =>
    stepsOf(create(TransactionSchema, values)).map(({ title, state }) => `${title}: ${state}`);

  it('follows a transaction to its confirmation', () => {
    const createdAt = at(1);
    assert.deepEqual(states({ status: TransactionStatus.PENDING, createdAt }), [
      'Accepted: done',
      'Signed and broadcast: now',
      'Mined: later',
      'Confirmed: later',
    ]);
    assert.deepEqual(states({ status: TransactionStatus.MINED, createdAt, sentAt: at(2), blockNumber: 7n }), [
      'Accepted: done',
      'Signed and broadcast: done',
      'Mined: done',
      'Confirmed: now',
    ]);
    assert.deepEqual(
      states({ status: TransactionStatus.CONFIRMED, createdAt, sentAt: at(2), blockNumber: 7n, confirmedAt: at(3) }).at(-1),
      'Confirmed: done',
    );
  });

  it('leaves out what a canceled transaction never reached', () => {
    assert.deepEqual(states({ status: TransactionStatus.CANCELED, createdAt: at(1), updatedAt: at(2) }), [
      'Accepted: done',
      'Signed and broadcast: skipped',
      'Mined: skipped',
      'Canceled: done',
    ]);
  });

  it('only a transaction that is not mined can be changed', () => {
    const all = [1, 2, 3, 4, 5, 6, 7, 8] as const;
    assert.deepEqual(all.filter(isChangeable), [1, 2, 3]);
    assert.deepEqual(all.filter(isFinal), [5, 6, 7, 8]);
  });
});
