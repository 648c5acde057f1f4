import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptOutcome, NonceAnswer } from '../../../src/core/ports/chain/outcomes.js';
import type { Sequence, Unsequenced } from '../../../src/core/ports/chain/slots.js';
import type { Decide, Move } from '../../../src/core/ports/lanes.js';
import type { OpenTransaction, Transaction } from '../../../src/core/records/transaction.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { createAccountDoubts } from '../../../src/engine/lane/account-doubts.js';
import { createHeads } from '../../../src/engine/lane/heads.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { createOpenTransactions } from '../../../src/engine/lane/open-transactions.js';
import { createStillness } from '../../../src/engine/lane/stillness.js';
import { createForeignExplainer } from '../../../src/engine/lane/tasks/explain-foreign.js';
import { createGapFiller } from '../../../src/engine/lane/tasks/fill-gaps.js';
import { settleSlots } from '../../../src/engine/lane/tasks/settle-slots.js';
import { settleUnsequenced } from '../../../src/engine/lane/tasks/settle-unsequenced.js';
import { evmContent } from '../../support/evm.js';
import { modelRelayer } from '../../support/model-lane.js';
import { numbersOf } from '../../support/numbers.js';
import { anAttempt, aTransaction, next, silentLog } from '../../support/stored-samples.js';

const first = { hash: '0x01', version: 1 } as const;
const head = { number: 100n, hash: '0xhead', timestampMs: 0 };

/** A sent transaction with one attempt. */
function sent(nonce: bigint | null, over: Partial<Transaction> = {}): OpenTransaction {
  const transaction = aTransaction({ id: 't', status: 'sent', nonce, liveVersion: 1, revision: 2, ...over });
  return { transaction, attempts: [anAttempt({ transactionId: 't', nonce, ...first })] };
}

/** The same after somebody signed another attempt. */
function signedAgain({ transaction, attempts }: OpenTransaction): OpenTransaction {
  const second = anAttempt({ transactionId: 't', nonce: transaction.nonce, hash: '0x02', version: 2 });
  return { transaction: next(transaction, { liveVersion: 2 }), attempts: [...attempts, second] };
}

function newHeads() {
  const network = { averageBlockTimeMs: 400 };
  return createHeads(createStillness(systemClock, network), systemClock, network);
}

/** A lane that knows a transaction as `seen`, while the store has it as `stored`: each move decides about the latter. */
function laneOn(seen: OpenTransaction, stored: OpenTransaction) {
  let elapsedMs = 0;
  const moves: Move[] = [];
  const isUnsequenced = seen.transaction.nonce === null;
  const transactions = createOpenTransactions(
    () => isUnsequenced,
    () => null,
  );
  transactions.put(seen);
  const heads = newHeads();
  heads.settle(head);
  const lane = {
    id: seen.transaction,
    transactions,
    deps: { clock: { nowMs: () => 9_000_000_000_000, elapsedMs: () => elapsedMs } },
    chain: { sequence: null, unsequenced: { whyEndless: () => 'it could be mined at any time' } },
    relayer: () => modelRelayer('r1', { requiredConfirmations: 3 }),
    heads,
    numbers: numbersOf(8n),
    records: {
      // By the one that has stored something else.
      isBusy: () => true,
      async move(_: string, decide: Decide) {
        const move = await decide(stored);
        if (move !== null) moves.push(move);
        return null;
      },
    },
  } as unknown as LaneContext;
  Object.assign(lane, { doubts: createAccountDoubts(lane) });
  return { lane, moves, pass: (ms: number) => (elapsedMs += ms) };
}

/** Settles at many heads in a row, at which nodes say this about the attempt. */
async function settleLong(seen: OpenTransaction, stored: OpenTransaction, outcome: AttemptOutcome, isRefused = false) {
  const { lane, moves, pass } = laneOn(seen, stored);
  const unsequenced = { outcomes: async () => new Map([[first.hash, outcome]]) } as unknown as Unsequenced;
  const [attempt] = seen.attempts;
  const state = attempt === undefined ? undefined : lane.transactions.stateOf(attempt);
  if (isRefused && state !== undefined) state.obstacle = { because: 'invalid', sentence: 'bad', answers: 9, sinceMs: -600_000 };
  for (let heads = 1; heads <= 25 && moves.length === 0; heads += 1) {
    pass(60_000);
    await settleUnsequenced(lane, unsequenced, { ...head, number: BigInt(heads), hash: `0x${heads}` }, async () => undefined);
  }
  return moves.map(({ steps }) => steps[0].status);
}

