import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AttemptOutcome } from '../../../src/core/ports/chain/outcomes.js';
import type { Unsequenced } from '../../../src/core/ports/chain/slots.js';
import type { Decide } from '../../../src/core/ports/lanes.js';
import type { Attempt, MinedAt, OpenTransaction, Transaction } from '../../../src/core/records/transaction.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { settleUnsequenced, signAgain } from '../../../src/engine/lane/tasks/settle-unsequenced.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

const attempt = anAttempt({ transactionId: 't', nonce: null });
const at: MinedAt = { version: 1, blockNumber: 7n, blockHash: '7', succeeded: true, facts: null };
const submitted = aTransaction({ id: 't', status: 'submitted', liveVersion: 1, sentAtMs: 1 });
const mined: Transaction = { ...submitted, status: 'mined', mined: at };
const landed: Extract<AttemptOutcome, { kind: 'landed' }> = {
  kind: 'landed',
  isFinal: true,
  receipt: { hash: attempt.hash, blockNumber: 7n, blockHash: '7', succeeded: true, facts: null },
};

/** Settles a transaction that the lane has seen in one state and that is in another when the answer is written. */
async function settle(
  seen: Transaction,
  current: Transaction,
  { hash = attempt.hash, newer = [] as Attempt[] } = {},
): Promise<readonly string[]> {
  const written = await settledBy({ ...landed, receipt: { ...landed.receipt, hash } }, seen, current, newer);
  return written.map(({ status }) => status);
}

/** The same for any outcome. */
async function settledBy(
  outcome: AttemptOutcome,
  seen: Transaction,
  current = seen,
  newer: readonly Attempt[] = [],
  counts = { resends: 0 },
): Promise<readonly Transaction[]> {
  const written: Transaction[] = [];
  const open = (transaction: Transaction, attempts: readonly Attempt[] = [attempt]): OpenTransaction => ({ transaction, attempts });
  const lane = {
    transactions: {
      unsequenced: () => [open(seen)],
      minable: () => [],
      stateOf: () => ({ isDead: false, takenAtMs: 2 }),
      tracked: () => undefined,
      forgetTaken() {
        counts.resends += 1;
      },
    },
    numbers: { onChain: 0n },
    chain: { sequence: {}, unsequenced: { whyEndless: () => null } },
    deps: { clock: { nowMs: () => 5_000, elapsedMs: () => 5_000 } },
    records: {
      async move(_: string, decide: Decide) {
        const move = await decide(open(current, [attempt, ...newer]));
        written.push(...(move?.steps ?? []));
        return null;
      },
    },
  } as unknown as LaneContext;
  const unsequenced = { outcomes: async () => new Map([[attempt.hash, outcome]]) } as unknown as Unsequenced;
  await settleUnsequenced(lane, unsequenced, { number: 9n, hash: '9', timestampMs: 0 }, async () => undefined);
  return written;
}

it('settle: a final block counts for a transaction that lost its block after nodes were asked', async () => {
  assert.deepEqual(await settle(mined, mined), ['confirmed']);
  assert.deepEqual(await settle(submitted, submitted), ['mined', 'confirmed']);
  assert.deepEqual(await settle(mined, submitted), ['mined', 'confirmed']);
  assert.deepEqual(await settle(submitted, mined), ['confirmed']);
});

it('settle: the result on which nodes agree replaces another one that a node showed before, in the same block', async () => {
  const failed: Transaction = { ...mined, mined: { ...at, succeeded: false } };
  assert.deepEqual(await settle(failed, failed), ['mined', 'confirmed']);
  assert.deepEqual(await settle(submitted, failed), ['mined', 'confirmed']);
});

it('settle: an inner transaction in a block is not taken for an earlier fee bump while a newer one was signed', async () => {
  const newer = [anAttempt({ transactionId: 't', nonce: null, version: 2, hash: `0x${'ef'.repeat(32)}` })];
  assert.deepEqual(await settle(submitted, submitted, { hash: 'inner' }), ['mined', 'confirmed']);
  assert.deepEqual(await settle(submitted, submitted, { newer }), ['mined', 'confirmed']);
  assert.deepEqual(await settle(submitted, submitted, { hash: 'inner', newer }), []);
});

it('settle: the record says that nodes do not agree on the result, or on the expiry, of an attempt', async () => {
  const reasonsBy = async (outcome: AttemptOutcome, seen: Transaction) =>
    (await settledBy(outcome, seen)).map(({ status, statusReason }) => [status, statusReason]);
  const disputed: AttemptOutcome = { ...landed, isFinal: false, isDisputed: true };
  const differ = 'waiting: RPC nodes show different receipts for it in block 7; final when they agree';
  assert.deepEqual(await reasonsBy(disputed, mined), [['mined', differ]]);
  assert.deepEqual(await reasonsBy(disputed, { ...mined, statusReason: differ }), [], 'once');
  const doubted = 'waiting: its attempts should have expired, but no two RPC nodes agree on that; goes on when they do';
  const given: Transaction = { ...submitted, intent: 'expire', statusReason: 'valid_until has passed' };
  assert.deepEqual(await reasonsBy({ kind: 'open', isDoubted: true }, given), [['submitted', doubted]]);
  const once = 'waiting: its attempts have expired, as the only RPC node shows; goes on when the node shows that again some minutes later';
  assert.deepEqual(await reasonsBy({ kind: 'open', isProvedOnce: true }, given), [['submitted', once]]);
  assert.deepEqual(await reasonsBy({ kind: 'open' }, given), []);
});

it('settle: an attempt that should have expired is not broadcast again, so that the record goes on to say what it waits for', async () => {
  const counts = { resends: 0 };
  await settledBy({ kind: 'open' }, submitted, submitted, [], counts);
  assert.equal(counts.resends, 1);
  await settledBy({ kind: 'open', isDoubted: true }, submitted, submitted, [], counts);
  await settledBy({ kind: 'open', isProvedOnce: true }, submitted, submitted, [], counts);
  assert.equal(counts.resends, 1);
});

it('settle: what is signed again is approved if it was, and a queued replacement is not', async () => {
  const given = [{ apiKeyId: 'boss', atMs: 1 }];
  const approval = { ruleId: 'large', required: 1, senders: [], given, rejected: null, expiresAtMs: 9 };
  const approved: Transaction = { ...submitted, approval };
  const asked: unknown[] = [];
  const relayer = { paused: false, disabledReason: null, policies: {} };
  const lane = {
    relayer: () => relayer,
    loops: { isStopped: () => false },
    heads: { settled: null },
    funds: { readFree: async () => ({ free: 10n ** 30n }) },
    transactions: { inFlightCount: () => 1, tracked: () => undefined },
    chain: {
      async draft({ approvals }: { readonly approvals?: number }) {
        asked.push(approvals);
        return { refused: 'above_cap', sentence: 'too much', lasting: false };
      },
    },
    deps: { clock: { nowMs: () => 2, elapsedMs: () => 2 }, database: { timeMs: () => null } },
    records: { move: async () => null },
  } as unknown as LaneContext;
  const head = { number: 9n, hash: '9', timestampMs: 0 };
  for (const transaction of [approved, { ...approved, queued: approved.content }, submitted])
    await signAgain(lane, [{ open: { transaction, attempts: [attempt] }, why: 'dead' }], head);
  assert.deepEqual(asked, [1, 0, 0]);
});
