import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { TransactionSchema, TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { MinimumReplacementPriceSchema } from '../../gen/relayer/v1/transaction_service_pb.js';
import { minimumBid, statedMinimum } from '../../src/console/model/replacement.js';
import { isChangeable, isFinal, stepsOf } from '../../src/console/model/timeline.js';

describe('console: the minimum of a replacement', () => {
  it('is the one that the service states', () => {
    const stated = create(MinimumReplacementPriceSchema, { maxFeePerGas: '33000000001', maxPriorityFeePerGas: '111' });
    assert.deepEqual(minimumBid(stated), { maxFee: 33_000_000_001n, priorityFee: 111n });
    assert.equal(minimumBid(undefined), null);
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

  it('shows the approvals that it needs, and who has decided', () => {
    const given = [{ apiKeyId: 'boss', at: at(2) }];
    const shown = (approval: object, status = TransactionStatus.PENDING) => {
      const [, step, signed] = stepsOf(
        create(TransactionSchema, { status, createdAt: at(1), approval: { required: 2, given, ...approval } }),
      );
      return [step?.title, step?.state, step?.note, step?.at?.seconds, signed?.state];
    };
    assert.deepEqual(shown({}), ['Approved', 'now', '1 of 2: boss', undefined, 'later']);
    assert.deepEqual(shown({ required: 1 }), ['Approved', 'done', '1 of 1: boss', 2n, 'now']);
    const rejected = { rejected: { apiKeyId: 'clerk', at: at(3) } };
    assert.deepEqual(shown(rejected, TransactionStatus.CANCELED), [
      'Approved',
      'skipped',
      '1 of 2: boss; rejected by clerk',
      undefined,
      'skipped',
    ]);
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
