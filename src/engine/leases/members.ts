import type { DatabaseState } from '../../core/ports/database-state.js';
import type { InstanceState, Instances } from '../../core/ports/instances.js';
import type { LeaseKind, Leases } from '../../core/ports/leases.js';
import { allNews, type News } from '../../core/ports/news.js';
import type { Look, Member, Observer, Rewind, SharedDatabase } from '../../core/ports/shared-database.js';
import { type Change, ConflictError, StoreAwayError } from '../../core/ports/store/change.js';
import type { StoreFor } from '../../core/ports/store/store.js';
import { createPause } from '../../core/work/abort.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createExclusively } from '../../core/work/one-at-a-time.js';
import { type Repeating, repeat } from '../../core/work/repeat.js';
import type { Timers } from '../../core/work/timers.js';
import { createConditionsWatch, hasSameFiles, requireSameFiles } from './conditions.js';
import { createDatabaseClock } from './database-clock.js';
import { createDurabilityWatch } from './durability-watch.js';
import { createInstanceWatch, type InstanceWatch } from './instance-watch.js';
import { createLeaseShares } from './lease-shares.js';
import { createNewsSender } from './news-sender.js';

/** An instance that was alone at its last look only has to notice that another one joins, which also tells it. */
const lookEveryMs = { alone: 1_000, withOthers: 250 };
/**
 * How long an instance that may have lost commits by a failover may take to return: it knows what it lost itself, and if it does not
 * return, nothing is signed until an operator has decided.
 */
const returnPatienceMs = 60_000;
const clocksDiffer = 'the clocks of this instance and of the database differ by more than 30 s; correct the clock that is wrong';
/** Timers may fire a little early. */
const leastBetweenWatchesMs = 200;

/** The instances that share the database of this one. */
export interface Sharing extends Instances, DatabaseState {
  /** The number of instances. Costs nothing, unlike the list. */
  count(): number;
  /** The number of leases that no instance holds, by kind, as they were read last. */
  unheld(): ReadonlyMap<LeaseKind, number>;
  /** Calls `listener` when this instance has to stop signing, and has given up its leases. */
  onHold(listener: () => void): void;
  /** Calls `listener` when another instance may have changed something. */
  onNews(listener: (news: News) => void): void;
  /** Not null: nothing is signed or broadcast until an operator has run `relayer restore`. */
  rewind(): Rewind | null;
  /** Why this instance holds no leases and signs nothing, although others may; null: it may do that. */
  ownHold(): string | null;
  /** The own clock minus the database's. */
  clockSkewMs(): number;
  /** How much these clocks differ, if that is worth a sentence; else null. */
  clockDifference(): string | null;
  /** Whether commits that the database's server answered can get lost with each of its settings. */
  unsafeSettings(): ReadonlyMap<string, boolean>;
}

/** The instances that share a database, and the work that this one does. */
export interface Members extends Leases, Sharing {
  /** Records this instance. Throws an error for the operator if another one works with other configuration files. */
  join(): Promise<void>;
  /** Resolves with the reason if this instance must not go on: it does not meet the conditions of a start any more. */
  readonly unfit: Promise<Error>;
  /** Takes note of a commit of this instance, of which the others hear. Returns at once. */
  noteCommitted(changes: readonly Change[]): void;
  /** Ends the connection, after `stop`. */
  close(): Promise<void>;
}

