import { type LeaseKind, leaseKinds, type Work } from '../../core/ports/leases.js';
import type { StoredLeases } from '../../core/ports/shared-database.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { NewsSender } from './news-sender.js';
import { shareOf } from './share-out.js';

/**
 * Leases are read when a notification says that they have changed. This often they are looked at anyway, and read if they have changed or
 * one is free.
 */
const lookAtLeasesEveryMs = 5_000;
/**
 * Any instance takes a lease that was free for this long, although every instance could take its share: the instance that the lease falls
 * to may lack the signer of the lane, or not see the leases.
 */
const leftOverAfterMs = 10_000;

/** The units that this instance can work on, and its share of their leases. */
export interface LeaseShares {
  /** Adds units, which the next round shares out. */
  add(kind: LeaseKind, added: ReadonlyMap<string, Work>): void;
  /** See `Leases.note`. */
  note(kind: LeaseKind, key: string, note: string | null): void;
  /** See `Leases.remove`. Must not run during a round. */
  remove(kind: LeaseKind, key: string): Promise<void>;
  /** The keys of the units. */
  units(): ReadonlyMap<LeaseKind, readonly string[]>;
  /** Makes the next round read the leases. */
  outdate(): void;
  /** Leases that no instance took are shared again: the instances have changed. */
  forgetLeftOver(): void;
  /** Shares the leases out among these instances, if they are to be read. Null: no instance may hold any. */
  round(members: readonly number[] | null): Promise<void>;
  /** Ends all work, which other instances have taken over. */
  endTakenOver(): Promise<void>;
  /** Ends all work, then gives up its leases. */
  giveAll(): Promise<void>;
  /** The number of leases of this holder, by kind, as they were read last. */
  heldBy(holder: number): ReadonlyMap<LeaseKind, number>;
  /** The number of leases of these units that no instance holds, by kind, as they were read last. */
  unheld(): ReadonlyMap<LeaseKind, number>;
}

/** The parts that make the shares. */
export interface LeaseSharesDeps {
  readonly leases: StoredLeases;
  /** The number of this instance. */
  me(): number;
  readonly news: Pick<NewsSender, 'addLeases' | 'send'>;
  /** Makes the next round come at once, which reads the leases. */
  lookAgain(): void;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
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

/** Creates the shares of an instance, which has no units yet. An instance that gives up a lease ends the work first. */
export function createLeaseShares(deps: LeaseSharesDeps): LeaseShares {
  const { leases, me, news, lookAgain, clock, log } = deps;
  const units = new Map<LeaseKind, Map<string, Unit>>(leaseKinds.map((kind) => [kind, new Map()]));
  let held: ReadonlyMap<LeaseKind, Map<string, number | null>> = new Map();
  /** The notes of the leases, by kind and key. */
  let notes: ReadonlyMap<LeaseKind, ReadonlyMap<string, string>> = new Map();
  let isOutdated = true;
  /** How many leases were given up so far. */
  let givenUp = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let readAtMs = 0;
  /** The leases as they were when they were looked at last. */
  let digest = '';
  /** A unit has no lease yet, or its lease has no holder. */
  let hasFree = true;

  async function round(members: readonly number[] | null): Promise<void> {
    if (!isOutdated && clock.elapsedMs() - lookedAtMs < lookAtLeasesEveryMs) return;
    const before = digest;
    // Is read first, so that the next look finds what changes meanwhile.
    digest = await leases.digest();
    lookedAtMs = clock.elapsedMs();
    if (!isOutdated && !hasFree && digest === before) return;
    isOutdated = false;
    await readLeases();
    await shareOut(members);
    await exchangeNotes();
    news.send();
  }

  async function readLeases(): Promise<void> {
    const before = givenUp;
    const rows = await leases.all();
    // The read may show a lease as held here that this instance released meanwhile. Its work would run here and at the next holder.
    if (before !== givenUp) return readLeases();
    const all = new Map<LeaseKind, Map<string, number | null>>([...units.keys()].map((kind) => [kind, new Map()]));
    const noted = new Map<LeaseKind, Map<string, string>>([...units.keys()].map((kind) => [kind, new Map()]));
    for (const { kind, key, holder, note } of rows) {
      all.get(kind)?.set(key, holder);
      if (note !== null) noted.get(kind)?.set(key, note);
    }
    held = all;
    notes = noted;
    readAtMs = clock.elapsedMs();
    hasFree = false;
    for (const [kind, own] of units)
      for (const [key, unit] of own) {
        const holder = all.get(kind)?.get(key);
        hasFree ||= holder == null;
        unit.freeSinceMs = holder === null ? (unit.freeSinceMs ?? readAtMs) : null;
        if (holder !== null && holder !== me()) unit.isLeftOver = false;
      }
  }

  /**
   * Begins the work whose leases this instance has, gives up what is more than its share, and takes what it lacks, and what no instance
   * takes.
   */
  async function shareOut(among: readonly number[] | null): Promise<void> {
    const members = among ?? [];
    const isSharing = members.includes(me());
    let hasTaken = false;
    for (const [kind, own] of units) {
      const holders = held.get(kind) ?? new Map<string, number | null>();
      const missing = [...own.keys()].filter((key) => !holders.has(key));
      const mine = [...own].filter(([key]) => holders.get(key) === me());
      // The leases were read before they were given up, or a server that lacks the last commits has taken over.
      for (const [key, unit] of own) if (unit.begun !== null && !unit.isGiven && holders.get(key) !== me()) void give(kind, key, unit);
      // What is missing is about to be added.
      const shares = { members, holders: new Map([...holders, ...missing.map((key) => [key, null] as const)]) };
      // If no instance can take them, they stay.
      const share = among === null ? 0 : members.length === 0 ? mine.length : shareOf(me(), shares);
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
        await leases.take(me(), kind, { missing, free });
        hasTaken = true;
      }
    }
    if (!hasTaken) return;
    news.addLeases();
    await readLeases();
    await beginHeld();
    // Another instance may have been faster.
    isOutdated = true;
  }

