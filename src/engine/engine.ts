import type { Chain, Head } from '../core/ports/chain.js';
import type { Clock } from '../core/ports/clock.js';
import type { Directory } from '../core/ports/directory.js';
import type { Ids } from '../core/ports/ids.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Log } from '../core/ports/log.js';
import type { RecordEvent } from '../core/ports/record-event.js';
import type { Store } from '../core/ports/store.js';
import { laneOf, type Relayer } from '../core/relayer/relayer.js';
import type { Feed } from '../core/transaction/feed.js';
import type { Journal } from '../core/transaction/journal.js';
import type { LaneId } from '../core/transaction/transaction.js';
import { createLane, type Lane } from './lane/lane.js';
import type { LaneFigures } from './lane/lane-figures.js';
import { createWatcher, type NetworkHealth, type Watcher } from './watcher.js';

/** What the engine works with. */
export interface EngineDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly recordEvent: RecordEvent;
  readonly feed: Feed;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** What runs without a request: one lane per account, one watcher per chain. */
export interface Engine extends Lanes {
  /** Takes up every open transaction of the store; resolves when the lanes are loaded, not when nodes have answered. */
  start(): Promise<void>;
  /** Signs nothing new and resolves when what runs has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
  /** How the lanes stand; costs a walk over all that is open. */
  lanes(): readonly LaneFigures[];
}

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const { directory, log } = deps;
  const lanes = new Map<string, Lane>();
  const watchers: Watcher[] = [];

  const engine: Engine = {
    accept: (transaction) => openedLane(transaction).accept(transaction),
    move: (id, transactionId, decide) => openedLane(id).move(transactionId, decide),
    async start() {
      const lanesByChain = new Map<Chain, Lane[]>();
      for (const relayer of directory.relayers()) {
        const chain = directory.chainOf(relayer);
        lanesByChain.set(chain, [...(lanesByChain.get(chain) ?? []), openLane(relayer, chain)]);
      }
      await Promise.all([...lanes.values()].map((lane) => lane.load()));
      for (const id of await deps.store.read.openLanes()) {
        if (!lanes.has(laneKey(id)))
          log.warn({ chain: id.chain, account: id.account }, 'open transactions of an account that no relayer has');
      }
      for (const [chain, members] of lanesByChain) {
        const relayers = directory.relayers().filter((relayer) => directory.chainOf(relayer) === chain);
        const onTick = (head: Head) => {
          for (const lane of members) lane.tick(head);
        };
        const watcher = createWatcher({ ...deps, chain, relayers, onTick });
        watchers.push(watcher);
        watcher.start();
      }
    },
    async stop() {
      await Promise.all(watchers.map((watcher) => watcher.stop()));
      await Promise.all([...lanes.values()].map((lane) => lane.stop()));
    },
    networks: () => watchers.map((watcher) => watcher.health()),
    lanes: () => [...lanes.values()].map((lane) => lane.figures()),
  };

  function openLane(relayer: Relayer, chain: Chain): Lane {
    const id = laneOf(relayer);
    const lane = createLane({ id, deps: { ...deps, lanes: engine }, chain, log, relayer: () => directory.relayer(relayer.id) ?? relayer });
    lanes.set(laneKey(id), lane);
    return lane;
  }

  function openedLane(id: LaneId): Lane {
    const lane = lanes.get(laneKey(id));
    if (lane === undefined) throw new Error(`no lane for ${laneKey(id)}`);
    return lane;
  }

  return engine;
}

function laneKey({ chain, account }: LaneId): string {
  return `${chain}/${account}`;
}
