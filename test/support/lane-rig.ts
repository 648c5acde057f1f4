import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Change, StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { EvmRequest } from '../../src/core/records/evm.js';
import type { EvmNetwork } from '../../src/core/records/network.js';
import type { EvmPolicies } from '../../src/core/records/relayer.js';
import type { Attempt, Transaction } from '../../src/core/records/transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { openStore } from '../../src/storage/open-store.js';
import { attemptsOf } from './attempts-of.js';
import { wanted } from './evm.js';
import { createModelChain, type ModelChain } from './model-chain.js';
import { type ModelLane, modelRelayer, startModelLane } from './model-lane.js';
import { createRandom } from './seeded-random.js';
import { silentLog } from './stored-samples.js';
import { temporaryFolder } from './temporary-folder.js';

/** The node accepts everything. */
const answersAll = { ...createRandom(1), chance: () => true };

/** What differs from test to test. */
export interface LaneRigOptions {
  readonly network?: Partial<EvmNetwork>;
  readonly policies?: Partial<EvmPolicies>;
  /** True: this commit is done, but its answer is lost, which the lane logs as an error. */
  readonly losesAnswer?: () => boolean;
  /** Errors that the lane may log. */
  readonly mayLog?: RegExp;
  /** True: the database refuses these changes. */
  readonly refuses?: (changes: readonly Change[]) => boolean;
}

/** One lane on a model chain, with a clock that only the test moves. */
export interface LaneRig {
  readonly chain: ModelChain;
  readonly store: Store;
  lane(): ModelLane;
  /** Accepts a transaction and lets the lane work until it is idle. */
  send(changes?: Partial<EvmRequest>): Promise<string>;
  /** Moves the clock, lets the lane see the head, and answers all its calls. */
  see(ms?: number): Promise<void>;
  /** Mines a block with at most this many transactions before each read. */
  pass(blocks: number, mostPerBlock?: number, ms?: number): Promise<void>;
  /** Kills the process and starts another on the same store. */
  restart(): Promise<void>;
  /** The number of calls of this name to the node so far. */
  asked(name: string): number;
  /** Sets the machine's clock back. */
  setBack(ms: number): void;
  transaction(id: string): Promise<Transaction>;
  attempts(id: string): Promise<readonly Attempt[]>;
}

/** Starts it; it stops with the test. */
export async function startLaneRig(
  test: TestContext,
  { network = {}, policies = {}, losesAnswer, mayLog, refuses }: LaneRigOptions = {},
): Promise<LaneRig> {
  let nowMs = 1_800_000_000_000;
  let elapsedMs = 0;
  /** Each call travels twice: there and back. */
  const counts = new Map<string, number>();
  const clock = { nowMs: () => nowMs, elapsedMs: () => elapsedMs };
  const relayer = modelRelayer('r1', { requiredConfirmations: 3, ...network }, policies);
  const chain = createModelChain(relayer.network, relayer.address, answersAll);
  const { store: opened } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const store: Store = {
    ...opened,
    async commit(changes) {
      if (refuses?.(changes) === true) throw new Error('the database refuses a value');
      await opened.commit(changes);
      if (losesAnswer?.() === true) throw new StoreAwayError('the answer to a commit was lost');
    },
  };
  let lane = await startModelLane(relayer, chain, store, clock);
  test.after(async () => {
    lane.kill();
    await store.close();
  });

  async function see(ms = 1_500): Promise<void> {
    nowMs += ms;
    elapsedMs += ms;
    lane.look();
    await lane.flow((name) => counts.set(name, (counts.get(name) ?? 0) + 0.5));
    const surprises = lane.surprises.filter((line) => mayLog?.test(line) !== true);
    if (losesAnswer === undefined) assert.deepEqual(surprises, []);
  }

  return {
    chain,
    store,
    lane: () => lane,
    see,
    async send(changes) {
      const { transaction } = await sendTransaction(lane.deps, relayer, wanted(changes));
      await see();
      return transaction.id;
    },
    async pass(blocks, mostPerBlock = 0, ms = 12_000) {
      for (let block = 0; block < blocks; block += 1) {
        chain.mine(mostPerBlock);
        await see(ms);
      }
    },
    async restart() {
      lane.kill();
      lane = await startModelLane(relayer, chain, store, clock);
      await see();
    },
    asked: (name) => counts.get(name) ?? 0,
    setBack(ms) {
      nowMs -= ms;
    },
    async transaction(id) {
      const view = await store.read.transaction(id);
      assert.ok(view !== undefined);
      return view.transaction;
    },
    attempts: (id) => attemptsOf(store.read, id),
  };
}
