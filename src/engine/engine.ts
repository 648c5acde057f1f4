import type { Chain } from '../core/ports/chain/chain.js';
import type { DatabaseState } from '../core/ports/database-state.js';
import type { Directory } from '../core/ports/directory.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Leases } from '../core/ports/leases.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Ids } from '../core/records/ids.js';
import { laneOf, type Relayer } from '../core/records/relayer.js';
import type { LaneId } from '../core/records/transaction.js';
import type { DelayLimits } from '../core/transaction/delays.js';
import type { Feed } from '../core/transaction/feed.js';
import type { Journal } from '../core/transaction/journal.js';
import type { DurationClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { createParallelLimit } from '../core/work/parallel-limit.js';
import type { Timers } from '../core/work/timers.js';
import { type Account, createAccount, laneKey, type StoredLanes } from './account.js';
import type { LaneStore } from './lane/lane-inputs.js';
import type { LaneFigures } from './lane/open-transactions.js';
import { createWatcher, type NetworkHealth, type Watcher } from './watcher.js';

/** The parts that make the engine. */
export interface EngineDeps {
  readonly store: LaneStore;
  /** Which lanes this instance runs. */
  readonly leases: Leases;
  readonly directory: Directory;
  readonly database: DatabaseState;
  readonly recordEvent: RecordEvent;
  readonly recordRelayerState: RecordRelayerState;
  /** Absent: no delay is reported. */
  readonly delayLimitsMs?: DelayLimits | null;
  readonly feed: Feed;
  readonly journal: Journal;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Log;
}

/**
 * Everything that runs without a request: one watcher per chain, and the lanes whose leases this instance has. A lane with open
 * transactions in the store is opened when this instance gets its lease, another one when it gets its first transaction.
 */
export interface Engine extends Lanes {
  /**
   * Opens the lanes of the relayers in the directory that have none, and logs which accounts have open transactions and no relayer. Needs
   * no node.
   */
  start(): Promise<void>;
  /**
   * Opens the lanes of relayers that were added to the directory, before it returns, or moves their lanes to the chains that the directory
   * now has for them. Resolves as `Leases.add` does; transactions accepted meanwhile are not lost. If it fails, call it again for the same
   * relayers. Call it once at a time.
   */
  open(relayers: readonly Relayer[]): Promise<void>;
  /** Closes the lane of a relayer without open transactions. */
  close(relayer: Relayer): Promise<void>;
  /**
   * Other instances have changed transactions of these relayers; `all`: it is unknown of which, or whether. Call that again and again.
   * Returns at once.
   */
  changedElsewhere(relayers: ReadonlySet<string> | 'all'): void;
  /** The database is back after it was lost, and may be another server: the lanes compare their state with it. Returns at once. */
  storeReturned(): void;
  /** Writes into the records of all open transactions why nothing is signed. Call it when a hold has begun. */
  explainHold(): Promise<void>;
  /** Signs nothing new, and resolves when all running work has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
  /** The state of each lane that this instance runs, at the moment at which the walk comes to it. Walks over everything that is open. */
  lanes(): Iterable<LaneFigures>;
}

/** The number of lanes that read the store at once when they begin: there may be thousands. */
const loadedAtOnce = 16;

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const { directory, leases, log, store } = deps;
  const accounts = new Map<string, Account>();
  const watchers = new Map<Chain, Watcher>();

  const engine: Engine = {
    takeRoom: (id, wanted) => accountOf(id).forCallers().takeRoom(wanted),
    accept: (transaction) => accountOf(transaction).forCallers().accept(transaction),
    noteUnanswered: (id) => accountOf(id).forCallers().noteUnanswered(),
    whyUnsigned: (id, content) => accountOf(id).forCallers().whyUnsigned(content),
    maxInFlight: (id) => accountOf(id).maxInFlight(),
    move: (seen, decide) => accountOf(seen).forCallers().move(seen.id, decide, seen.revision),
    async start() {
      await engine.open(directory.relayers().filter((relayer) => !accounts.has(keyOf(relayer))));
      for (const id of (await readStoredLanes()).open) {
        if (!accounts.has(laneKey(id)))
          log.warn(
            { chain: id.chain, account: id.account },
            'an account without a relayer has open transactions; they wait until a relayer uses the account again',
          );
      }
    },
    async open(relayers) {
      if (relayers.length === 0) return;
      const works = new Map<string, Account['work']>();
      const add = (relayer: Relayer) => {
        const account = addAccount(relayer);
        watcherOf(account.chain).start();
        works.set(keyOf(relayer), account.work);
      };
      const moved = relayers.filter((relayer) => accounts.has(keyOf(relayer)));
      for (const relayer of relayers) if (!accounts.has(keyOf(relayer))) add(relayer);
      for (const relayer of moved) {
        const before = accounts.get(keyOf(relayer));
        if (before !== undefined) await leave(before);
        // Transactions accepted from here on reach the new lane. Transactions that the old lane got are stored, and the new lane loads
        // them.
        add(relayer);
      }
      await leases.add('lane', works);
    },
    async close(relayer) {
      const key = keyOf(relayer);
      const account = accounts.get(key);
      if (account === undefined) return;
      await leases.remove('lane', key);
      await leave(account);
      accounts.delete(key);
    },
    changedElsewhere(relayers) {
      if (relayers === 'all') void lookAtAll();
      else for (const account of accounts.values()) if (relayers.has(account.relayerId)) account.changedElsewhere();
    },
    storeReturned() {
      for (const account of accounts.values()) account.storeReturned();
      // An owner that this instance followed may have stored transactions last, also for lanes that are not open here.
      void lookAtAll();
    },
    async explainHold() {
      for (const account of accounts.values()) account.keepAccepted();
      for (const id of (await readStoredLanes()).open) await accounts.get(laneKey(id))?.explainHold();
    },
    async stop() {
      await Promise.all([
        ...[...watchers.values()].map((watcher) => watcher.stop()),
        ...[...accounts.values()].map((account) => account.end()),
      ]);
    },
    networks: () => [...watchers.values()].map((watcher) => watcher.health()),
    *lanes() {
      for (const account of accounts.values()) {
        const figures = account.figures();
        if (figures !== null) yield figures;
      }
    },
  };

  const accountDeps = { ...deps, lanes: engine, readStoredLanes, inTurn: createParallelLimit(loadedAtOnce).run };

  /**
   * Wakes the lanes whose transactions have changed since they looked last: most have not. If the database does not answer, the next look
   * does.
   */
  async function lookAtAll(): Promise<void> {
    const positions = await store.read.lastPositions().catch(() => null);
    if (positions === null) return;
    for (const account of accounts.values()) account.changedElsewhere(positions.get(account.relayerId) ?? 0);
  }

  /** A look at the store that begins in this turn, which all lanes that begin in it share. */
  let lookThatBegins: Promise<StoredLanes> | null = null;

  function readStoredLanes(): Promise<StoredLanes> {
    lookThatBegins ??= Promise.resolve().then(async () => {
      lookThatBegins = null;
      const positions = await store.read.lastPositions();
      const open = await store.read.openLanes();
      return { positions, open, openKeys: new Set(open.map(laneKey)) };
    });
    return lookThatBegins;
  }

  function addAccount(relayer: Relayer): Account {
    const watcher = watcherOf(directory.chainOf(relayer));
    const account = createAccount(relayer, watcher, accountDeps);
    accounts.set(keyOf(relayer), account);
    watcher.add({ relayerId: relayer.id, isReported: account.isHere });
    return account;
  }

  function watcherOf(chain: Chain): Watcher {
    const known = watchers.get(chain);
    if (known !== undefined) return known;
    const watcher = createWatcher({ ...deps, chain });
    watchers.set(chain, watcher);
    return watcher;
  }

  /** Ends the lane, and the watcher of its chain if no other relayer is on it. */
  async function leave({ chain, relayerId, end }: Account): Promise<void> {
    const watcher = watcherOf(chain);
    if (watcher.remove(relayerId) === 0) {
      watchers.delete(chain);
      await watcher.stop();
    }
    await end();
  }

  function accountOf(id: LaneId): Account {
    const account = accounts.get(laneKey(id));
    if (account === undefined) throw new Error(`no lane for ${laneKey(id)}`);
    return account;
  }

  return engine;
}

function keyOf(relayer: Relayer): string {
  return laneKey(laneOf(relayer));
}
