import type { Chain } from '../core/ports/chain/chain.js';
import type { Directory } from '../core/ports/directory.js';
import type { Leases, Work } from '../core/ports/leases.js';
import { laneOf, maxInFlightOf, type Relayer } from '../core/records/relayer.js';
import type { LaneId } from '../core/records/transaction.js';
import { createPause } from '../core/work/abort.js';
import type { ParallelLimit } from '../core/work/parallel-limit.js';
import { createLane, type Lane } from './lane/lane.js';
import type { LaneWork } from './lane/lane-inputs.js';
import { type LaneFigures, nothingOpen } from './lane/open-transactions.js';
import { createRemoteLane, type RemoteLane } from './lane/remote-lane.js';
import type { Watcher } from './watcher.js';

/** The account of a relayer, whose lane runs here if this instance has its lease. */
export interface Account {
  readonly relayerId: string;
  readonly chain: Chain;
  /** What the lease of the lane gives this instance to do. */
  readonly work: Work;
  /** True if this instance has the lease. */
  isHere(): boolean;
  /** Returns what callers use. A lane whose lease this instance has is opened for it, and loaded in the background. */
  forCallers(): Lane | CalledElsewhere;
  /** See `Lanes`. */
  maxInFlight(): number | null;
  /** The state of the lane; null: another instance runs it. */
  figures(): LaneFigures | null;
  /**
   * Another instance has changed transactions of the relayer. `position`: that of its last change, which this instance may know; undefined:
   * not read.
   */
  changedElsewhere(position?: number): void;
  /** See `Engine`. */
  storeReturned(): void;
  /** See `RemoteLane`. */
  explainHold(): Promise<void>;
  /** See `RemoteLane`. */
  keepAccepted(): void;
  /** Ends the lane; resolves when nothing of it runs any more, also if it was ended before. The lease may be given up only then. */
  end(): Promise<void>;
}

/** What callers use while another instance runs the lane. */
type CalledElsewhere = Omit<RemoteLane, 'explainHold' | 'keepAccepted'> & Pick<Lane, 'move' | 'whyUnsigned'>;

/** What the store has of all lanes. */
export interface StoredLanes {
  readonly open: readonly LaneId[];
  /** The keys of these lanes. */
  readonly openKeys: ReadonlySet<string>;
  /** The position of each relayer's last change. They were read first, so that what changes meanwhile is looked at later. */
  readonly positions: ReadonlyMap<string, number>;
}

/** The parts that make an account. */
export interface AccountDeps extends LaneWork {
  readonly leases: Pick<Leases, 'note'>;
  readStoredLanes(): Promise<StoredLanes>;
  /** Lets only some lanes read the store at once. */
  readonly inTurn: ParallelLimit['run'];
}

/** A lane that is open. Callers may use it before it is loaded. */
interface Open {
  readonly kind: 'open';
  readonly lane: Lane;
  loading: Promise<void>;
  isKept: boolean;
}

/** What this instance has of the lane. */
type State =
  /** It does not have the lease. */
  | { readonly kind: 'elsewhere' }
  /** It has the lease, and does not know yet whether transactions are open. */
  | { readonly kind: 'unread' }
  /**
   * Nothing was open when the relayer's last change had this position. Thousands of lanes may have nothing to do: they are opened when a
   * caller needs them.
   */
  | { readonly kind: 'idle'; readonly position: number }
  | Open;

const loadAgainMs = 1_000;
const elsewhere: State = { kind: 'elsewhere' };
const unread: State = { kind: 'unread' };

