import { join } from 'node:path';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Head } from '../../src/core/ports/chain/head.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import type { Timers } from '../../src/core/work/timers.js';
import { createWatcher, type Watcher } from '../../src/engine/watcher.js';
import { openStore } from '../../src/storage/open-store.js';
import { createModelChain } from './model-chain.js';
import { modelRelayer } from './model-lane.js';
import { createRandom } from './seeded-random.js';
import { silentLog } from './stored-samples.js';
import { temporaryFolder } from './temporary-folder.js';
import { createVirtualTime, type VirtualTime } from './virtual-time.js';
import { waitFor } from './wait-for.js';

/** A watcher that has not started, on time that only a test moves. */
export interface ModelWatcher {
  readonly watcher: Watcher;
  readonly store: Store;
  readonly time: VirtualTime;
  /** The number of polls so far. */
  polls(): number;
  /** Starts it; resolves with the first head. */
  start(): Promise<Head>;
  end(): Promise<void>;
}

/** How its chain behaves. */
export interface ModelWatcherOptions {
  /** Default: 12,000. */
  readonly blockMs?: number;
  readonly networkType?: 'evm' | 'solana';
  /** Changes the timers of the virtual time. */
  readonly timersOf?: (time: VirtualTime) => Timers;
  /** Answers a poll. Default: each finds a new block. */
  readonly head?: (polls: number, time: VirtualTime) => Promise<Head>;
  /** Default: nodes show one. */
  readonly genesisHash?: Chain['genesisHash'];
}

/** Returns the block with this number. */
export function blockNumbered(number: number): Head {
  return { number: BigInt(number), hash: `0x${number}`, timestampMs: 0 };
}

/** Makes a watcher of a chain whose heads the test chooses. */
export async function createModelWatcher({
  blockMs = 12_000,
  networkType = 'evm',
  timersOf = ({ timers }) => timers,
  head = async (polls) => blockNumbered(polls),
  genesisHash = async () => '0xours',
}: ModelWatcherOptions = {}): Promise<ModelWatcher> {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const { network: ofRelayer, address } = modelRelayer('r1', {});
  const network = { ...ofRelayer, type: networkType, averageBlockTimeMs: blockMs } as typeof ofRelayer;
  const time = createVirtualTime();
  let polls = 0;
  const chain: Chain = {
    ...createModelChain(network, address, createRandom(1)).connect().chain,
    network,
    genesisHash,
    expectGenesis: () => undefined,
    foreignGenesis: () => null,
    head() {
      polls += 1;
      return head(polls, time);
    },
  };
  const directory = createDirectory([]);
  const watcher = createWatcher({
    chain,
    store,
    directory,
    recordRelayerState: () => [],
    timers: timersOf(time),
    clock: time.clock,
    log: silentLog,
  });
  return {
    watcher,
    store,
    time,
    polls: () => polls,
    start() {
      watcher.start();
      return waitFor('the first head', () => watcher.health().head ?? undefined);
    },
    async end() {
      await watcher.stop();
      await store.close();
    },
  };
}
