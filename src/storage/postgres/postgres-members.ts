import { createExclusively } from '../../core/exclusively.js';
import type { DurationClock } from '../../core/ports/clock.js';
import type { InstanceState, Instances } from '../../core/ports/instances.js';
import { type LeaseKind, type Leases, leaseKinds, type Work } from '../../core/ports/leases.js';
import type { Log } from '../../core/ports/log.js';
import { allNews, type News } from '../../core/ports/news.js';
import { type Change, ConflictError, type Store, StoreAwayError } from '../../core/ports/store.js';
import type { Pause } from '../../core/repeat.js';
import { BoundChange, guarded, step } from '../bound-change.js';
import type { Database, OwnRecord } from '../database.js';
import type { Statements } from '../statements/all-statements.js';
import type { OwnConnection } from '../statements/instances.js';
import { asStoreAway } from '../store-away.js';
import { createInstanceWatch, type InstanceWatch } from './instance-watch.js';
import { createNewsBag, readMessage } from './news-channel.js';
import { type MemberRow, runningFrom } from './postgres-instances.js';
import type { Observer, OpenObserver } from './postgres-observer.js';
import { shareOf } from './share-out.js';

const lookEveryMs = 250;
/** Leases are read when a notification says that they have changed, and this often anyway. */
const readLeasesEveryMs = 5_000;
/**
 * A lease that was free for this long although every instance could take its share is taken by any instance: the one whose share it is may lack the
 * signer of the lane, or not see the leases.
 */
const leftOverAfterMs = 10_000;
/** Changes that come closer to one another than this are sent together. */
const messageGapMs = 10;

/** The instances that share a database, and the work that this one does. */
export interface Members extends Leases, Instances {
  /** Records this instance. Throws an error for the operator if another one has other configuration files. */
  join(): Promise<void>;
  /** The number of instances. Costs nothing, unlike the list. */
  count(): number;
  /** The number of leases that no instance holds, by kind, as they were read last. */
  unheld(): ReadonlyMap<LeaseKind, number>;
  /** Takes note of a commit of this instance, of which the others hear. Returns at once. */
  noteCommitted(changes: readonly Change[]): void;
  /** Calls `listener` when another instance may have changed something. */
  onNews(listener: (news: News) => void): void;
  /** Ends the connection, after `stop`. */
  close(): Promise<void>;
}

/** The parts that make the members. */
export interface MembersDeps {
  readonly openObserver: OpenObserver;
  readonly statements: Pick<Statements, 'instances' | 'leases'>;
  readonly database: Pick<Database, 'own' | 'isRemoved' | 'query' | 'onReturn'>;
  /** Makes the record with which this instance joins in a state: a new one each time. */
  readonly join: (state: InstanceState, connection: OwnConnection | null) => OwnRecord;
  /** See `InstanceFacts`. */
  readonly configHashes: ReadonlyMap<string, string>;
  commit(changes: readonly Change[]): Promise<void>;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
  readonly pause: Pause;
  readonly log: Log;
}

/** A unit that this instance can work on. */
interface Unit {
  readonly work: Work;
  /** The work has begun, or begins. */
  begun: Promise<void> | null;
  /** The work ends, and then its lease is given up. */
  isGiven: boolean;
  /** The note of the work that runs here. */
  note: string | null;
  /** The note that the work was called with last, or left itself. */
  noted: string | null;
  /** When the lease was first read as free; null: another read has shown it held since. */
  freeSinceMs: number | null;
  /** No instance took the lease as part of its share, so this one keeps it beyond its own until the instances change. */
  isLeftOver: boolean;
}

/**
 * Creates the members of a database.
 *
 * An instance is a row. Without its row it can commit nothing more, because each of its batches begins with that row. So another instance takes over its work by
 * deleting the row and freeing the leases, in one commit. An instance that gives up a lease ends the work first. No clock decides anything.
 */
