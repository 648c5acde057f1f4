import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Directory } from '../ports/directory.js';
import type { RunningInstance } from '../ports/instances.js';
import { StoreAwayError } from '../ports/store/change.js';
import type { FeedReads } from '../ports/store/feed.js';
import type { LaneViewReads } from '../ports/store/lane-views.js';
import type { Relayer } from '../records/relayer.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import { shareRun } from '../work/share-run.js';
import type { Timers } from '../work/timers.js';
import { createWaker } from '../work/waker.js';
import { createAccountFunds, type Funds } from './account-funds.js';
import { createBalanceReadings } from './balance-readings.js';
import { createNetworkGlances, type NetworkGlance, type NetworkState, type Versioned } from './network-glances.js';
import { createOpenCounts } from './open-counts.js';
import { createRelayerGlances, type RelayerGlance } from './relayer-glances.js';
import { createSampleHistory, type OverviewSample, sampleEveryMs } from './samples.js';
import { createServiceFigures, type ServiceFiguresDeps } from './service-figures.js';

/** The service as it was at the last look. */
export interface OverviewState {
  /** The number of the last look; 0: there was none. */
  readonly version: number;
  readonly relayers: ReadonlyMap<string, Versioned<RelayerGlance>>;
  /** The relayers that have changed after this version, and maybe others. */
  readonly changed: { readonly after: number; readonly ids: ReadonlySet<string> };
  /** The look that last removed a relayer. */
  readonly removedAt: number;
  /** By `networkIdOf`. */
  readonly networks: ReadonlyMap<string, Versioned<NetworkGlance>>;
  readonly backlog: Versioned<number> | null;
  readonly instances: Versioned<readonly RunningInstance[]> | null;
  /** Oldest first. */
  readonly samples: readonly Versioned<OverviewSample>[];
}

/** A watcher's hold on the overview: while one is open, the service is looked at once a second. */
export interface OverviewSubscription {
  /** The present state; null: the first look since a watch is open is not over. */
  state(): OverviewState | null;
  /** Resolves after the next look, when the time is over, or after `close`. */
  wait(timeoutMs: number): Promise<void>;
  /** Resolves in a turn of the event loop that no other watcher has: a thousand messages at once would hold everything else up. */
  turn(): Promise<void>;
  close(): void;
}

/** The state of the whole service, for all watchers together. */
export interface Overview {
  /** Begins to take samples. */
  start(): void;
  subscribe(): OverviewSubscription;
  /** Returns the funds of a relayer, as they were read last. */
  fundsOf(relayer: Relayer): Funds;
  /** Looks no more; waits for the look in progress. */
  stop(): Promise<void>;
}

/** The dependencies of the overview. */
export interface OverviewDeps extends ServiceFiguresDeps {
  readonly store: { readonly read: Pick<FeedReads, 'lastPositions'> & Pick<LaneViewReads, 'changesByStatus' | 'openOf'> };
  readonly directory: Pick<Directory, 'relayers' | 'relayer' | 'chainOf'>;
  readonly networkStates: () => readonly NetworkState[];
  readonly timers: Timers;
  readonly log: Log;
}

const lookEveryMs = 1_000;

/**
 * Creates the overview. Any instance shows the same: what transactions wait for comes from the store, where the instance that has the lane
 * writes it. Only relayers whose transactions have changed are read again.
 */
