import type { Ids } from '../core/ids.js';
import { limitParallel } from '../core/limit-parallel.js';
import type { Chain } from '../core/ports/chain.js';
import type { DurationClock } from '../core/ports/clock.js';
import type { Directory } from '../core/ports/directory.js';
import type { Lanes } from '../core/ports/lanes.js';
import type { Leases, Work } from '../core/ports/leases.js';
import type { Log } from '../core/ports/log.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Store } from '../core/ports/store.js';
import type { Timers } from '../core/ports/timers.js';
import { laneOf, maxInFlightOf, type Relayer } from '../core/relayer/relayer.js';
import type { Feed } from '../core/transaction/feed.js';
import type { Journal } from '../core/transaction/journal.js';
import type { LaneId } from '../core/transaction/transaction.js';
import { createLane, type Lane } from './lane/lane.js';
import { type LaneFigures, nothingOpen } from './lane/open-transactions.js';
import { createRemoteLane, type RemoteLane } from './lane/remote-lane.js';
import { createWatcher, type NetworkHealth, type Watched, type Watcher } from './watcher.js';

/** The parts that make the engine. */
export interface EngineDeps {
  readonly store: Store;
  /** Which lanes this instance runs. */
  readonly leases: Leases;
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

/**
 * Everything that runs without a request: one watcher per chain, and the lanes whose leases this instance has. A lane with open transactions in the store is
 * opened when this instance gets its lease, another one when it gets its first transaction.
 */
export interface Engine extends Lanes {
  /** Adds the lanes of all relayers to the leases, and resolves as `Leases.add` does. Needs no node. */
  start(): Promise<void>;
  /**
   * Opens the lane of a relayer that was added to the directory, or moves its lane to the chain that the directory now has for it. Resolves as `Leases.add`
   * does; transactions accepted meanwhile are not lost. Call it for one relayer at a time.
   */
  open(relayer: Relayer): Promise<void>;
  /** Closes the lane of a relayer without open transactions. */
  close(relayer: Relayer): Promise<void>;
  /** Other instances have changed transactions of these relayers; `all`: it is unknown of which, or whether. Call that again and again. Returns at once. */
  changedElsewhere(relayers: ReadonlySet<string> | 'all'): void;
  /** The database is back after it was lost, and may be another server: the lanes compare their state with it. Returns at once. */
  storeReturned(): void;
  /** Signs nothing new, and resolves when all running work has ended. */
  stop(): Promise<void>;
  networks(): readonly NetworkHealth[];
  /** The state of each lane that this instance runs, at the moment at which the walk comes to it. Walks over everything that is open. */
  lanes(): Iterable<LaneFigures>;
}

/** The account of a relayer. */
interface Account {
  readonly relayerId: string;
  readonly chain: Chain;
  /** Passes heads on to the lane that runs. */
  readonly listener: Watched['lane'];
  /** The relayer as configured now. */
  relayer(): Relayer;
  /** What callers use while another instance runs the lane; null: there was no call meanwhile. */
  remote: RemoteLane | null;
  /** Why the lane has disabled the relayer, here or at another instance; null: it has not. */
  disabledReason: string | null;
  /** This instance has the lease. */
  isHere: boolean;
  /** The position of the relayer's changes at which nothing was open; null: not read. */
  emptyAt: number | null;
  /** The lane, once it is opened here. Without open transactions it is opened when a caller needs it: thousands of accounts may have nothing to do. */
  running: Running | null;
  /** Resolves when the lane that ran last has ended. */
  ended: Promise<void>;
}

/** A lane that is open. */
interface Running {
  readonly lane: Lane;
  /** Callers may use the lane before. */
  isLoaded: boolean;
  loading: Promise<void>;
}

/** What the store has of all lanes. */
interface StoredLanes {
  readonly open: readonly LaneId[];
  /** The keys of these lanes. */
  readonly openKeys: ReadonlySet<string>;
  /** Were read first, so that what changes meanwhile is looked at later. */
  readonly positions: ReadonlyMap<string, number>;
}

/** The number of lanes that read the store at once when they begin: there may be thousands. */
const loadedAtOnce = 16;
const loadAgainMs = 1_000;

/** Makes the engine; nothing runs before `start`. */
export function createEngine(deps: EngineDeps): Engine {
  const { directory, leases, log } = deps;
  const accounts = new Map<string, Account>();
  const watchers = new Map<Chain, Watcher>();

  const engine: Engine = {
    requireRoom: (id) => laneOrRemote(id).requireRoom(),
    accept: (transaction) => laneOrRemote(transaction).accept(transaction),
    noteUnanswered: (id) => laneOrRemote(id).noteUnanswered(),
    whyUnsigned: (id, content) => laneOrRemote(id).whyUnsigned(content),
    maxInFlight: (id) => {
      const account = accountOf(id);
      return account.running === null ? policyLimitOf(account) : account.running.lane.maxInFlight();
    },
    move: (seen, decide) => laneOrRemote(seen).move(seen.id, decide, seen.revision),
    async start() {
      const relayers = directory.relayers();
      const added = relayers.map(addAccount);
      await leases.add(
        'lane',
        new Map(relayers.map((relayer, index) => [laneKey(laneOf(relayer)), workOf(relayer, added[index] as Account)])),
      );
      for (const id of (await readStoredLanes()).open) {
        if (!accounts.has(laneKey(id)))
          log.warn(
            { chain: id.chain, account: id.account },
            'an account without a relayer has open transactions; they wait until a relayer uses the account again',
          );
      }
      for (const one of added) watch(one);
    },
    async open(relayer) {
      const key = laneKey(laneOf(relayer));
      const before = accounts.get(key);
      if (before !== undefined) await leave(before);
      // Transactions accepted from here on reach the new lane. Those that the old lane got are stored, and the new lane loads them.
      const account = addAccount(relayer);
      watch(account);
      await leases.add('lane', new Map([[key, workOf(relayer, account)]]));
    },
    async close(relayer) {
      const key = laneKey(laneOf(relayer));
      const account = accounts.get(key);
      if (account === undefined) return;
      await leases.remove('lane', key);
      await leave(account);
      accounts.delete(key);
    },
    changedElsewhere(relayers) {
      if (relayers === 'all') void lookAtAll();
      else
        for (const account of accounts.values()) if (account.isHere && relayers.has(account.relayerId)) opened(account).changedElsewhere();
    },
    storeReturned() {
      for (const { running } of accounts.values()) running?.lane.storeReturned();
    },
    async stop() {
      await Promise.all([...[...watchers.values()].map((watcher) => watcher.stop()), ...[...accounts.values()].map(endLane)]);
    },
    networks: () => [...watchers.values()].map((watcher) => watcher.health()),
    *lanes() {
      for (const account of accounts.values()) {
        const { isHere, running, relayerId } = account;
        if (running !== null) yield running.lane.figures();
        else if (isHere) yield { relayerId, inFlightLimit: policyLimitOf(account), ...nothingOpen };
      }
    },
  };

  const laneWork = { ...deps, lanes: engine };
  const inTurn = limitParallel(loadedAtOnce);

  /** Wakes the lanes whose transactions have changed since they looked last: most have not. If the database does not answer, the next look does. */
  async function lookAtAll(): Promise<void> {
    const positions = await deps.store.read.lastPositions().catch(() => null);
    if (positions === null) return;
    for (const account of accounts.values()) {
      const { running, emptyAt, relayerId } = account;
      const last = positions.get(relayerId) ?? 0;
      if (running !== null) running.lane.changedElsewhere(last);
      else if (account.isHere && emptyAt !== null && emptyAt !== last) opened(account);
    }
  }

  /** A look at the store that begins in this turn, which all lanes that begin in it share. */
  let lookThatBegins: Promise<StoredLanes> | null = null;

  function readStoredLanes(): Promise<StoredLanes> {
    lookThatBegins ??= Promise.resolve().then(async () => {
      lookThatBegins = null;
      const positions = await deps.store.read.lastPositions();
      const open = await deps.store.read.openLanes();
      return { positions, open, openKeys: new Set(open.map(laneKey)) };
    });
    return lookThatBegins;
  }

  function addAccount(relayer: Relayer): Account {
    const account: Account = {
      relayerId: relayer.id,
      chain: directory.chainOf(relayer),
      listener: {
        tick(head) {
          if (account.running?.isLoaded) account.running.lane.tick(head);
        },
        unreachable() {
          if (account.running?.isLoaded) account.running.lane.unreachable();
        },
      },
      relayer: () => directory.relayer(relayer.id) ?? relayer,
      remote: null,
      disabledReason: null,
      isHere: false,
      emptyAt: null,
      running: null,
      ended: Promise.resolve(),
    };
    accounts.set(laneKey(laneOf(relayer)), account);
    return account;
  }

  /** The work of a lane's lease. */
  function workOf(relayer: Relayer, account: Account): Work {
    return {
      async begin() {
        // At once: from now on, callers pass what they store on to the lane.
        account.isHere = true;
        account.emptyAt = null;
        const { positions, openKeys } = await readStoredLanes();
        if (openKeys.has(laneKey(laneOf(relayer)))) openLane(account);
        else account.emptyAt = positions.get(relayer.id) ?? 0;
        await account.running?.loading;
      },
      end: () => endLane(account),
      noted(reason) {
        // If the watcher of the chain has disabled the relayer since, all instances find that.
        const isOwn = directory.relayer(relayer.id)?.disabledReason === account.disabledReason;
        account.disabledReason = reason;
        if (isOwn || reason !== null) directory.setDisabled(relayer.id, reason);
      },
    };
  }

  /** Opens a lane, if it is not open. */
  function openLane(account: Account): Running {
    if (account.running !== null) return account.running;
    const relayer = account.relayer();
    const work = { ...laneWork, directory: shownElsewhere(relayer, account) };
    const lane = createLane({ id: laneOf(relayer), deps: work, chain: account.chain, log, relayer: account.relayer });
    const running: Running = { lane, isLoaded: false, loading: Promise.resolve() };
    account.running = running;
    running.loading = load(account, running);
    return running;
  }

  async function load({ chain }: Account, running: Running): Promise<void> {
    await inTurn(() => running.lane.load());
    running.isLoaded = true;
    // The next head may come only seconds later.
    const head = watchers.get(chain)?.health().head;
    if (head != null) running.lane.tick(head);
  }

  /** Returns the lane of an account, whose lease this instance has. If the lane is not open, it is opened, and loaded in the background. */
  function opened(account: Account): Lane {
    if (account.running === null) void loadAtLast(account, openLane(account));
    return openLane(account).lane;
  }

  async function loadAtLast(account: Account, running: Running): Promise<void> {
    for (let failures = 0; account.running === running; failures += 1) {
      try {
        if (failures > 0) running.loading = load(account, running);
        await running.loading;
        return;
      } catch (error) {
        if (failures === 0) log.warn({ relayer: account.relayerId, err: error }, 'a lane could not read its transactions; retrying');
        await new Promise<void>((resolve) => void deps.timers.after(loadAgainMs, resolve));
      }
    }
  }

  /** The directory for a lane, which shows at the other instances too why it disables the relayer: only the instance that runs it can find out. */
  function shownElsewhere(relayer: Relayer, account: Account): Directory {
    return {
      ...directory,
      setDisabled(relayerId, reason) {
        account.disabledReason = reason;
        directory.setDisabled(relayerId, reason);
        leases.note('lane', laneKey(laneOf(relayer)), reason);
      },
    };
  }

  /** The lease may be given up only when nothing of the lane runs any more, also if the lane was ended before. */
  function endLane(account: Account): Promise<void> {
    if (account.running !== null) account.ended = account.running.lane.stop();
    account.running = null;
    account.isHere = false;
    return account.ended;
  }

  function watch(account: Account): void {
    const { listener, relayerId, chain } = account;
    const known = watchers.get(chain);
    const watcher = known ?? createWatcher({ ...deps, chain });
    watcher.add({ lane: listener, relayerId, isReported: () => account.isHere });
    if (known !== undefined) return;
    watchers.set(chain, watcher);
    watcher.start();
  }

  /** Ends the lane, and the watcher of its chain if no other lane is on it. */
  async function leave(account: Account): Promise<void> {
    const { chain, listener } = account;
    const watcher = watchers.get(chain);
    if (watcher?.remove(listener) === 0) {
      watchers.delete(chain);
      await watcher.stop();
    }
    await endLane(account);
  }

  function accountOf(id: LaneId): Account {
    const account = accounts.get(laneKey(id));
    if (account === undefined) throw new Error(`no lane for ${laneKey(id)}`);
    return account;
  }

  /** The limit of a lane that is not open here. */
  function policyLimitOf({ chain, relayer }: Account): number | null {
    return chain.sequence === null ? null : maxInFlightOf(relayer().policies);
  }

  function laneOrRemote(id: LaneId): Lane | (RemoteLane & Pick<Lane, 'move' | 'whyUnsigned'>) {
    const account = accountOf(id);
    if (account.isHere) return opened(account);
    account.remote ??= createRemoteLane(laneOf(account.relayer()), laneWork, account.relayer);
    return account.remote;
  }

  return engine;
}

function laneKey({ chain, account }: LaneId): string {
  return `${chain}/${account}`;
}
