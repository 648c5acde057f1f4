import type { Chain } from '../core/ports/chain.js';
import type { Clock } from '../core/ports/clock.js';
import type { Directory } from '../core/ports/directory.js';
import type { Ids } from '../core/ports/ids.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Log } from '../core/ports/log.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
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
  readonly recordRelayerState: RecordRelayerState;
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
  /**
   * Opens the lane of a relayer that came into the directory, or takes it over to the chain that the directory has for it now. Resolves
   * when the lane is loaded; what is accepted meanwhile is not lost. For one relayer at a time.
   */
  open(relayer: Relayer): Promise<void>;
  /** Closes a relayer's lane, which should have nothing open. */
  close(relayer: Relayer): Promise<void>;
  /** Signs nothing new and resolves when what runs has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
  /** How the lanes stand; costs a walk over all that is open. */
  lanes(): readonly LaneFigures[];
}

/** A lane with the watcher that it is told of heads by. */
interface OpenLane {
  readonly lane: Lane;
  readonly relayerId: string;
  readonly chain: Chain;
}

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const { directory, log } = deps;
  const lanes = new Map<string, OpenLane>();
  const watchers = new Map<Chain, Watcher>();

  const engine: Engine = {
    accept: (transaction) => openedLane(transaction).accept(transaction),
    move: (id, transactionId, decide) => openedLane(id).move(transactionId, decide),
    async start() {
      const opened = directory.relayers().map(addLane);
      await Promise.all(opened.map(({ lane }) => lane.load()));
      for (const id of await deps.store.read.openLanes()) {
        if (!lanes.has(laneKey(id)))
          log.warn({ chain: id.chain, account: id.account }, 'open transactions of an account that no relayer has');
      }
      for (const one of opened) watch(one);
    },
    async open(relayer) {
      const before = lanes.get(laneKey(laneOf(relayer)));
      if (before !== undefined) await leave(before);
      // From here on what is accepted comes to this one; whatever the other was given before is stored, and is loaded.
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
    async stop() {
      await Promise.all([...watchers.values()].map((watcher) => watcher.stop()));
      await Promise.all([...lanes.values()].map(({ lane }) => lane.stop()));
    },
    networks: () => [...watchers.values()].map((watcher) => watcher.health()),
    lanes: () => [...lanes.values()].map(({ lane }) => lane.figures()),
  };

  function addLane(relayer: Relayer): OpenLane {
    const id = laneOf(relayer);
    const chain = directory.chainOf(relayer);
    const lane = createLane({ id, deps: { ...deps, lanes: engine }, chain, log, relayer: () => directory.relayer(relayer.id) ?? relayer });
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

  /** The lane does no more work; its chain is watched no more where no other lane is on it. */
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
