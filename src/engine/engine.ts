import type { Chain, Head } from '../core/ports/chain.js';
import type { Clock } from '../core/ports/clock.js';
import type { Directory } from '../core/ports/directory.js';
import type { Ids } from '../core/ports/ids.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Log } from '../core/ports/log.js';
import type { RecordEvent } from '../core/ports/record-event.js';
import type { Store } from '../core/ports/store.js';
import { chainKeyOf } from '../core/relayer/network.js';
import type { Relayer } from '../core/relayer/relayer.js';
import type { LaneId } from '../core/transaction/transaction.js';
import { createLaneQueue, type LaneQueue } from './lane-queue.js';
import type { LaneState } from './lane-state.js';
import { workLane } from './lane-work.js';
import { createWatcher, type NetworkHealth, type Watcher } from './watcher.js';

/** What the engine works with. */
export interface EngineDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly recordEvent: RecordEvent;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Transactions of one account that may be signed and in no block. */
  readonly maxInFlight: number;
}

/** What runs without a request: one lane per account, one watcher per chain. */
export interface Engine extends Lanes {
  /** Takes up every open transaction of the store; resolves when the lanes are loaded, not when nodes have answered. */
  start(): Promise<void>;
  /** Signs nothing new and resolves when what runs has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
}

interface Lane {
  readonly id: LaneId;
  readonly state: LaneState;
  readonly queue: LaneQueue;
}

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const lanes = new Map<string, Lane>();
  const watchers: Watcher[] = [];
  const heads = new Map<Chain, Head>();

  const engine: Engine = {
    wake: (id) => laneOf(id).queue.wake(),
    run: (id, command) => laneOf(id).queue.run(command),
    async start() {
      for (const relayer of deps.directory.relayers()) openLane(relayer);
      for (const id of await deps.store.read.openLanes()) {
        if (!lanes.has(laneKey(id)))
          deps.log.warn({ chain: id.chain, account: id.account }, 'open transactions of an account that no relayer has');
      }
      for (const [chain, members] of lanesByChain()) {
        const watcher = createWatcher({
          ...deps,
          chain,
          relayers: members.map(({ state }) => state.relayer),
          onTick: (head) => tick(chain, members, head),
        });
        watchers.push(watcher);
        watcher.start();
      }
    },
    async stop() {
      await Promise.all(watchers.map((watcher) => watcher.stop()));
      await Promise.all([...lanes.values()].map(({ queue }) => queue.stop()));
    },
    networks: () => watchers.map((watcher) => watcher.health()),
  };

  function openLane(relayer: Relayer): void {
    const chain = deps.directory.chainOf(relayer);
    const id: LaneId = { chain: chainKeyOf(relayer.network), account: relayer.address };
    const state: LaneState = { relayer, settled: null, chainNonce: 0n, takenAtMs: new Map(), notBeforeMs: new Map() };
    const work = () => {
      const head = heads.get(chain) ?? null;
      const isNew = head !== null && head.hash !== state.settled?.hash;
      return workLane({ ...deps, lanes: engine }, chain, id, state, isNew ? head : null);
    };
    lanes.set(laneKey(id), { id, state, queue: createLaneQueue(work, deps.log) });
  }

  function lanesByChain(): Map<Chain, Lane[]> {
    const byChain = new Map<Chain, Lane[]>();
    for (const lane of lanes.values()) {
      const chain = deps.directory.chainOf(lane.state.relayer);
      byChain.set(chain, [...(byChain.get(chain) ?? []), lane]);
    }
    return byChain;
  }

  function tick(chain: Chain, members: readonly Lane[], head: Head): void {
    heads.set(chain, head);
    for (const { queue } of members) queue.wake();
  }

  function laneOf(id: LaneId): Lane {
    const lane = lanes.get(laneKey(id));
    if (lane === undefined) throw new Error(`no lane for ${laneKey(id)}`);
    return lane;
  }

  return engine;
}

function laneKey({ chain, account }: LaneId): string {
  return `${chain}/${account}`;
}