  async function beginHeld(): Promise<void> {
    for (const [kind, own] of units)
      await Promise.all([...own].filter(([key]) => held.get(kind)?.get(key) === me()).map(([key, unit]) => beginWork(kind, key, unit)));
  }

  async function beginWork(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    if (unit.begun !== null || unit.isGiven) return;
    showNote(unit, null);
    unit.begun = unit.work.begin();
    try {
      await unit.begun;
    } catch (error) {
      log.warn({ kind, key, err: error }, 'cannot start the work of a lease; retrying');
      await endWork(unit);
      isOutdated = true;
    }
  }

  async function endWork(unit: Unit, isTakenOver = false): Promise<void> {
    const { begun } = unit;
    if (begun === null) return;
    await begun.catch(() => undefined);
    await unit.work.end(isTakenOver);
    unit.begun = null;
    unit.note = null;
  }

  /** Ends the work on a unit, then gives up its lease. */
  async function give(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    unit.isGiven = true;
    const holder = me();
    let isReleased = false;
    try {
      await endWork(unit);
      await leases.give(holder, kind, [key]);
      isReleased = true;
    } catch (error) {
      // The next look begins the work again, or gives the lease up.
      log.warn({ kind, key, err: error }, 'cannot release a lease; retrying');
    }
    givenUp += 1;
    if (held.get(kind)?.get(key) === holder) held.get(kind)?.set(key, null);
    unit.isGiven = false;
    news.addLeases();
    news.send();
    // At once, what has just failed would fail again: the next regular look tries it.
    if (isReleased) lookAgain();
    else isOutdated = true;
  }

  /** Ends the work on all units of a kind, then gives up their leases. */
  async function giveKind(kind: LeaseKind, own: ReadonlyMap<string, Unit>): Promise<void> {
    await Promise.all([...own.values()].map((unit) => endWork(unit)));
    await leases
      .give(me(), kind, [...own.keys()])
      .catch((error: unknown) =>
        log.warn({ kind, err: error }, 'cannot release the leases; the other instances take them after this one is gone'),
      );
    news.addLeases();
    news.send();
  }

  /** Stores the notes of the work that runs here, and passes on those of the other instances. */
  async function exchangeNotes(): Promise<void> {
    for (const [kind, own] of units)
      for (const [key, unit] of own) {
        const stored = notes.get(kind)?.get(key) ?? null;
        if (unit.begun === null) showNote(unit, stored);
        else if (stored !== unit.note && held.get(kind)?.get(key) === me()) await storeNote(kind, key, unit.note);
      }
  }

  async function storeNote(kind: LeaseKind, key: string, note: string | null): Promise<void> {
    await leases.note(me(), kind, key, note);
    news.addLeases();
    isOutdated = true;
  }

  function showNote(unit: Unit, note: string | null): void {
    if (unit.noted === note) return;
    unit.noted = note;
    unit.work.noted?.(note);
  }

  return {
    add(kind, added) {
      for (const [key, work] of added)
        units.get(kind)?.set(key, { work, begun: null, isGiven: false, note: null, noted: null, freeSinceMs: null, isLeftOver: false });
    },
    note(kind, key, note) {
      const unit = units.get(kind)?.get(key);
      if (unit === undefined) return;
      unit.note = note;
      unit.noted = note;
      lookAgain();
    },
    async remove(kind, key) {
      const unit = units.get(kind)?.get(key);
      units.get(kind)?.delete(key);
      if (unit !== undefined) await endWork(unit);
      await leases.remove(me(), kind, key);
      news.addLeases();
      news.send();
    },
    units: () => new Map([...units].map(([kind, own]) => [kind, [...own.keys()]])),
    outdate() {
      isOutdated = true;
    },
    forgetLeftOver() {
      for (const own of units.values()) for (const unit of own.values()) unit.isLeftOver = false;
    },
    round,
    async endTakenOver() {
      await Promise.all([...units.values()].flatMap((own) => [...own.values()].map((unit) => endWork(unit, true))));
    },
    async giveAll() {
      await Promise.all([...units].map(([kind, own]) => giveKind(kind, own)));
    },
    heldBy: (holder) => new Map([...held].map(([kind, all]) => [kind, [...all.values()].filter((one) => one === holder).length])),
    // Leases of units that no longer exist, such as a relayer that was removed from the file, have no holder and need none.
    unheld: () => new Map([...units].map(([kind, own]) => [kind, [...own.keys()].filter((key) => !held.get(kind)?.get(key)).length])),
  };
}
