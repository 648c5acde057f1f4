import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Chain } from '../ports/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Instances, RunningInstance } from '../ports/instances.js';
import { StoreAwayError } from '../ports/store/change.js';
import type { FeedReads } from '../ports/store/feed.js';
import type { LaneViewReads, OpenOfRelayer } from '../ports/store/lane-views.js';
import type { Relayer } from '../records/relayer.js';
import type { DurationClock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import { shareRun } from '../work/share-run.js';
import type { Timers } from '../work/timers.js';
import { createWaker } from '../work/waker.js';
import { createAccountFunds, type Funds, isSameAccount } from './account-funds.js';
import { createNetworkGlances, type NetworkGlance, type NetworkState, type Versioned } from './network-glances.js';
import { readBalances } from './read-balances.js';
import { countFinished, type OverviewSample, sampleEveryMs, samplesKept } from './samples.js';

/** A relayer at a glance. */
export interface RelayerGlance {
  readonly relayer: Relayer;
  readonly open: OpenOfRelayer;
  readonly funds: Funds;
}

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
  /** Looks no more; waits for the look in progress. */
  stop(): Promise<void>;
}

/** The dependencies of the overview. */
export interface OverviewDeps {
  readonly store: { readonly read: Pick<FeedReads, 'lastPositions'> & Pick<LaneViewReads, 'changesByStatus' | 'openOf'> };
  readonly directory: Pick<Directory, 'relayers' | 'relayer' | 'chainOf'>;
  readonly networkStates: () => readonly NetworkState[];
  /** The number of pending webhook events, counted up to a limit. */
  readonly backlog: () => Promise<number>;
  readonly sharing: Pick<Instances, 'instances'>;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly log: Log;
}

const lookEveryMs = 1_000;
/** A backlog may be long, and counting it costs the more. */
const countBacklogEveryMs = 5_000;
const readBalancesEveryMs = 30_000;
/** Idle relayers must not cost more calls to nodes than that: with very many of them, their balances are read less often. */
const maxBalancesPerSecond = 20;
/** While no watch is open, balances are read after this many samples, of relayers that had transactions. */
const samplesPerReading = 2;
/** Open transactions that one read counts: few enough that nothing else waits long. */
const openPerRead = 10_000;
const relayersPerRead = 64;
/** Assumed of a relayer that was not counted yet. */
const assumedOpen = 5_000;
/** Relayers that are compared in one turn of the event loop. */
const relayersPerTurn = 2_000;
/** An instance is seen every few seconds: only later sightings are news. */
const sightingMs = 10_000;

const nothingOpen: OpenOfRelayer = { waiting: 0, inFlight: 0, oldest: null };

/**
 * Creates the overview. Any instance shows the same: what transactions wait for comes from the store, where the instance that has the lane
 * writes it. Only relayers whose transactions have changed are read again.
 */