export function createOverview(deps: OverviewDeps): Overview {
  const { store, directory, networkStates, clock, timers, log } = deps;
  const funds = createAccountFunds(clock);
  const stopping = new AbortController();
  const wakers = new Set<() => void>();
  const networks = createNetworkGlances(directory);
  const open = createOpenCounts(store.read, stopping.signal);
  const balances = createBalanceReadings({ directory, funds, networkStates, clock, stopping: stopping.signal });
  const figures = createServiceFigures(deps);
  const relayers = createRelayerGlances({ directory, funds, open, balances });
  const history = createSampleHistory(store.read, stopping.signal);
  let version = 0;
  let lastTurn: Promise<void> = Promise.resolve();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let isFresh = false;
  /** Until the next look while a watch is open. */
  let nextLookInMs = lookEveryMs;
  let sampling: Repeating | null = null;
  let isUnreadable = false;

  /** Looks at the whole service; false: the store cannot be read. Looks that overlap are one. */
  const look = shareRun(async (): Promise<boolean> => {
    try {
      await lookOnce();
      isUnreadable = false;
      return true;
    } catch (error) {
      if (isFault(error) && !isUnreadable) log.error({ err: error }, 'cannot read the overview; retrying');
      isUnreadable = true;
      return false;
    }
  });

  async function lookOnce(): Promise<void> {
    const positions = await store.read.lastPositions();
    await open.count(
      directory.relayers().map(({ id }) => id),
      positions,
    );
    const next = version + 1;
    await relayers.compare(next);
    networks.compare(networkStates(), next, wakers.size > 0);
    await figures.compare(next);
    relayers.endLook(version);
    version = next;
    lookedAtMs = clock.elapsedMs();
  }

  function isFault(error: unknown): boolean {
    return !(error instanceof StoreAwayError) && !stopping.signal.aborted;
  }

  /** Looks if a watch is open, and wakes the watches. */
  async function watch(): Promise<void> {
    if (wakers.size === 0) {
      isFresh = false;
      return;
    }
    balances.readWatched();
    // Watches that come and go cause no further looks.
    const dueInMs = lookedAtMs + lookEveryMs - clock.elapsedMs();
    nextLookInMs = dueInMs > 0 ? dueInMs : lookEveryMs;
    isFresh = dueInMs > 0 || (await look());
    if (isFresh) for (const wake of wakers) wake();
  }

  async function takeSample(): Promise<void> {
    const positions = await store.read.lastPositions();
    const finished = await history.finishedUntil(positions);
    if (finished === null || !(await look())) return;
    // A look that began meanwhile would give its changes the version of the sample.
    while (look.current() !== null) await look.current();
    let openCount = 0;
    for (const { value } of relayers.all.values()) openCount += value.open.waiting + value.open.inFlight;
    version += 1;
    const value = { atMs: clock.nowMs(), ...finished, open: openCount, webhookBacklog: figures.backlog?.value ?? 0 };
    const active = history.add({ version, value }, positions);
    for (const wake of wakers) wake();
    // An account that spent something is read until a day has passed, so that a top-up shows although no transaction follows.
    if (active !== null) balances.readOf(directory.relayers().filter((one) => active.has(one.id) || funds.of(one).lastsMs !== null));
  }

  /** The next sample counts what this one did not. */
  function onSampleError(error: unknown): void {
    if (isFault(error)) log.error({ err: error }, "cannot record the overview's statistics; retrying");
  }

  const watching = repeat(watch, () => (wakers.size === 0 ? Number.POSITIVE_INFINITY : nextLookInMs), {
    onError: (error) => isFault(error) && log.error({ err: error }, 'cannot read the overview; retrying'),
    runsAtOnce: false,
    timers,
  });
  const state = (): OverviewState => {
    const { backlog, instances } = figures;
    const { all, changed, removedAt } = relayers;
    return { version, relayers: all, changed, removedAt, networks: networks.all, backlog, instances, samples: history.samples };
  };

  return {
    start() {
      sampling = repeat(takeSample, sampleEveryMs, { onError: onSampleError, timers });
    },
    subscribe() {
      const waker = createWaker(timers);
      wakers.add(waker.wake);
      // A further watch causes no further look.
      if (wakers.size === 1) watching.wake();
      return {
        state: () => (isFresh ? state() : null),
        async wait(timeoutMs) {
          await waker.wait(timeoutMs);
          waker.heed();
        },
        turn() {
          lastTurn = lastTurn.then(() => nextTurn());
          return lastTurn;
        },
        close() {
          wakers.delete(waker.wake);
          waker.close();
          if (wakers.size === 0) watching.wake();
        },
      };
    },
    fundsOf: funds.of,
    async stop() {
      stopping.abort();
      for (const wake of wakers) wake();
      await Promise.all([watching.stop(), sampling?.stop(), look.current()]);
    },
  };
}