export function createMembers(deps: MembersDeps): Members {
  const { database, commit, clock, pause, log } = deps;
  const { instances, leases } = deps.statements;
  const ending = new AbortController();
  const closing = new AbortController();
  const units = new Map<LeaseKind, Map<string, Unit>>(leaseKinds.map((kind) => [kind, new Map()]));
  const listeners: ((news: News) => void)[] = [];
  const watches = new Map<number, InstanceWatch>();
  const bag = createNewsBag();
  const exclusively = createExclusively();
  /** The number of this instance, and its state, which it keeps if it joins again. */
  let me = 0;
  let myState: InstanceState = 'starting';
  let observer: Observer | null = null;
  let seen: readonly MemberRow[] = [];
  let held: ReadonlyMap<LeaseKind, ReadonlyMap<string, number | null>> = new Map();
  /** The notes of the leases, by kind and key. */
  let notes: ReadonlyMap<LeaseKind, ReadonlyMap<string, string>> = new Map();
  let isOutdated = true;
  let readAtMs = 0;
  let logged = '';
  let isTelling = false;
  let isStarted = false;
  let running: Promise<void> | undefined;
  let endPause = (): void => undefined;
  /** Those who wait for the end of the next round; `needsSuccess`: of the next one that does not fail. */
  let waiters: { readonly resolve: () => void; readonly needsSuccess: boolean }[] = [];

  database.onReturn(() => {
    // What this instance could not tell, because it did not know whether its last commits were written.
    bag.addAll();
    tell();
  });

  function callListeners(news: News): void {
    for (const listener of listeners) listener(news);
  }

  /** Makes the next look come at once, which reads the leases. */
  function lookAgain(): void {
    isOutdated = true;
    endPause();
  }

  async function connectObserver(): Promise<Observer> {
    const opened = await deps.openObserver((payload) => {
      const { from, news, hasLeases } = readMessage(payload);
      if (from === me) return;
      if (hasLeases) lookAgain();
      callListeners(news);
    });
    // Notifications may have been missed, here and by those that this instance could not tell.
    bag.addAll();
    bag.addLeases();
    isOutdated = true;
    callListeners(allNews);
    return opened;
  }

  /** Tells the others what was gathered. One message at a time: what changes meanwhile comes with the next one. */
  function tell(): void {
    if (isTelling || observer === null || closing.signal.aborted) return;
    const text = bag.take(me);
    if (text === null) return;
    isTelling = true;
    observer
      .tell(text)
      // The next round sends everything, if need be on another connection.
      .catch(() => bag.addAll())
      .then(() => pause(messageGapMs, closing.signal))
      .finally(() => {
        isTelling = false;
        tell();
      });
  }

  async function join(): Promise<void> {
    me = (await database.own((connection) => deps.join(myState, connection))).number;
  }

  /** Of two instances that begin at the same time, at least the later one sees the other. */
  async function joinFirst(): Promise<void> {
    await join();
    try {
      observer = await connectObserver();
      seen = await observer.look();
      for (const member of seen) if (member.isConnected) requireSameFiles(deps.configHashes, member);
    } catch (error) {
      await observer?.close();
      throw asStoreAway(error);
    }
  }

  async function setState(number: number, state: InstanceState): Promise<void> {
    await commit([new BoundChange('setInstanceState', [guarded(instances.setState, { number, state })])]);
    bag.addLeases();
    tell();
  }

  /**
   * Takes leases from now on, unless a caller has drained this instance while it started. Deletes the free leases of units that were removed while no instance
   * ran, or by one that ended at once; an instance that knows such a unit adds its lease again.
   */
  async function startSharing(): Promise<void> {
    const drops = [...units].map(([kind, own]) => step(leases.dropOthers, { kind, keys: JSON.stringify([...own.keys()]) }));
    await commit([new BoundChange('startSharing', [...drops, step(instances.startSharing, { number: me })])]);
    bag.addLeases();
    tell();
  }

  /** The number of leases of this holder, by kind, as they were read last. */
  function leasesOf(holder: number): ReadonlyMap<LeaseKind, number> {
    return new Map([...held].map(([kind, all]) => [kind, [...all.values()].filter((one) => one === holder).length]));
  }

  async function endAll(): Promise<void> {
    await Promise.all([...units.values()].flatMap((all) => [...all.values()].map(endWork)));
  }

  /** Ends the work on all units of a kind, then gives up their leases. */
  async function giveAll(kind: LeaseKind, own: ReadonlyMap<string, Unit>): Promise<void> {
    await Promise.all([...own.values()].map(endWork));
    const given = { kind, keys: JSON.stringify([...own.keys()]), holder: me };
    await commit([new BoundChange('giveLeases', [step(leases.give, given)])]).catch((error: unknown) =>
      log.warn({ kind, err: error }, 'the leases could not be given up; the other instances take them when this one is gone'),
    );
    bag.addLeases();
    tell();
  }

  async function round(): Promise<void> {
    if (database.isRemoved()) {
      await endAll();
      await join();
      watches.clear();
      isOutdated = true;
    }
    if (myState === 'starting') await startSharing();
    observer ??= await connectObserver();
    await look(observer);
    tell();
    if (!isOutdated && clock.elapsedMs() - readAtMs < readLeasesEveryMs) return;
    isOutdated = false;
    await readLeases();
    await shareOut();
    await exchangeNotes();
    tell();
  }

  async function look(by: Observer): Promise<void> {
    const members = await by.look();
    if (statesOf(members) !== statesOf(seen)) {
      isOutdated = true;
      for (const own of units.values()) for (const unit of own.values()) unit.isLeftOver = false;
    }
    // Until now, those that are new have heard nothing from this instance.
    if (without(members, seen).length > 0) bag.addAll();
    // One that is gone may not have sent its last notifications.
    if (without(seen, members).length > 0) callListeners(allNews);
    seen = members;
    myState = members.find(({ number }) => number === me)?.state ?? myState;
    for (const number of watches.keys()) if (!members.some((member) => member.number === number)) watches.delete(number);
    for (const member of members) {
      if (member.number === me) continue;
      const watch = watches.get(member.number) ?? createInstanceWatch();
      watches.set(member.number, watch);
      const verdict = watch.look(member.isConnected ? member : null);
      if (verdict === 'remove') await removeGone(member);
      if (verdict === 'end') await endSilent(by, member);
    }
  }

  async function endSilent(by: Observer, { host, pid, backend_pid, backend_started }: MemberRow): Promise<void> {
    if (backend_pid === null || backend_started === null) return;
    log.warn({ usedByPid: pid, usedByHost: host }, 'another instance is silent; ending its connection');
    await by.end({ pid: backend_pid, started: backend_started });
  }

  async function removeGone({ number, host, pid, backend_pid, backend_started }: MemberRow): Promise<void> {
    if (backend_pid === null || backend_started === null) return;
    try {
      await commit([
        new BoundChange('removeInstance', [
          guarded(instances.removeGone, { number, backend_pid, backend_started }),
          step(leases.giveAll, { holder: number }),
        ]),
      ]);
    } catch (error) {
      // Another instance was faster, or it is back.
      if (error instanceof ConflictError) return;
      throw error;
    }
    log.warn({ usedByPid: pid, usedByHost: host }, 'another instance is gone; taking over its work');
    isOutdated = true;
    bag.addLeases();
  }

  async function readLeases(): Promise<void> {
    const rows = await database.query(leases.all, {});
    const all = new Map<LeaseKind, Map<string, number | null>>([...units.keys()].map((kind) => [kind, new Map()]));
    const noted = new Map<LeaseKind, Map<string, string>>([...units.keys()].map((kind) => [kind, new Map()]));
    for (const { kind, key, holder, note } of rows) {
      all.get(kind)?.set(key, holder);
      if (note !== null) noted.get(kind)?.set(key, note);
    }
    held = all;
    notes = noted;
    readAtMs = clock.elapsedMs();
    for (const [kind, own] of units)
      for (const [key, unit] of own) {
        const holder = all.get(kind)?.get(key);
        unit.freeSinceMs = holder === null ? (unit.freeSinceMs ?? readAtMs) : null;
        if (holder !== null && holder !== me) unit.isLeftOver = false;
      }
  }

  /** Begins the work whose leases this instance has, gives up what is more than its share, and takes what it lacks, and what no instance takes. */
  async function shareOut(): Promise<void> {
    const members = seen.filter(({ state }) => state === 'sharing').map(({ number }) => number);
    const isSharing = members.includes(me);
    let hasTaken = false;
    for (const [kind, own] of units) {
      const holders = held.get(kind) ?? new Map<string, number | null>();
      const missing = [...own.keys()].filter((key) => !holders.has(key));
      const mine = [...own].filter(([key]) => holders.get(key) === me);
      // The leases were read before they were given up, or a server that lacks the last commits has taken over.
      for (const [key, unit] of own) if (unit.begun !== null && !unit.isGiven && holders.get(key) !== me) void give(kind, key, unit);
      // What is missing is about to be added.
      const shares = { members, holders: new Map([...holders, ...missing.map((key) => [key, null] as const)]) };
      // If no instance can take them, they stay.
      const share = members.length === 0 ? mine.length : shareOf(me, shares);
      const kept = mine.filter(([, { isGiven }]) => !isGiven);
      const isLeftOver = ([, unit]: readonly [string, Unit]) => isSharing && unit.isLeftOver;
      // Beside its share, so that the others stay where they are.
      const leftOver = kept.filter(isLeftOver);
      const ofMyShare = kept.filter((one) => !isLeftOver(one));
      // Not waited for: a call to a node or a receiver may take seconds, and the other instances must be watched meanwhile.
      for (const [key, unit] of ofMyShare.splice(share)) void give(kind, key, unit);
      await Promise.all([...ofMyShare, ...leftOver].map(([key, unit]) => beginWork(kind, key, unit)));
      const allFree = [...own].filter(([key]) => shares.holders.get(key) === null);
      const ofShare = allFree.splice(0, Math.max(0, share - mine.length));
      const ofNobody = isSharing ? allFree.filter(([, { freeSinceMs }]) => readAtMs - (freeSinceMs ?? readAtMs) >= leftOverAfterMs) : [];
      for (const [, unit] of ofNobody) unit.isLeftOver = true;
      const free = [...ofShare, ...ofNobody].map(([key]) => key);
      if (missing.length > 0 || free.length > 0) {
        await take(kind, missing, free);
        hasTaken = true;
      }
    }
    if (!hasTaken) return;
    bag.addLeases();
    await readLeases();
    await beginHeld();
    // Another instance may have been faster.
    isOutdated = true;
  }

  /** Stores the notes of the work that runs here, and passes on those of the other instances. */
  async function exchangeNotes(): Promise<void> {
    for (const [kind, own] of units)
      for (const [key, unit] of own) {
        const stored = notes.get(kind)?.get(key) ?? null;
        if (unit.begun === null) showNote(unit, stored);
        else if (stored !== unit.note && held.get(kind)?.get(key) === me) await storeNote(kind, key, unit.note);
      }
  }

  async function storeNote(kind: LeaseKind, key: string, note: string | null): Promise<void> {
    await commit([new BoundChange('noteLease', [step(leases.setNote, { kind, key, holder: me, note })])]);
    bag.addLeases();
    isOutdated = true;
  }

  function showNote(unit: Unit, note: string | null): void {
    if (unit.noted === note) return;
    unit.noted = note;
    unit.work.noted?.(note);
  }

  async function beginHeld(): Promise<void> {
    for (const [kind, own] of units)
      await Promise.all([...own].filter(([key]) => held.get(kind)?.get(key) === me).map(([key, unit]) => beginWork(kind, key, unit)));
  }

  async function take(kind: LeaseKind, missing: readonly string[], free: readonly string[]): Promise<void> {
    await commit([
      new BoundChange('takeLeases', [
        ...(missing.length === 0 ? [] : [step(leases.insertMissing, { kind, keys: JSON.stringify(missing) })]),
        step(leases.take, { kind, keys: JSON.stringify(free), holder: me }),
      ]),
    ]);
  }

  /** Ends the work on a unit, then gives up its lease. */
  async function give(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    unit.isGiven = true;
    const holder = me;
    try {
      await endWork(unit);
      await commit([new BoundChange('giveLease', [step(leases.give, { kind, keys: JSON.stringify([key]), holder })])]);
    } catch (error) {
      // The next look begins the work again, or gives the lease up.
      log.warn({ kind, key, err: error }, 'a lease could not be given up; retrying');
    }
    unit.isGiven = false;
    bag.addLeases();
    tell();
    lookAgain();
  }

  async function beginWork(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    if (unit.begun !== null || unit.isGiven) return;
    showNote(unit, null);
    unit.begun = unit.work.begin();
    try {
      await unit.begun;
    } catch (error) {
      log.warn({ kind, key, err: error }, 'the work of a lease could not begin; retrying');
      await endWork(unit);
      isOutdated = true;
    }
  }

  async function endWork(unit: Unit): Promise<void> {
    const { begun } = unit;
    if (begun === null) return;
    await begun.catch(() => undefined);
    await unit.work.end();
    unit.begun = null;
    unit.note = null;
  }

  async function fail(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    // The link reports a lost connection.
    if (message !== logged && !(error instanceof StoreAwayError)) log.warn({ err: error }, 'the other instances cannot be seen; retrying');
    logged = message;
    for (const watch of watches.values()) watch.forget();
    isOutdated = true;
    await observer?.close();
    observer = null;
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      const waiting = waiters;
      waiters = [];
      try {
        await exclusively(round);
        logged = '';
        for (const { resolve } of waiting) resolve();
      } catch (error) {
        for (const { resolve, needsSuccess } of waiting) if (!needsSuccess) resolve();
        waiters.unshift(...waiting.filter(({ needsSuccess }) => needsSuccess));
        await fail(error);
      }
      if (waiters.length > 0 && logged === '') continue;
      const pausing = new AbortController();
      endPause = () => pausing.abort();
      await pause(lookEveryMs, AbortSignal.any([pausing.signal, ending.signal]));
      endPause = () => undefined;
    }
    for (const { resolve } of waiters) resolve();
  }

  /** Resolves after the next round, also if it fails: a caller must not wait until the other instances can be seen again. */
  function nextRound(needsSuccess = false): Promise<void> {
    lookAgain();
    return new Promise((resolve) => {
      if (ending.signal.aborted) resolve();
      else waiters.push({ resolve, needsSuccess });
    });
  }

  return {
    join: joinFirst,
    async start() {
      isStarted = true;
      running = run();
      await nextRound(true);
    },
    async add(kind, added) {
      for (const [key, work] of added)
        units.get(kind)?.set(key, { work, begun: null, isGiven: false, note: null, noted: null, freeSinceMs: null, isLeftOver: false });
      if (isStarted) await nextRound();
    },
    note(kind, key, note) {
      const unit = units.get(kind)?.get(key);
      if (unit === undefined) return;
      unit.note = note;
      unit.noted = note;
      lookAgain();
    },
    remove: (kind, key) =>
      exclusively(async () => {
        const unit = units.get(kind)?.get(key);
        units.get(kind)?.delete(key);
        if (unit !== undefined) await endWork(unit);
        await commit([new BoundChange('removeLease', [step(leases.remove, { kind, key, holder: me })])]);
        bag.addLeases();
        tell();
      }),
    async stop() {
      ending.abort();
      endPause();
      await running;
      // No instance counts on this one any more.
      await setState(me, 'draining').catch(() => undefined);
      await Promise.all([...units].map(([kind, own]) => giveAll(kind, own)));
    },
    ownId: () => String(me),
    instances: () => seen.map((member) => runningFrom(member, leasesOf(member.number).get('lane') ?? 0)),
    count: () => seen.length,
    held: () => leasesOf(me),
    // Leases of units that no longer exist, such as a relayer that was removed from the file, have no holder and need none.
    unheld: () => new Map([...units].map(([kind, own]) => [kind, [...own.keys()].filter((key) => !held.get(kind)?.get(key)).length])),
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
      bag.addChanges(changes);
      tell();
    },
    onNews: (listener) => void listeners.push(listener),
    async close() {
      closing.abort();
      await observer?.close();
    },
  };
}

