import { type LeaseKind, leaseKinds, type Work } from '../../core/ports/leases.js';
import type { StoredLeases } from '../../core/ports/shared-database.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createLeaseView, type LeaseView } from './lease-view.js';
import type { NewsSender } from './news-sender.js';
import { shareOf } from './share-out.js';
import type { Unit } from './unit.js';
import { createUnits, type Units, visitUnits } from './units.js';

/**
 * Any instance takes a lease that was free for this long, although every instance could take its share: the instance that the lease falls
 * to may lack the signer of the lane, or not see the leases.
 */
const leftOverAfterMs = 10_000;

/** The leases that are taken in one commit. */
const leasesPerCommit = 5_000;

/** The units that this instance can work on, and its share of their leases. */
export interface LeaseShares {
  /** Adds units as `Units.add` does. The next round shares them out. */
  add(kind: LeaseKind, added: ReadonlyMap<string, Work>): Promise<void>;
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

/** Creates the shares of an instance, which has no units yet. An instance that gives up a lease ends the work first. */
export function createLeaseShares(deps: LeaseSharesDeps): LeaseShares {
  const { leases, me, news, lookAgain, clock, log } = deps;
  const units = createUnits();
  const view = createLeaseView(leases, clock);
  let unheld: ReadonlyMap<LeaseKind, number> = new Map();
  /** A unit has no lease yet, or its lease has no holder. */
  let hasFree = true;

  async function round(members: readonly number[] | null): Promise<void> {
    if (!(await view.isDue(hasFree))) return;
    await readLeases();
    await shareOut(members);
    await exchangeNotes(units, view, deps);
    news.send();
  }

  async function readLeases(): Promise<void> {
    await view.read();
    const free = new Map<LeaseKind, number>(leaseKinds.map((kind) => [kind, 0]));
    for (const [kind, own] of units.byKind)
      await visitUnits(own, (key, unit) => {
        const holder = view.holder(kind, key);
        if (holder == null) free.set(kind, (free.get(kind) ?? 0) + 1);
        unit.freeSinceMs = holder === null ? (unit.freeSinceMs ?? view.readAtMs()) : null;
        if (holder !== null && holder !== me()) unit.isLeftOver = false;
      });
    unheld = free;
    hasFree = [...free.values()].some((count) => count > 0);
  }

  /**
   * Begins the work whose leases this instance has, gives up what is more than its share, and takes what it lacks, and what no instance
   * takes.
   */
  async function shareOut(members: readonly number[] | null): Promise<void> {
    let hasTaken = false;
    for (const [kind, own] of units.byKind) {
      const { lost, surplus, kept, missing, ofShare, leftOver } = await planOf(own, view, { kind, me: me(), members });
      // Not waited for: a call to a node or a receiver may take seconds, and the other instances must be watched meanwhile.
      for (const [key, unit] of [...lost, ...surplus]) unit.giving = give(kind, key, unit);
      await beginAll(kind, kept);
      for (const [, unit] of leftOver) unit.isLeftOver = true;
      const free = [...ofShare, ...leftOver].map(([key]) => key);
      for (let done = 0; done < missing.length || done < free.length; done += leasesPerCommit) {
        const [some, taken] = [missing, free].map((keys) => keys.slice(done, done + leasesPerCommit)) as [string[], string[]];
        await leases.take(me(), kind, { missing: some, free: taken });
        hasTaken = true;
      }
    }
    if (!hasTaken) return;
    news.addLeases();
    await readLeases();
    await beginHeld();
    // Another instance may have been faster.
    view.outdate();
  }

  async function beginHeld(): Promise<void> {
    for (const [kind, own] of units.byKind) {
      const held: KeyedUnit[] = [];
      await visitUnits(own, (key, unit) => {
        if (view.holder(kind, key) === me()) held.push([key, unit]);
      });
      await beginAll(kind, held);
    }
  }

  async function beginAll(kind: LeaseKind, held: readonly KeyedUnit[]): Promise<void> {
    const begun: Promise<void>[] = [];
    await visitUnits(new Map(held), (key, unit) => void begun.push(beginWork(kind, key, unit)));
    await Promise.all(begun);
  }

  async function beginWork(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    // The lease may have been given up since the unit was chosen.
    if (unit.giving !== null || view.holder(kind, key) !== me()) return;
    try {
      await unit.begin();
    } catch (error) {
      log.warn({ kind, key, err: error }, 'cannot start the work of a lease; retrying');
      view.outdate();
    }
  }

  /** Ends the work on a unit, then gives up its lease. */
  async function give(kind: LeaseKind, key: string, unit: Unit): Promise<void> {
    const holder = me();
    let isReleased = false;
    try {
      await unit.end();
      await leases.give(holder, kind, [key]);
      isReleased = true;
    } catch (error) {
      // The next look begins the work again, or gives the lease up.
      log.warn({ kind, key, err: error }, 'cannot release a lease; retrying');
    }
    view.givenUp(kind, key, holder);
    unit.giving = null;
    news.addLeases();
    news.send();
    // At once, what has just failed would fail again: the next regular look tries it.
    if (isReleased) lookAgain();
    else view.outdate();
  }

  /** Ends the work on all units of a kind, then gives up their leases. */
  async function giveKind(kind: LeaseKind, own: ReadonlyMap<string, Unit>): Promise<void> {
    await Promise.all([...own.values()].map((unit) => unit.end()));
    await leases
      .give(me(), kind, [...own.keys()])
      .catch((error: unknown) =>
        log.warn({ kind, err: error }, 'cannot release the leases; the other instances take them after this one is gone'),
      );
    news.addLeases();
    news.send();
  }

  return {
    add: units.add,
    note(kind, key, note) {
      const unit = units.get(kind, key);
      if (unit === undefined) return;
      unit.leaveNote(note);
      lookAgain();
    },
    async remove(kind, key) {
      const unit = units.remove(kind, key);
      await Promise.all([unit?.end(), unit?.giving]);
      await leases.remove(me(), kind, key);
      news.addLeases();
      news.send();
    },
    units: () => new Map([...units.byKind].map(([kind, own]) => [kind, [...own.keys()]])),
    outdate: view.outdate,
    forgetLeftOver() {
      for (const unit of units.all()) unit.isLeftOver = false;
    },
    round,
    async endTakenOver() {
      await Promise.all(units.all().map((unit) => unit.end(true)));
    },
    async giveAll() {
      await Promise.all([...units.byKind].map(([kind, own]) => giveKind(kind, own)));
    },
    heldBy: (holder) => new Map(leaseKinds.map((kind) => [kind, view.held(kind).get(holder) ?? 0])),
    // Leases of units that no longer exist, such as a relayer that was removed from the file, have no holder and need none.
    unheld: () => unheld,
  };
}

/** Stores the notes of the work that runs here, and passes on those of the other instances. */
async function exchangeNotes(
  units: Units,
  view: LeaseView,
  { leases, me, news }: Pick<LeaseSharesDeps, 'leases' | 'me' | 'news'>,
): Promise<void> {
  for (const [kind, own] of units.byKind) {
    const changed: KeyedUnit[] = [];
    await visitUnits(own, (key, unit) => {
      const stored = view.note(kind, key);
      if (!unit.isBegun()) unit.showNote(stored);
      else if (stored !== unit.note() && view.holder(kind, key) === me()) changed.push([key, unit]);
    });
    for (const [key, unit] of changed) {
      await leases.note(me(), kind, key, unit.note());
      news.addLeases();
      view.outdate();
    }
  }
}

type KeyedUnit = readonly [key: string, unit: Unit];

/** What to do with the units of a kind, so that this instance has its share. */
interface Plan {
  /**
   * Their work runs here without a lease: the leases were read before they were given up, or a server that lacks the last commits has taken
   * over.
   */
  readonly lost: readonly KeyedUnit[];
  /** More than the share. */
  readonly surplus: readonly KeyedUnit[];
  readonly kept: readonly KeyedUnit[];
  /** The keys of units without a lease. */
  readonly missing: readonly string[];
  /** Free leases that this instance lacks. */
  readonly ofShare: readonly KeyedUnit[];
  /** Free leases that no instance has taken for long. */
  readonly leftOver: readonly KeyedUnit[];
}

/** Plans for the units of a kind. `members`: the numbers of the instances that share; null: none may hold a lease. */
async function planOf(
  units: ReadonlyMap<string, Unit>,
  view: Pick<LeaseView, 'count' | 'held' | 'holder' | 'readAtMs'>,
  { kind, me, members }: { readonly kind: LeaseKind; readonly me: number; readonly members: readonly number[] | null },
): Promise<Plan> {
  const [lost, staying, free]: [KeyedUnit[], KeyedUnit[], KeyedUnit[]] = [[], [], []];
  const missing: string[] = [];
  let mine = 0;
  await visitUnits(units, (key, unit) => {
    const holder = view.holder(kind, key);
    if (holder === me) mine += 1;
    if (unit.giving === null && holder === me) staying.push([key, unit]);
    else if (unit.giving === null && unit.isBegun()) lost.push([key, unit]);
    if (holder === undefined) missing.push(key);
    if (holder == null) free.push([key, unit]);
  });
  // What is missing is about to be added. If no instance can take them, they stay.
  const shares = { held: view.held(kind), count: view.count(kind) + missing.length };
  const share = members === null ? 0 : members.length === 0 ? mine : shareOf(me, { members, ...shares });
  const isSharing = members?.includes(me) === true;
  // Beside the share, so that the others stay where they are.
  const isBeside = ([, { isLeftOver }]: KeyedUnit): boolean => isSharing && isLeftOver;
  const counted = staying.filter((one) => !isBeside(one));
  const lacking = Math.max(0, share - mine);
  const isOld = ([, { freeSinceMs }]: KeyedUnit): boolean => view.readAtMs() - (freeSinceMs ?? view.readAtMs()) >= leftOverAfterMs;
  return {
    lost,
    surplus: counted.slice(share),
    kept: [...counted.slice(0, share), ...staying.filter(isBeside)],
    missing,
    ofShare: free.slice(0, lacking),
    leftOver: isSharing ? free.slice(lacking).filter(isOld) : [],
  };
}
