import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Sequence } from '../../../src/core/ports/chain/slots.js';
import type { OpenTransaction } from '../../../src/core/records/transaction.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { createFeeBumper } from '../../../src/engine/lane/tasks/bump-fee.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

it('fee bump: unsequenced transactions that are refused one at each head do not keep others from theirs', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `t${index}`);
  const all = ids.map((id): OpenTransaction => {
    const attempt = anAttempt({ transactionId: id, nonce: null, hash: id });
    return { transaction: aTransaction({ id, status: 'submitted', liveVersion: attempt.version, sentAtMs: 1 }), attempts: [attempt] };
  });
  const relayer = { policies: {} };
  const lane = {
    relayer: () => relayer,
    transactions: {
      minable: () => [],
      unsequenced: () => all,
      // A node demands more for it.
      stateOf: () => ({ isUnderpriced: true, takenAtMs: null, obstacle: null }),
      noteWaiting: () => ({ head: 0, ms: 0 }),
    },
    numbers: { onChain: 0n },
    heads: { count: 9, settled: null },
    chain: { unsequenced: { replacement: 'outbid', excludes: () => false }, whyForbidden: () => null },
    deps: { clock: { nowMs: () => 2, elapsedMs: () => 60_000 }, database: { timeMs: () => null } },
    records: { move: async () => null },
  } as unknown as LaneContext;
  const asked: string[] = [];
  const sequence = {
    bumpFee: async ({ live }: { live: { hash: string } }) => {
      asked.push(live.hash);
      return { refused: 'above_cap', sentence: 'fee not increased', lasting: false };
    },
  } as unknown as Sequence;
  const bump = createFeeBumper(lane, sequence);
  for (let head = 0; head < 3; head += 1) await bump();
  assert.deepEqual([...new Set(asked)], ids);
  assert.equal(asked.length, 48);
});

it('fee bump: policies are asked whether they forbid content that was approved, or that needed no approval', async () => {
  const given = [{ apiKeyId: 'boss', atMs: 1 }];
  const approval = { ruleId: 'large', required: 1, senders: [], given, rejected: null, expiresAtMs: 9 };
  const all = [approval, null].map((one, index): OpenTransaction => {
    const attempt = anAttempt({ transactionId: `t${index}`, nonce: null, hash: `t${index}` });
    const transaction = aTransaction({ id: `t${index}`, status: 'submitted', liveVersion: 1, sentAtMs: 1, approval: one });
    return { transaction, attempts: [attempt] };
  });
  const asked: number[] = [];
  const relayer = { policies: {} };
  const lane = {
    relayer: () => relayer,
    transactions: {
      minable: () => [],
      unsequenced: () => all,
      stateOf: () => ({ isUnderpriced: true, takenAtMs: null, obstacle: null }),
      noteWaiting: () => ({ head: 0, ms: 0 }),
    },
    numbers: { onChain: 0n },
    heads: { count: 9, settled: null },
    chain: {
      unsequenced: { replacement: 'outbid', excludes: () => false },
      whyForbidden: (_content: unknown, _relayer: unknown, approvals: number) => {
        asked.push(approvals);
        return null;
      },
    },
    deps: { clock: { nowMs: () => 2, elapsedMs: () => 60_000 }, database: { timeMs: () => null } },
    records: { move: async () => null },
  } as unknown as LaneContext;
  const sequence = {
    bumpFee: async () => ({ refused: 'above_cap', sentence: 'fee not increased', lasting: false }),
  } as unknown as Sequence;
  await createFeeBumper(lane, sequence)();
  assert.deepEqual(asked, [1, 0]);
});
