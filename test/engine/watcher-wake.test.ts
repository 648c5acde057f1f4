import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { it, type TestContext } from 'node:test';
import type { Head } from '../../src/core/ports/chain/head.js';
import type { Transaction } from '../../src/core/records/transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import type { HeadListener } from '../../src/engine/watcher.js';
import { attemptsOf } from '../support/attempts-of.js';
import { wanted } from '../support/evm.js';
import { createModelChain } from '../support/model-chain.js';
import { modelRelayer, startModelLane } from '../support/model-lane.js';
import { blockNumbered, createModelWatcher } from '../support/model-watcher.js';
import { createRandom } from '../support/seeded-random.js';

/** Like the tracer, which puts the request's `traceparent` into the headers of the calls to nodes. */
const request = new AsyncLocalStorage<string>();

const restingLane = (): HeadListener => ({ tick: () => undefined, unreachable: () => undefined, isResting: () => true });

/** `within`: the request that each poll belongs to. */
async function startTraced(test: TestContext) {
  const within: (string | undefined)[] = [];
  const { watcher, time, start, end } = await createModelWatcher({
    // Timers of the runtime run in the context in which they were made.
    timersOf: ({ timers }) => ({ after: (ms, task) => timers.after(ms, AsyncLocalStorage.bind(task)) }),
    async head(polls) {
      within.push(request.getStore());
      return blockNumbered(polls);
    },
  });
  test.after(end);
  await start();
  return { watcher, time, within };
}

it('polls are not part of the request that woke a lane', async (test) => {
  const { watcher, time, within } = await startTraced(test);
  watcher.listen(restingLane());
  await time.pass(6_500);
  const before = within.length;
  request.run('a request', () => watcher.wake());
  await time.pass(120_000);
  assert.deepEqual(new Set(within.slice(before)), new Set([undefined]), `${within.length - before} polls: ${within.slice(before).join()}`);
});

it('polls are not part of the request that opened a lane', async (test) => {
  const { watcher, time, within } = await startTraced(test);
  await time.pass(6_500);
  const before = within.length;
  request.run('a request', () => watcher.listen(restingLane()));
  await time.pass(120_000);
  assert.deepEqual(new Set(within.slice(before)), new Set([undefined]), `${within.length - before} polls: ${within.slice(before).join()}`);
});

/** More lanes than get the head in one turn: the last one gets it in the turn after. */
it('a lane that wakes while the others get the head learns that its own head is old', async (test) => {
  const { watcher, time, start, end } = await createModelWatcher();
  test.after(end);
  await start();
  let last: { head: Head; atMs: number } | null = null;
  const seen: { age: number; comesHead: boolean }[] = [];
  let ticked = 0;
  for (let count = 0; count < 50; count += 1)
    watcher.listen({
      ...restingLane(),
      tick: () => {
        ticked += 1;
        // The 50 have the new head, and the next turn of the event loop accepts a transaction of the lane that comes after them.
        if (ticked % 50 === 0 && last !== null)
          setImmediate(() => seen.push({ age: time.clock.elapsedMs() - (last?.atMs ?? 0), comesHead: watcher.wake() }));
      },
    });
  watcher.listen({ ...restingLane(), tick: (head) => (last = { head, atMs: time.clock.elapsedMs() }) });
  await time.pass(60_000);
  assert.ok(seen.length > 2);
  for (const one of seen.slice(1))
    assert.ok(
      one.comesHead || one.age <= 3_000,
      `its newest head is ${one.age} ms old, and no newer one is said to come: ${JSON.stringify(seen)}`,
    );
});

it('the first nonce after a rest is not taken from an account that was read a block before', async (test) => {
  let newest = (): Head => blockNumbered(0);
  const { watcher, store, time, start, end } = await createModelWatcher({ head: async () => newest() });
  const base = modelRelayer('r1', {});
  const relayer = { ...base, network: { ...base.network, averageBlockTimeMs: 12_000, requiredConfirmations: 1 } };
  const model = createModelChain(relayer.network, relayer.address, { ...createRandom(1), chance: () => true });
  const lane = await startModelLane(relayer, model, store, { nowMs: () => 1_800_000_000_000 + time.clock.nowMs() });
  newest = () => {
    const block = model.blocks.at(-1);
    assert.ok(block !== undefined);
    return { number: block.number, hash: block.hash, timestampMs: 0 };
  };
  test.after(async () => {
    lane.kill();
    await end();
  });
  await start();
  let stored: Transaction | null = null;
  let isAccepted = false;
  let isArmed = false;
  for (let count = 0; count < 50; count += 1)
    watcher.listen({
      ...restingLane(),
      tick: () => {
        if (count !== 49 || !isArmed) return;
        isArmed = false;
        // A caller's transaction, in the turn between this lane's tick and that of the next one.
        setImmediate(() => {
          assert.ok(stored !== null);
          lane.setComesHead(watcher.wake());
          lane.deps.lanes.accept(stored);
          isAccepted = true;
        });
      },
    });
  // The lane settles at the first block, and rests after a minute.
  watcher.listen({
    ...restingLane(),
    tick() {
      lane.look();
      // The model's lane asks for the head by itself: it gets it in this turn, as question and answer.
      for (const _ of ['question', 'answer']) model.travelling.find(({ name }) => name === 'head')?.letGo('answered');
    },
  });
  for (let step = 0; step < 8; step += 1) {
    await time.pass(12_000);
    await lane.flow();
  }
  assert.equal(model.travelling.length, 0);
  // Another process uses the key in the next block, eleven seconds before the next poll.
  await time.pass(1_000);
  model.useKey('block');
  assert.equal(model.accountNonce(), 1n);
  // Its commit gets its answer in that turn.
  const accept = (one: Transaction): void => {
    stored = one;
  };
  const lanes = { ...lane.deps.lanes, accept };
  const { id } = (await sendTransaction({ ...lane.deps, lanes }, relayer, wanted())).transaction;
  isArmed = true;
  await time.pass(12_000);
  assert.ok(isAccepted);
  // The node answers what the draft needs before it shows the account at the new head: the lane asks both at the same time.
  for (let turn = 0; turn < 20; turn += 1) {
    await lane.rest();
    model.travelling.find(({ name }) => name !== 'nextAt')?.letGo('answered');
  }
  await lane.flow();
  const attempts = await attemptsOf(store.read, id);
  assert.ok(!attempts.some(({ nonce }) => nonce === 0n), 'nonce 0, which a block used 11 seconds ago, was signed');
});