/** The parts that make the members. */
export interface MembersDeps {
  readonly shared: SharedDatabase;
  /** See `InstanceFacts`. */
  readonly configHashes: ReadonlyMap<string, string>;
  /** Default: a minute. */
  readonly returnPatienceMs?: number | undefined;
  /** True: nothing is signed while commits do not wait for a standby. */
  readonly requiresStandby?: boolean | undefined;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * Creates the members of a database.
 *
 * An instance is a row. Without its row it can commit nothing more, because each of its batches begins with that row. So another instance
 * takes over its work by deleting the row and freeing the leases, in one commit. No clock decides anything.
 */
export function createMembers(deps: MembersDeps): Members {
  const { shared, clock, timers, log } = deps;
  const closing = new AbortController();
  const listeners: ((news: News) => void)[] = [];
  const holdListeners: (() => void)[] = [];
  const watches = new Map<number, InstanceWatch>();
  /** Since when instances are gone that may have lost commits by a failover, by number. */
  const goneSinceMs = new Map<number, number>();
  const exclusively = createExclusively();
  const pause = createPause(timers);
  const databaseClock = createDatabaseClock(clock, log);
  const conditions = createConditionsWatch(deps.configHashes);
  const settings = createDurabilityWatch(deps.requiresStandby === true, log);
  /** The number of this instance, and its state, which it keeps if it joins again. */
  let me = 0;
  let myState: InstanceState = 'starting';
  let observer: Observer | null = null;
  let seen: readonly Member[] = [];
  let rewind: Rewind | null = null;
  /** See `Sharing.ownHold`, at the last look. */
  let heldBecause: string | null = null;
  /** What the listeners were called for last. */
  let explainedHold: string | null = null;
  /** What the last round failed with; null: it did not fail. */
  let failure: string | null = null;
  let isEnding = false;
  /** The connection was lost, and the conditions of the start were not checked since. */
  let isBack = false;
  /** Why this instance must end. */
  let unfitness: Error | null = null;
  let resolveUnfit: (error: Error) => void = () => undefined;
  const unfit = new Promise<Error>((resolve) => {
    resolveUnfit = resolve;
  });
  let rounds: Repeating | null = null;
  /** Those who wait for the end of the next round; `needsSuccess`: of the next one that does not fail. */
  let waiters: { readonly resolve: () => void; readonly needsSuccess: boolean }[] = [];

  const news = createNewsSender({ me: () => me, observer: () => observer, timers, closing: closing.signal });
  const shares = createLeaseShares({ leases: shared.leases, me: () => me, news, lookAgain, clock, log });

  shared.onReturn(() => {
    isBack = true;
    // What this instance could not tell, because it did not know whether its last commits were written.
    news.add(allNews);
    news.send();
  });

  function callListeners(heard: News): void {
    for (const listener of listeners) listener(heard);
  }

  /** Makes the next look come at once, which reads the leases. */
  function lookAgain(): void {
    shares.outdate();
    rounds?.wake();
  }

  async function connectObserver(): Promise<Observer> {
    const opened = await shared.openObserver(({ from, news: heard, hasLeases }) => {
      if (from === me) return;
      if (hasLeases) lookAgain();
      callListeners(heard);
    });
    // This instance may have missed notifications, and failed to send its own to the others.
    news.add(allNews);
    news.addLeases();
    shares.outdate();
    callListeners(allNews);
    return opened;
  }

  async function join(): Promise<void> {
    me = await shared.join(myState);
  }

  /** Of two instances that begin at the same time, at least the later one sees the other. */
  async function joinFirst(): Promise<void> {
    await join();
    try {
      observer = await connectObserver();
      seen = (await lookBy(observer)).members;
      const missing = settings.refusal();
      if (missing !== null) throw new Error(missing);
      await requireFilesOfOthers(observer);
      conditions.require(await observer.conditions(), []);
    } catch (error) {
      await observer?.close();
      throw error;
    }
  }

  /**
   * Throws if another instance works with other configuration files. One that hangs does not keep this one from starting: it is removed, as
   * members remove it.
   */
  async function requireFilesOfOthers(by: Observer): Promise<void> {
    const firstBeats = new Map<number, string | null>();
    const removing = new Map<number, InstanceWatch>();
    for (;;) {
      const others = seen.filter((member) => member.number !== me && !hasSameFiles(deps.configHashes, member));
      const concerned = others.filter(({ number, isConnected }) => isConnected || removing.has(number));
      if (concerned.length === 0) return;
      for (const member of concerned) {
        const { number, isConnected, beat, isBusy } = member;
        const first = firstBeats.get(number) ?? beat;
        firstBeats.set(number, first);
        if (isConnected && (isBusy || beat === null || beat !== first)) requireSameFiles(deps.configHashes, member);
        const watch = removing.get(number) ?? createInstanceWatch();
        removing.set(number, watch);
        const verdict = watch.look(isConnected ? member : null);
        if (verdict === 'end') await endSilent(by, member);
        if (verdict === 'remove') await removeGone(member);
      }
      await pause(lookEveryMs.withOthers);
      seen = (await lookBy(by)).members;
    }
  }

  /** Throws, and ends this instance, if it would not be allowed to start now. */
  async function requireConditions(by: Observer): Promise<void> {
    const found = await by.conditions();
    const { members } = await lookBy(by);
    const isRemoved = shared.isRemoved();
    // One that starts judges by this one, unless it has removed this one.
    const others = members.filter(
      ({ number, isConnected, shown }) => number !== me && isConnected && (isRemoved || shown.state !== 'starting'),
    );
    try {
      conditions.require(found, others);
    } catch (error) {
      unfitness = error as Error;
      log.error({ err: error }, 'this instance may not go on with the database');
      resolveUnfit(unfitness);
      throw error;
    }
    isBack = false;
  }

  async function setState(number: number, state: InstanceState): Promise<void> {
    await shared.setState(number, state);
    news.addLeases();
    news.send();
  }

  /**
   * Takes leases from now on, unless a caller has drained this instance while it started. Deletes the free leases of units that were
   * removed while no instance ran, or by one that ended at once; an instance that knows such a unit adds its lease again.
   */
  async function startSharing(): Promise<void> {
    await shared.startSharing(me, shares.units());
    news.addLeases();
    news.send();
  }

  async function round(): Promise<void> {
    if (unfitness !== null) throw unfitness;
    const isRemoved = shared.isRemoved();
    if (isRemoved) await shares.endTakenOver();
    if (isRemoved || isBack) {
      observer ??= await connectObserver();
      await requireConditions(observer);
    }
    if (isRemoved) {
      await join();
      watches.clear();
      shares.outdate();
    }
    if (myState === 'starting') await startSharing();
    observer ??= await connectObserver();
    await look(observer);
    news.send();
    const hold = ownHold();
    const sharing = seen.filter(({ shown }) => shown.state === 'sharing').map(({ number }) => number);
    await shares.round(hold === null ? sharing : null);
    if (hold !== null && hold !== explainedHold) for (const listener of holdListeners) listener();
    explainedHold = hold;
  }

  /** Looks, and takes note of the server's time and settings. */
  async function lookBy(by: Observer): Promise<Look> {
    const askedAtMs = clock.elapsedMs();
    const look = await by.look();
    databaseClock.note(look.timeMs, askedAtMs);
    settings.note(look.durability, look.members.length);
    noteRewind(look.rewind);
    return look;
  }

  /** Why no instance may sign; null: they may. */
  function holdOfAll(): string | null {
    return rewind === null && !shared.isRewound()
      ? settings.refusal()
      : 'the database lacks commits that it had answered; run relayer restore';
  }

  function ownHold(): string | null {
    return holdOfAll() ?? (databaseClock.isTooFar() ? clocksDiffer : null);
  }

  let watchedAtMs = Number.NEGATIVE_INFINITY;

  async function look(by: Observer): Promise<void> {
    const { members } = await lookBy(by);
    noteHold();
    if (statesOf(members) !== statesOf(seen)) {
      shares.outdate();
      shares.forgetLeftOver();
    }
    // New instances have received nothing from this instance yet.
    if (without(members, seen).length > 0) news.add(allNews);
    // One that is gone may not have sent its last notifications.
    if (without(seen, members).length > 0) callListeners(allNews);
    seen = members;
    myState = members.find(({ number }) => number === me)?.shown.state ?? myState;
    for (const number of watches.keys()) if (!members.some((member) => member.number === number)) watches.delete(number);
    for (const number of goneSinceMs.keys())
      if (!members.some((member) => member.number === number && !member.isConnected)) goneSinceMs.delete(number);
    // The watches count looks: one that was woken early says nothing more than the look before it.
    if (clock.elapsedMs() - watchedAtMs < leastBetweenWatchesMs) return;
    watchedAtMs = clock.elapsedMs();
    for (const member of members) {
      if (member.number === me) continue;
      const watch = watches.get(member.number) ?? createInstanceWatch();
      watches.set(member.number, watch);
      const verdict = watch.look(member.isConnected ? member : null);
      if (verdict === 'remove') await removeGone(member);
      if (verdict === 'end') await endSilent(by, member);
    }
  }

  function noteRewind(found: Rewind | null): void {
    if (found !== null && rewind === null)
      log.error({ ...found }, 'the database lacks commits that it had answered; signing stops until relayer restore was run');
    rewind = found;
  }

  /** The leases are given up when a hold begins, and taken again when it ends. */
  function noteHold(): void {
    const hold = ownHold();
    if (hold === heldBecause) return;
    if (hold === null) log.info({}, 'this instance signs again');
    else if (rewind === null) log.error({ reason: hold }, 'this instance signs nothing until that is corrected');
    heldBecause = hold;
    shares.outdate();
  }

  /** Returns what shows that commits of an instance that is gone may be lost; null: nothing does. */
  function lostBy({ number, shown, timeline, isSynchronous }: Member): string | null {
    const now = seen.find((member) => member.number === me)?.timeline ?? null;
    if (timeline === null || now === null || timeline >= now || isSynchronous) return null;
    return `instance ${number} (process ${shown.pid} on host ${shown.host}) did not return after the failover to timeline ${now}; its commits did not wait for a standby, so the last ones may be lost`;
  }

  async function endSilent(by: Observer, { shown, backend }: Member): Promise<void> {
    if (backend === null) return;
    log.warn({ usedByPid: shown.pid, usedByHost: shown.host }, 'another instance stopped responding; terminating its database connection');
    await by.end(backend);
  }

  async function removeGone(member: Member): Promise<void> {
    const { number, shown, backend } = member;
    if (backend === null) return;
    const lost = lostBy(member);
    if (lost !== null) {
      const sinceMs = goneSinceMs.get(number) ?? clock.elapsedMs();
      goneSinceMs.set(number, sinceMs);
      if (clock.elapsedMs() - sinceMs < (deps.returnPatienceMs ?? returnPatienceMs)) return;
    }
    try {
      await shared.remove(number, backend, lost);
    } catch (error) {
      // Another instance was faster, or it is back.
      if (error instanceof ConflictError) return;
      throw error;
    }
    log.warn({ usedByPid: shown.pid, usedByHost: shown.host }, 'another instance is gone; taking over its work');
    shares.outdate();
    news.addLeases();
  }

  async function fail(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    // The link reports a lost connection.
    if (message !== failure && !(error instanceof StoreAwayError))
      log.warn({ err: error }, 'cannot read the state of the other instances; retrying');
    failure = message;
    for (const watch of watches.values()) watch.forget();
    shares.outdate();
    await observer?.close();
    observer = null;
  }

  async function runRound(): Promise<void> {
    const waiting = waiters;
    waiters = [];
    try {
      await exclusively(round);
      failure = null;
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { resolve, needsSuccess } of waiting) if (!needsSuccess) resolve();
      waiters.unshift(...waiting.filter(({ needsSuccess }) => needsSuccess));
      await fail(error);
    }
  }