/** Throws if an instance has other configuration files: callers would get other answers from it, and its lanes other policies. */
function requireSameFiles(own: ReadonlyMap<string, string>, { config_hashes, number, pid, host }: MemberRow): void {
  const others = new Map(Object.entries<string>(JSON.parse(config_hashes ?? '{}')));
  const differing = [...new Set([...own.keys(), ...others.keys()])].filter((name) => own.get(name) !== others.get(name));
  if (differing.length === 0) return;
  throw new Error(
    `instance ${number} (process ${pid} on host ${host}) uses the same database with other configuration files; these differ: ${differing.join(', ')}; give all instances the same files and the same STORAGE_ENCRYPTION_KEY, or stop all of them before you change the configuration`,
  );
}

/** The first members that are not among the second. */
function without(members: readonly MemberRow[], others: readonly MemberRow[]): readonly MemberRow[] {
  return members.filter(({ number }) => !others.some((other) => other.number === number));
}

function statesOf(members: readonly MemberRow[]): string {
  return members.map(({ number, state }) => `${number} ${state}`).join();
}

/** Returns the same store, which tells the other instances of each commit. */
export function telling(store: Store, { noteCommitted }: Pick<Members, 'noteCommitted'>): Store {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      noteCommitted(changes);
    },
  };
}