/** Explains a used nonce that many searches have not explained. */
async function explainLong(seen: OpenTransaction, stored: OpenTransaction) {
  const { lane, moves } = laneOn(seen, stored);
  const record = lane.transactions.tracked('t');
  assert.ok(record !== undefined);
  record.unexplained = { heads: 99, lastHash: '0x', emptyHeads: 99, searchedAt: 0 };
  const sequence = {
    findSender: async () => 'not_found',
    nextAt: async () => ({ next: 9n }),
    areGone: async () => true,
  } as unknown as Sequence;
  await createForeignExplainer(lane, sequence)(head);
  return moves.map(({ steps }) => steps[0].status);
}

describe('a decision about attempts, while another one was signed', () => {
  const unsequenced = sent(null);
  const slotted = sent(7n);

  it('a transaction whose outcome no node can know fails, but not if it has another attempt by now', async () => {
    assert.deepEqual(await settleLong(unsequenced, unsequenced, { kind: 'unknown' }), ['failed']);
    assert.deepEqual(await settleLong(unsequenced, signedAgain(unsequenced), { kind: 'unknown' }), []);
  });

  it('a transaction that no node will ever accept fails, but not if it has another attempt by now', async () => {
    assert.deepEqual(await settleLong(unsequenced, unsequenced, { kind: 'open' }, true), ['failed']);
    assert.deepEqual(await settleLong(unsequenced, signedAgain(unsequenced), { kind: 'open' }, true), []);
  });

  it('a transaction whose slot no node can explain fails, but not if it has another attempt by now', async () => {
    assert.deepEqual(await explainLong(slotted, slotted), ['failed']);
    assert.deepEqual(await explainLong(slotted, signedAgain(slotted)), ['sent']);
  });

  it('a transaction whose block is gone is not mined any more, but not if it is in another block by now', async () => {
    const inBlock = (blockHash: string) => ({ version: 1, blockNumber: 99n, blockHash, succeeded: true, facts: null });
    const seen = sent(7n, { status: 'mined', mined: inBlock('0xold') });
    const moved = { ...seen, transaction: next(seen.transaction, { mined: inBlock('0xnew') }) };
    const sequence = {
      nextAt: async () => ({ next: 8n }),
      blockHash: async () => '0xnew',
      receipts: async () => ({ found: new Map(), unanswered: new Set() }),
      finalBlock: async () => null,
    } as unknown as Sequence;
    const settled = async (stored: OpenTransaction) => {
      const { lane, moves } = laneOn(seen, stored);
      await settleSlots(lane, sequence, head);
      return moves.map(({ steps }) => steps[0].status);
    };
    assert.deepEqual(await settled(seen), ['submitted']);
    assert.deepEqual(await settled(moved), []);
  });
});

