import type { Ids } from '../core/ids.js';
import { limitParallel } from '../core/limit-parallel.js';
import type { Chain } from '../core/ports/chain.js';
import type { DurationClock } from '../core/ports/clock.js';
import type { Directory } from '../core/ports/directory.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Log } from '../core/ports/log.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Store } from '../core/ports/store.js';
import type { Timers } from '../core/ports/timers.js';
import { laneOf, type Relayer } from '../core/relayer/relayer.js';
import type { Feed } from '../core/transaction/feed.js';
import type { Journal } from '../core/transaction/journal.js';
import type { LaneId } from '../core/transaction/transaction.js';
import { createLane, type Lane } from './lane/lane.js';
import type { LaneFigures } from './lane/open-transactions.js';
import { createWatcher, type NetworkHealth, type Watcher } from './watcher.js';

/** The parts that make the engine. */
export interface EngineDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly recordEvent: RecordEvent;
  readonly recordRelayerState: RecordRelayerState;
  readonly feed: Feed;
  readonly journal: Journal;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Log;
}

/** Everything that runs without a request: one lane per account, one watcher per chain. */
export interface Engine extends Lanes {
  /** Loads every open transaction from the store. Resolves when the lanes are loaded, which needs no node. */
  start(): Promise<void>;
  /**
   * Opens the lane of a relayer that was added to the directory, or moves its lane to the chain that the directory now has for it. Resolves when the
   * lane is loaded; transactions accepted meanwhile are not lost. Call it for one relayer at a time.
   */
  open(relayer: Relayer): Promise<void>;
  /** Closes the lane of a relayer without open transactions. */
  close(relayer: Relayer): Promise<void>;
  /** The database is back after it was lost, and may be another server: the lanes compare their state with it. Returns at once. */
  storeReturned(): void;
  /** Signs nothing new, and resolves when all running work has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
  /** The state of each lane at the moment at which the walk comes to it. Walks over everything that is open. */
  lanes(): Iterable<LaneFigures>;
}

/** An open lane and the chain that it works on. */
interface OpenLane {
  readonly lane: Lane;
  readonly relayerId: string;
  readonly chain: Chain;
}

/** The number of lanes that read the store at once at the start: there may be thousands. */
const loadedAtOnce = 16;

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const { directory, log } = deps;
  const lanes = new Map<string, OpenLane>();
  const watchers = new Map<Chain, Watcher>();

  const engine: Engine = {
    requireRoom: (id) => openedLane(id).requireRoom(),
    accept: (transaction) => openedLane(transaction).accept(transaction),
    noteUnanswered: (id) => openedLane(id).noteUnanswered(),
    whyUnsigned: (id, content) => openedLane(id).whyUnsigned(content),
    maxInFlight: (id) => openedLane(id).maxInFlight(),
    move: (seen, decide) => openedLane(seen).move(seen.id, decide, seen.revision),
    async start() {
      const opened = directory.relayers().map(addLane);
      const inTurn = limitParallel(loadedAtOnce);
      await Promise.all(opened.map(({ lane }) => inTurn(() => lane.load())));
      for (const id of await deps.store.read.openLanes()) {
        if (!lanes.has(laneKey(id)))
          log.warn(
            { chain: id.chain, account: id.account },
            'an account without a relayer has open transactions; they wait until a relayer uses the account again',
          );
      }
      for (const one of opened) watch(one);
    },
    async open(relayer) {
      const before = lanes.get(laneKey(laneOf(relayer)));
      if (before !== undefined) await leave(before);
      // Transactions accepted from here on reach the new lane. Those that the old lane got are stored, and the new lane loads them.
      const opened = addLane(relayer);
      await opened.lane.load();
      watch(opened);
    },
    async close(relayer) {
      const key = laneKey(laneOf(relayer));
      const opened = lanes.get(key);
      if (opened === undefined) return;
      await leave(opened);
      lanes.delete(key);
    },
    storeReturned() {
      for (const { lane } of lanes.values()) lane.storeReturned();
    },
    async stop() {
      const running = [...watchers.values(), ...[...lanes.values()].map(({ lane }) => lane)];
      await Promise.all(running.map((one) => one.stop()));
    },
    networks: () => [...watchers.values()].map((watcher) => watcher.health()),
    *lanes() {
      for (const { lane } of lanes.values()) yield lane.figures();
    },
  };

  const laneWork = { ...deps, lanes: engine };

  function addLane(relayer: Relayer): OpenLane {
    const id = laneOf(relayer);
    const chain = directory.chainOf(relayer);
    const lane = createLane({ id, deps: laneWork, chain, log, relayer: () => directory.relayer(relayer.id) ?? relayer });
    const opened = { lane, relayerId: relayer.id, chain };
    lanes.set(laneKey(id), opened);
    return opened;
  }

  function watch({ lane, relayerId, chain }: OpenLane): void {
    const known = watchers.get(chain);
    const watcher = known ?? createWatcher({ ...deps, chain });
    watcher.add({ lane, relayerId });
    if (known !== undefined) return;
    watchers.set(chain, watcher);
    watcher.start();
  }

  /** Stops the lane, and the watcher of its chain if no other lane is on it. */
  async function leave({ lane, chain }: OpenLane): Promise<void> {
    const watcher = watchers.get(chain);
    if (watcher?.remove(lane) === 0) {
      watchers.delete(chain);
      await watcher.stop();
    }
    await lane.stop();
  }

  function openedLane(id: LaneId): Lane {
    const opened = lanes.get(laneKey(id));
    if (opened === undefined) throw new Error(`no lane for ${laneKey(id)}`);
    return opened.lane;
  }

  return engine;
}

function laneKey({ chain, account }: LaneId): string {
  return `${chain}/${account}`;
}