export function createOverview(deps: OverviewDeps): Overview {
  const { store, directory, networkStates, sharing, clock, timers, log } = deps;
  const funds = createAccountFunds(clock);
  const stopping = new AbortController();
  const wakers = new Set<() => void>();
  const relayers = new Map<string, Versioned<RelayerGlance>>();
  const networks = createNetworkGlances(directory);
  const samples: Versioned<OverviewSample>[] = [];
  /** What is open, and the position of each relayer's transactions at which that was counted. */
  const counted = new Map<string, { readonly position: number; readonly open: OpenOfRelayer }>();
  let version = 0;
  let removedAt = 0;
  /** What the last look changed, and what the present one has changed so far: also if that fails. */
  let changed: OverviewState['changed'] = { after: 0, ids: new Set() };
  let changing = new Set<string>();
  let lastTurn: Promise<void> = Promise.resolve();
  let backlog: (Versioned<number> & { readonly atMs: number }) | null = null;
  let instances: (Versioned<readonly RunningInstance[]> & { readonly text: string }) | null = null;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let isFresh = false;
  /** Until the next look while a watch is open. */
  let nextLookInMs = lookEveryMs;
  let balances: Promise<void> | null = null;
  let balancesReadAtMs: number | null = null;
  /** The relayers whose balances were asked for since the start. */
  const tried = new Set<string>();
  /** The positions at the last sample and at the last reading of balances without a watch; null: there was none. */
  let sampledPositions: ReadonlyMap<string, number> | null = null;
  let balancePositions: ReadonlyMap<string, number> = new Map();
  let samplesTaken = 0;
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
    await countOpen(await store.read.lastPositions());
    const next = version + 1;
    await compareRelayers(next);
    networks.compare(networkStates(), next, wakers.size > 0);
    compareInstances(next);
    await countBacklog(next);
    changed = { after: version, ids: changing };
    changing = new Set();
    version = next;
    lookedAtMs = clock.elapsedMs();
  }

  function isFault(error: unknown): boolean {
    return !(error instanceof StoreAwayError) && !stopping.signal.aborted;
  }

  /** Counts what is open of the relayers whose transactions have changed, in slices. */
  async function countOpen(positions: ReadonlyMap<string, number>): Promise<void> {
    const known = directory.relayers().map(({ id }) => id);
    const moved = known.filter((id) => (positions.get(id) ?? 0) !== (counted.get(id)?.position ?? 0));
    let slice: string[] = [];
    let weight = 0;
    const readSlice = async (): Promise<void> => {
      const open = await store.read.openOf(slice);
      for (const id of slice) counted.set(id, { position: positions.get(id) ?? 0, open: open.get(id) ?? nothingOpen });
      slice = [];
      weight = 0;
      await nextTurn();
    };
    for (const id of moved) {
      stopping.signal.throwIfAborted();
      const before = counted.get(id)?.open;
      slice.push(id);
      weight += before === undefined ? assumedOpen : before.waiting + before.inFlight + 1;
      if (slice.length === relayersPerRead || weight >= openPerRead) await readSlice();
    }
    if (slice.length > 0) await readSlice();
  }

  async function compareRelayers(next: number): Promise<void> {
    const all = directory.relayers();
    for (const [index, relayer] of all.entries()) {
      if (index > 0 && index % relayersPerTurn === 0) await nextTurn();
      const before = relayers.get(relayer.id)?.value;
      if (before !== undefined && !isSameAccount(before.relayer, relayer)) tried.delete(relayer.id);
      const value = { relayer, open: counted.get(relayer.id)?.open ?? nothingOpen, funds: funds.of(relayer) };
      if (before !== undefined && isSame(before, value)) continue;
      relayers.set(relayer.id, { version: next, value });
      changing.add(relayer.id);
    }
    if (relayers.size === all.length) return;
    const ids = new Set(all.map(({ id }) => id));
    for (const id of relayers.keys()) {
      if (ids.has(id)) continue;
      relayers.delete(id);
      counted.delete(id);
      tried.delete(id);
      removedAt = next;
    }
    funds.keepOnly((id) => ids.has(id));
  }

  function compareInstances(next: number): void {
    const value = sharing.instances();
    const text = JSON.stringify(
      value.map((one) => ({ ...one, seenAtMs: one.seenAtMs === null ? null : Math.floor(one.seenAtMs / sightingMs) })),
    );
    if (instances?.text !== text) instances = { version: next, value, text };
  }

  async function countBacklog(next: number): Promise<void> {
    const nowMs = clock.elapsedMs();
    if (backlog !== null && nowMs - backlog.atMs < countBacklogEveryMs) return;
    const value = await deps.backlog();
    backlog = { value, version: backlog?.value === value ? backlog.version : next, atMs: nowMs };
  }

  /** Looks if a watch is open, and wakes the watches. */
  async function watch(): Promise<void> {
    if (wakers.size === 0) {
      isFresh = false;
      return;
    }
    readWatchedBalances();
    // Watches that come and go cause no further looks.
    const dueInMs = lookedAtMs + lookEveryMs - clock.elapsedMs();
    nextLookInMs = dueInMs > 0 ? dueInMs : lookEveryMs;
    isFresh = dueInMs > 0 || (await look());
    if (isFresh) for (const wake of wakers) wake();
  }

  function readWatchedBalances(): void {
    if (balances !== null) return;
    const isReachable = reachableNow();
    const relayers = directory.relayers();
    const everyMs = Math.max(readBalancesEveryMs, (relayers.length / maxBalancesPerSecond) * 1_000);
    const isDue = balancesReadAtMs === null || clock.elapsedMs() - balancesReadAtMs >= everyMs;
    const wanted = relayers.filter((relayer) => isDue || (!tried.has(relayer.id) && isReachable(directory.chainOf(relayer))));
    if (isDue) balancesReadAtMs = clock.elapsedMs();
    readBalancesOf(wanted);
  }

  /** Tells on which chains a node answered at the last poll of the head. */
  function reachableNow(): (chain: Chain) => boolean {
    const reachable = new Set(networkStates().flatMap(({ chain, head, problem }) => (head !== null && problem === null ? [chain] : [])));
    return (chain) => reachable.has(chain);
  }

  /** Reads balances without waiting for them. A reading that takes long delays the next one. */
  function readBalancesOf(wanted: readonly Relayer[]): void {
    if (balances !== null || wanted.length === 0) return;
    const isReachable = reachableNow();
    const readable = wanted.filter((relayer) => isReachable(directory.chainOf(relayer)));
    for (const { id } of readable) tried.add(id);
    balances = readBalances({ directory, funds }, readable, stopping.signal).finally(() => {
      balances = null;
    });
  }

  async function takeSample(): Promise<void> {
    const positions = await store.read.lastPositions();
    if (sampledPositions === null) {
      sampledPositions = positions;
      balancePositions = positions;
      return;
    }
    const finished = await countFinished(store.read, sampledPositions, positions, stopping.signal);
    if (!(await look())) return;
    // A look that began meanwhile would give its changes the version of the sample.
    while (look.current() !== null) await look.current();
    sampledPositions = positions;
    let open = 0;
    for (const { value } of relayers.values()) open += value.open.waiting + value.open.inFlight;
    version += 1;
    samples.push({ version, value: { atMs: clock.nowMs(), ...finished, open, webhookBacklog: backlog?.value ?? 0 } });
    if (samples.length > samplesKept) samples.shift();
    for (const wake of wakers) wake();
    samplesTaken += 1;
    if (samplesTaken % samplesPerReading !== 0) return;
    const before = balancePositions;
    readBalancesOf(directory.relayers().filter(({ id }) => positions.get(id) !== before.get(id)));
    balancePositions = positions;
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
  const state = (): OverviewState => ({ version, relayers, changed, removedAt, networks: networks.all, backlog, instances, samples });

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
    async stop() {
      stopping.abort();
      for (const wake of wakers) wake();
      await Promise.all([watching.stop(), sampling?.stop(), look.current()]);
    },
  };
}

function isSame(before: RelayerGlance, now: RelayerGlance): boolean {
  if (before.relayer !== now.relayer || before.funds !== now.funds) return false;
  const [a, b] = [before.open, now.open];
  if (a === b) return true;
  return (
    a.waiting === b.waiting &&
    a.inFlight === b.inFlight &&
    a.oldest?.id === b.oldest?.id &&
    a.oldest?.statusReason === b.oldest?.statusReason
  );
}
