import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import type { LaneTransaction, OpenOfRelayer } from '../../../src/core/ports/store/lane-views.js';
import type { TransactionStatus } from '../../../src/core/records/transaction.js';
import { type AccountAtNodes, createReadAccountAtNodes, type LanePart, viewLane } from '../../../src/core/relayer/view-lane.js';
import { deferred } from '../../support/deferred.js';
import { modelRelayer } from '../../support/model-lane.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const relayer = modelRelayer('r1', {});
const whole: LanePart = { from: null, limit: 50 };

function laneTransaction(nonce: bigint, status: TransactionStatus): LaneTransaction {
  return { id: `t${nonce}`, status, statusReason: null, createdAtMs: 1, nonce, minedVersion: null, delays: null, attempts: [] };
}

/** What the store and the nodes know. */
interface Known {
  readonly next?: bigint;
  readonly chain: bigint | null;
  readonly transactions: readonly LaneTransaction[];
  readonly lowestOpen?: bigint;
}

async function slotsOf({ next, chain, transactions, lowestOpen }: Known, part: LanePart = whole): Promise<string> {
  const atNodes: AccountAtNodes = { chainNumber: chain, market: null, problem: chain === null ? 'no node' : null };
  const view = await viewLane(
    {
      store: {
        read: {
          nextNonce: async () => next,
          openOf: async () => new Map<string, OpenOfRelayer>(),
          laneTransactionsAt: async (_lane, nonces) => transactions.filter(({ nonce }) => nonce !== null && nonces.includes(nonce)),
          laneTransactionsWithoutNonce: async () => [],
          lowestOpenNonce: async () => lowestOpen,
        },
      },
      lanes: { maxInFlight: () => 16 },
      readAccountAtNodes: async () => atNodes,
    },
    relayer,
    part,
  );
  return view.slots.map(({ number, use, transaction }) => `${number} ${use}${transaction === null ? '' : ` ${transaction.id}`}`).join(', ');
}

describe('the slots of a lane', () => {
  const transactions = [laneTransaction(7n, 'confirmed'), laneTransaction(9n, 'mined'), laneTransaction(11n, 'submitted')];

  it('lane: a number that nothing uses is a gap above the chain’s, and used by others below it', async () => {
    assert.equal(
      await slotsOf({ next: 13n, chain: 10n, transactions }),
      '5 other, 6 other, 7 final t7, 8 other, 9 open t9, 10 gap, 11 open t11, 12 gap',
    );
  });

  it('lane: without an answer of the chain, begins before the lowest open number, below which numbers count as used', async () => {
    assert.equal(
      await slotsOf({ next: 12n, chain: null, transactions, lowestOpen: 9n }),
      '4 other, 5 other, 6 other, 7 final t7, 8 other, 9 open t9, 10 gap, 11 open t11',
    );
    assert.equal(await slotsOf({ next: 3n, chain: null, transactions: [] }), '0 other, 1 other, 2 other');
    assert.equal(await slotsOf({ chain: null, transactions: [] }), '');
  });

  it('lane: ends with the highest number that is known, or at the limit', async () => {
    assert.equal(await slotsOf({ next: 8n, chain: 10n, transactions }, { from: 6n, limit: 50 }), '6 other, 7 final t7, 8 other, 9 open t9');
    assert.equal(await slotsOf({ next: 12n, chain: 10n, transactions }, { from: 7n, limit: 2 }), '7 final t7, 8 other');
    assert.equal(await slotsOf({ next: 12n, chain: 10n, transactions }, { from: 12n, limit: 2 }), '');
    assert.equal(await slotsOf({ next: 12n, chain: 10n, transactions }, { from: 2n ** 127n, limit: 200 }), '');
  });
});

it('lane: of many slots, each has fewer attempts, so that an answer stays small', async () => {
  const asked: number[] = [];
  const read = {
    nextNonce: async () => 1_000n,
    openOf: async () => new Map<string, OpenOfRelayer>(),
    laneTransactionsAt: async (_lane: unknown, _nonces: unknown, newestAttempts: number) => {
      asked.push(newestAttempts);
      return [];
    },
    laneTransactionsWithoutNonce: async () => [],
    lowestOpenNonce: async () => undefined,
  };
  const readAccountAtNodes = async (): Promise<AccountAtNodes> => ({ chainNumber: 0n, market: null, problem: null });
  for (const limit of [1, 50, 200])
    await viewLane({ store: { read }, lanes: { maxInFlight: () => 16 }, readAccountAtNodes }, relayer, { from: 0n, limit });
  assert.deepEqual(asked, [20, 20, 5]);
});

/** A chain whose reads a test answers. */
function startReader(problem: string | null = null, failure: Error | null = null) {
  const time = createVirtualTime();
  const answers: ReturnType<typeof deferred>[] = [];
  const chain = {
    sequence: {
      async nextOf() {
        const answer = deferred();
        answers.push(answer);
        await answer.promise;
        if (failure !== null) throw failure;
        return 7n;
      },
    },
    market: async () => null,
  } as unknown as Chain;
  const read = createReadAccountAtNodes({ directory: { chainOf: () => chain }, problemOf: () => problem, ...time });
  return { time, answers, read };
}

describe('what nodes say about an account', () => {
  it('nodes: many viewers share one read, and its answer for a second', async () => {
    const { time, answers, read } = startReader();
    const viewers = Array.from({ length: 20 }, () => read(relayer));
    await time.pass(500);
    assert.equal(answers.length, 1);
    answers[0]?.resolve();
    for (const { chainNumber } of await Promise.all(viewers)) assert.equal(chainNumber, 7n);
    await time.pass(900);
    assert.equal((await read(relayer)).chainNumber, 7n);
    assert.equal(answers.length, 1);
    await time.pass(200);
    const later = read(relayer);
    await time.pass(0);
    assert.equal(answers.length, 2);
    answers[1]?.resolve();
    await later;
  });

  it('nodes: without an answer for two seconds, a viewer waits no longer, and no further call is made meanwhile', async () => {
    const { time, answers, read } = startReader();
    const first = read(relayer);
    await time.pass(2_000);
    assert.deepEqual(await first, { chainNumber: null, market: null, problem: 'no RPC node has answered within 2 seconds' });
    const second = read(relayer);
    await time.pass(1_000);
    assert.equal(answers.length, 1);
    answers[0]?.resolve();
    assert.equal((await second).chainNumber, 7n);
  });

  it('nodes: a node that fails gives the problem, without the words of an error that is not for callers', async () => {
    const sentence = 'no RPC node is reachable';
    for (const [error, problem] of [
      [new DomainError('unavailable', 'NODE_UNAVAILABLE', sentence), sentence],
      [new Error('GET https://node.example/secret'), 'no RPC node has answered within 2 seconds'],
    ] as const) {
      const { time, answers, read } = startReader(null, error);
      const viewer = read(relayer);
      await time.pass(0);
      answers[0]?.resolve();
      assert.deepEqual(await viewer, { chainNumber: null, market: null, problem });
    }
  });

  it('nodes: that are known to be unreachable are not called', async () => {
    const { answers, read } = startReader('no RPC node is reachable');
    assert.deepEqual(await read(relayer), { chainNumber: null, market: null, problem: 'no RPC node is reachable' });
    assert.equal(answers.length, 0);
  });
});