/** Makes the account of a relayer, without its lease. `watcher`: that of its chain. All accounts share `deps`: there may be thousands. */
export function createAccount(relayer: Relayer, watcher: Pick<Watcher, 'listen' | 'stopListening' | 'wake'>, deps: AccountDeps): Account {
  const { directory, leases, log } = deps;
  const id = laneOf(relayer);
  const chain = directory.chainOf(relayer);
  let state: State = elsewhere;
  /** null: there was no call while another instance had the lease. */
  let remote: RemoteLane | null = null;
  /** Why the lane has disabled the relayer, here or at another instance; null: it has not. */
  let disabledReason: string | null = null;
  let ended: Promise<unknown> = Promise.resolve();

  const asConfiguredNow = () => directory.relayer(relayer.id) ?? relayer;
  const currentState = () => state;

  async function begin(): Promise<void> {
    // At once: from now on, callers pass what they store on to the lane.
    state = unread;
    const { positions, openKeys } = await deps.readStoredLanes();
    // A caller may have opened it.
    if (currentState().kind === 'unread') {
      if (openKeys.has(laneKey(id))) openLane();
      else state = { kind: 'idle', position: positions.get(relayer.id) ?? 0 };
    }
    const now = currentState();
    if (now.kind === 'open') await now.loading;
  }

  function openLane(): Open {
    const lane = createLane({
      id,
      deps: { ...deps, directory: shownElsewhere() },
      chain,
      relayer: asConfiguredNow,
      wakeWatcher: watcher.wake,
    });
    const open: Open = { kind: 'open', lane, loading: Promise.resolve(), isKept: false };
    state = open;
    open.loading = load(open);
    return open;
  }

  async function load(open: Open): Promise<void> {
    await deps.inTurn(async () => {
      if (state === open) await open.lane.load();
    });
    if (state === open) watcher.listen(open.lane);
  }

  /** The open lane, whose lease this instance has. */
  function openForCallers(): Lane {
    if (state.kind === 'open') return state.lane;
    const open = openLane();
    void loadAtLast(open);
    return open.lane;
  }

  async function loadAtLast(open: Open): Promise<void> {
    for (let failures = 0; state === open; failures += 1) {
      try {
        if (failures > 0) open.loading = load(open);
        await open.loading;
        return;
      } catch (error) {
        if (failures === 0) log.warn({ relayer: relayer.id, err: error }, 'a lane could not read its transactions; retrying');
        await createPause(deps.timers)(loadAgainMs);
      }
    }
  }

  /**
   * The directory for a lane, which shows at the other instances too why it disables the relayer: only the instance that runs it can find
   * out.
   */
  function shownElsewhere(): Directory {
    return {
      ...directory,
      setDisabled(relayerId, reason) {
        disabledReason = reason;
        directory.setDisabled(relayerId, reason);
        leases.note('lane', laneKey(id), reason);
      },
    };
  }

  function noted(reason: string | null): void {
    // If the watcher of the chain has disabled the relayer since, all instances find that.
    const isOwn = directory.relayer(relayer.id)?.disabledReason === disabledReason;
    disabledReason = reason;
    if (isOwn || reason !== null) directory.setDisabled(relayer.id, reason);
  }

  /** The database may lack what the lane has in memory after a rewind: then it is kept elsewhere, once. Other holds lose nothing. */
  function keepIfRewound(open: Open): void {
    if (open.isKept || deps.database.rewind() === null) return;
    open.isKept = true;
    deps.database.keepHeld?.(open.lane.held());
  }

  async function end(): Promise<void> {
    if (state.kind === 'open') {
      const { lane, loading } = state;
      watcher.stopListening(lane);
      keepIfRewound(state);
      ended = Promise.all([lane.stop(), loading.catch(() => undefined)]);
    }
    state = elsewhere;
    await ended;
  }

  const account: Account = {
    relayerId: relayer.id,
    chain,
    work: { begin, end, noted },
    isHere: () => state.kind !== 'elsewhere',
    forCallers() {
      if (account.isHere()) return openForCallers();
      return elsewhereLane();
    },
    maxInFlight: () => (state.kind === 'open' ? state.lane.maxInFlight() : policyLimit()),
    figures() {
      if (state.kind === 'open') return state.lane.figures();
      return account.isHere() ? { relayerId: relayer.id, inFlightLimit: policyLimit(), ...nothingOpen } : null;
    },
    changedElsewhere(position) {
      if (state.kind === 'open') state.lane.changedElsewhere(position);
      else if (position === undefined ? account.isHere() : state.kind === 'idle' && state.position !== position) openForCallers();
    },
    keepAccepted: () => remote?.keepAccepted(),
    explainHold: () => elsewhereLane().explainHold(),
    storeReturned() {
      if (state.kind !== 'open') return;
      // The lane is about to read what the database still has.
      keepIfRewound(state);
      state.lane.storeReturned();
    },
    end,
  };

  function elsewhereLane(): RemoteLane {
    remote ??= createRemoteLane(id, deps, asConfiguredNow);
    return remote;
  }

  /** The limit of a lane that is not open here. */
  function policyLimit(): number | null {
    return chain.sequence === null ? null : maxInFlightOf(asConfiguredNow().policies);
  }

  return account;
}

/** The key of a lane's lease. */
export function laneKey({ chain, account }: LaneId): string {
  return `${chain}/${account}`;
}