  function nextRoundInMs(): number {
    return failure === null && seen.length === 1 ? lookEveryMs.alone : lookEveryMs.withOthers;
  }

  /** Resolves after the next round, also if it fails: a caller must not wait until the other instances can be seen again. */
  function nextRound(needsSuccess = false): Promise<void> {
    lookAgain();
    return new Promise((resolve) => {
      if (isEnding) resolve();
      else waiters.push({ resolve, needsSuccess });
    });
  }

  return {
    join: joinFirst,
    async start() {
      const onError = (error: unknown) => log.warn({ err: error }, 'cannot read the state of the other instances; retrying');
      rounds = repeat(runRound, nextRoundInMs, { onError, timers });
      await nextRound(true);
    },
    async add(kind, added) {
      shares.add(kind, added);
      if (rounds !== null) await nextRound();
    },
    note: shares.note,
    remove: (kind, key) => exclusively(() => shares.remove(kind, key)),
    async stop() {
      isEnding = true;
      await rounds?.stop();
      for (const { resolve } of waiters) resolve();
      // No instance counts on this one any more.
      await setState(me, 'draining').catch(() => undefined);
      await shares.giveAll();
    },
    ownId: () => String(me),
    instances: () => seen.map(({ number, shown }) => ({ ...shown, lanes: shares.heldBy(number).get('lane') ?? 0 })),
    count: () => seen.length,
    held: () => shares.heldBy(me),
    unheld: shares.unheld,
    async drain(id) {
      const member = seen.find(({ number }) => String(number) === id);
      if (member === undefined) return false;
      try {
        await setState(member.number, 'draining');
      } catch (error) {
        // It has just left.
        if (error instanceof ConflictError) return false;
        throw error;
      }
      await nextRound();
      return true;
    },
    noteCommitted(changes) {
      // There is no other instance.
      if (seen.length < 2) return;
      news.add(shared.newsOf(changes));
      news.send();
    },
    onHold: (listener) => void holdListeners.push(listener),
    onNews: (listener) => void listeners.push(listener),
    rewind: () => rewind,
    unfit,
    timeMs: databaseClock.timeMs,
    // While another instance shares, it may sign: only this one's clock is wrong.
    hold: () => (seen.some(({ number, shown }) => number !== me && shown.state === 'sharing') ? holdOfAll() : ownHold()),
    ownHold,
    clockSkewMs: databaseClock.skewMs,
    clockDifference: databaseClock.difference,
    unsafeSettings: settings.unsafe,
    async close() {
      closing.abort();
      await observer?.close();
    },
  };
}

/** The first members that are not among the second. */
function without(members: readonly Member[], others: readonly Member[]): readonly Member[] {
  return members.filter(({ number }) => !others.some((other) => other.number === number));
}

function statesOf(members: readonly Member[]): string {
  return members.map(({ number, shown }) => `${number} ${shown.state}`).join();
}

/**
 * Returns the same store, which tells the other instances of each commit, and takes no signed attempt during a hold: the database may lack
 * commits, of which one may have been the same payment.
 */
export function telling<S extends Pick<StoreFor<unknown>, 'commit'>>(
  store: S,
  { noteCommitted, ownHold }: Pick<Members, 'noteCommitted' | 'ownHold'>,
): S {
  return {
    ...store,
    async commit(changes) {
      const hold = changes.some(({ name }) => name === 'insertAttempt') ? ownHold() : null;
      if (hold !== null) throw new StoreAwayError(`nothing is signed now: ${hold}`);
      await store.commit(changes);
      noteCommitted(changes);
    },
  };
}
