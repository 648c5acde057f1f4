import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { Chain } from '../../src/core/ports/chain.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { createWatcher, type HeadListener } from '../../src/engine/watcher.js';
import { openStore } from '../../src/storage/open-store.js';
import { createModelChain } from '../support/model-chain.js';
import { modelRelayer } from '../support/model-lane.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { createVirtualTime } from '../support/virtual-time.js';
import { waitFor } from '../support/wait-for.js';

/** Like the tracer, which puts the request's `traceparent` into the headers of the calls to nodes. */
const request = new AsyncLocalStorage<string>();

async function start(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const relayer = { ...modelRelayer('r1', {}), network: { ...modelRelayer('r1', {}).network, averageBlockTimeMs: 12_000 } };
  const time = createVirtualTime();
  const within: (string | undefined)[] = [];
  let polls = 0;
  const chain: Chain = {
    ...createModelChain(relayer.network, relayer.address, createRandom(1)).connect().chain,
    genesisHash: async () => '0xours',
    expectGenesis: () => undefined,
    foreignGenesis: () => null,
    head: async () => {
      polls += 1;
      within.push(request.getStore());
      return { number: BigInt(polls), hash: `0x${polls}`, timestampMs: 0 };
    },
  };
  const timers = {
    // Timers of the runtime run in the context in which they were made.
    after: (ms: number, task: () => void) => time.timers.after(ms, AsyncLocalStorage.bind(task)),
  };
  const watcher = createWatcher({ chain, store, directory: createDirectory([]), recordRelayerState: () => [], timers, log: silentLog });
  test.after(async () => {
    await watcher.stop();
    await store.close();
  });
  watcher.start();
  await waitFor('the first head', () => watcher.health().head ?? undefined);
  return { watcher, time, within };
}

const resting: HeadListener = { tick: () => undefined, unreachable: () => undefined, isResting: () => true };

it('polls are not part of the request that woke a lane', async (test) => {
  const { watcher, time, within } = await start(test);
  watcher.listen(resting);
  await time.pass(6_500);
  const before = within.length;
  request.run('a request', () => watcher.wake());
  await time.pass(120_000);
  assert.deepEqual(new Set(within.slice(before)), new Set([undefined]), `${within.length - before} polls: ${within.slice(before).join()}`);
});

it('polls are not part of the request that opened a lane', async (test) => {
  const { watcher, time, within } = await start(test);
  await time.pass(6_500);
  const before = within.length;
  request.run('a request', () => watcher.listen(resting));
  await time.pass(120_000);
  assert.deepEqual(new Set(within.slice(before)), new Set([undefined]), `${within.length - before} polls: ${within.slice(before).join()}`);
});