describe('a nonce above what was signed', () => {
  it('a nonce above what was signed is doubted again if another endpoint answers, since that one must not confirm itself', async () => {
    const seen = sent(7n);
    const { lane } = laneOn(seen, seen);
    const asked: (number | undefined)[] = [];
    let answering = 0;
    const sequence = {
      async nextAt(_: string, __: bigint, otherThan?: NonceAnswer) {
        if (otherThan === undefined) return { next: 831n, endpoint: answering };
        asked.push(otherThan.endpoint);
        return { next: 831n, endpoint: 2 };
      },
      receipts: async () => ({ found: new Map(), unanswered: new Set() }),
      finalBlock: async () => null,
    } as unknown as Sequence;
    const settle = (number: bigint, endpoint: number) => {
      answering = endpoint;
      // One endpoint reports all heads.
      return settleSlots(lane, sequence, { ...head, number, hash: `0x${number}`, endpoint: 0 });
    };
    await settle(101n, 0);
    await settle(102n, 1);
    assert.deepEqual([asked, lane.numbers.next], [[], 8n]);
    await settle(103n, 1);
    assert.deepEqual([asked, lane.numbers.next], [[1], 831n]);
  });

  for (const [nonce, heads, ms] of [
    [70n, 8, 60_000],
    [831n, 20, 600_000],
  ] as const)
    it(`a nonce above what was signed, ${nonce}, is believed after ${heads} heads and ${ms / 1_000} s if no other endpoint has the state`, async () => {
      const seen = sent(7n);
      const { lane, pass } = laneOn(seen, seen);
      const sequence = {
        nextAt: async (_: string, __: bigint, otherThan?: NonceAnswer) =>
          otherThan === undefined ? { next: nonce, endpoint: 0 } : { next: 'pruned' },
        receipts: async () => ({ found: new Map(), unanswered: new Set() }),
        finalBlock: async () => null,
        losesBlocks: true,
      } as unknown as Sequence;
      const nextNonceAt = async (number: number) => {
        const seenHead = { ...head, number: BigInt(number), hash: `0x${number}` };
        lane.heads.see(seenHead);
        await settleSlots(lane, sequence, seenHead);
        return lane.numbers.next;
      };
      for (let number = 101; number <= 101 + heads; number += 1) assert.equal(await nextNonceAt(number), 8n, 'too little time has passed');
      pass(ms);
      assert.equal(await nextNonceAt(102 + heads), nonce);
    });

  it('a nonce far above what was signed is not confirmed by the only endpoint that shows it', async () => {
    const seen = sent(7n);
    const { lane, pass } = laneOn(seen, seen);
    const sequence = {
      losesBlocks: true,
      nextAt: async () => ({ next: 1_008n, endpoint: 0 }),
      receipts: async () => ({ found: new Map(), unanswered: new Set() }),
      finalBlock: async () => null,
    } as unknown as Sequence;
    for (let number = 101n; number < 116n; number += 1n) {
      const seenHead = { ...head, number, hash: `0x${number}` };
      lane.heads.see(seenHead);
      await settleSlots(lane, sequence, seenHead);
      pass(12_000);
      assert.equal(lane.numbers.next, 8n);
    }
  });

  it('the first nonce of an account is doubted if only the endpoint that shows it has the state', async () => {
    const seen = sent(7n);
    const { lane } = laneOn(seen, seen);
    Object.assign(lane, { heads: newHeads(), numbers: numbersOf(0n) });
    const sequence = {
      nextAt: async (_: string, __: bigint, otherThan?: NonceAnswer) =>
        otherThan === undefined ? { next: 831n, endpoint: 1 } : { next: 'pruned' },
      // The endpoint that showed the nonce answers again in place of that of the head.
      nextOf: async () => 831n,
      receipts: async () => ({ found: new Map(), unanswered: new Set() }),
      finalBlock: async () => null,
    } as unknown as Sequence;
    await settleSlots(lane, sequence, head);
    assert.deepEqual([lane.numbers.next, lane.numbers.doubted?.nonce], [0n, 831n]);
  });

  for (const [isAlone, next, nonce] of [
    [true, 65n, null],
    [true, 64n, 64n],
    [false, 831n, 831n],
  ] as const)
    it(`a first nonce of ${next} without state by number is ${nonce === null ? 'doubted for ten minutes' : 'believed'} if ${isAlone ? 'one endpoint' : 'several endpoints'} can have shown it`, async () => {
      const seen = sent(7n);
      const { lane, pass } = laneOn(seen, seen);
      Object.assign(lane, { heads: newHeads(), numbers: numbersOf(0n) });
      const sequence = {
        losesBlocks: true,
        nextAt: async () => ({ next: 'pruned' }),
        nextOf: async () => next,
        isAlone: () => isAlone,
        receipts: async () => ({ found: new Map(), unanswered: new Set() }),
        finalBlock: async () => null,
        findSender: async () => 'not_found',
      } as unknown as Sequence;
      const nextNonceAt = async (number: number): Promise<bigint> => {
        const seenHead = { ...head, number: BigInt(number), hash: `0x${number}` };
        lane.heads.see(seenHead);
        await settleSlots(lane, sequence, seenHead);
        pass(30_000);
        return lane.numbers.next;
      };
      if (nonce !== null) {
        assert.equal(await nextNonceAt(101), nonce);
        return;
      }
      for (let number = 101; number <= 120; number += 1) assert.equal(await nextNonceAt(number), 0n);
      assert.equal(await nextNonceAt(121), next);
    });

  it('a nonce far below what was signed must be confirmed by another endpoint than the one that showed it', async () => {
    const seen = sent(7n);
    const { lane } = laneOn(seen, seen);
    const asked: (NonceAnswer | undefined)[] = [];
    Object.assign(lane, { heads: newHeads(), numbers: numbersOf(200n, 8n) });
    Object.assign(lane.deps, { log: silentLog, store: { read: { slot: async () => ({ mined: null, versions: [] }) } } });
    const sequence = {
      async nextAt(_: string, __: bigint, otherThan?: NonceAnswer) {
        asked.push(otherThan);
        return { next: 8n, endpoint: 1 };
      },
      receipts: async () => ({ found: new Map(), unanswered: new Set() }),
      finalBlock: async () => null,
      fillerOf: () => evmContent(),
    } as unknown as Sequence;
    const fillGaps = createGapFiller(lane, sequence);
    for (const number of [101n, 102n]) {
      const at = { ...head, number, hash: `0x${number}`, endpoint: 0 };
      await settleSlots(lane, sequence, at);
      await fillGaps(at);
    }
    assert.deepEqual([asked.at(-1), lane.doubts.has('reset')], [{ next: 8n, endpoint: 1 }, true]);
  });
});
