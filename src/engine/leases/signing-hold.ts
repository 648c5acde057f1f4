import { type DatabaseState, requireNoHold } from '../../core/ports/database-state.js';
import type { Look, Member, Rewind } from '../../core/ports/shared-database.js';
import { hasChange, type StoreFor } from '../../core/ports/store/store.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createDatabaseClock } from './database-clock.js';
import { createDurabilityWatch } from './durability-watch.js';

const clocksDiffer = 'the clocks of this instance and of the database differ by more than 30 s; correct the clock that is wrong';

/** Log messages of a hold. */
export const signsAgain = 'this instance signs again';
export const signsNothing = 'this instance signs nothing until that is corrected';
const waitsForOthers = 'this instance signs nothing until the others have returned after the failover';

/**
 * Whether this instance may sign: not while the database lacks commits, an instance has not returned after a failover, its settings are
 * refused, a clock is wrong, or its audit log refuses.
 */
export interface SigningHold {
  /** Calls `listener` when this instance has to stop signing, and has given up its leases. */
  onHold(listener: () => void): void;
  /** See `DatabaseState.rewind`: nothing is signed or broadcast until an operator has run `relayer restore`. */
  rewind(): Rewind | null;
  /** See `DatabaseState.ownHold`: this instance holds no leases either. */
  ownHold(): string | null;
  /** Why no instance may sign; null: they may. */
  holdOfAll(): string | null;
  /** See `DatabaseState.timeMs`. */
  timeMs(): number | null;
  /** The own clock minus the database's. */
  clockSkewMs(): number;
  /** How much these clocks differ, if that is worth a sentence; else null. */
  clockDifference(): string | null;
  /** See `Member.isSynchronous`, of this instance, as last read. */
  isSynchronous(): boolean;
  /** Whether commits that the database's server answered can get lost with each of its settings. */
  unsafeSettings(): ReadonlyMap<string, boolean>;
  /** See `Instances.dangers`. */
  dangers(): readonly string[];
  /** Takes note that the database lacks commits, as this shows: nothing is signed, before the next look too. */
  noteRewind(evidence: string): void;
  /**
   * What this instance found, or saw recorded, and the database does not have: a restore has overwritten it. Null: nothing. An instance
   * that knows of a rewind signs nothing for as long as it runs: `relayer restore` needs all instances stopped.
   */
  unrecordedRewind(): string | null;
  /** Takes note of what a look showed that was asked for at this time. */
  note(look: Look, askedAtMs: number): void;
  /** Throws an error for the operator if the settings of the server are refused. */
  requireUsableServer(): void;
  /** Returns true once after the hold has begun, ended, or has another reason: the leases are given up, or taken again. */
  hasChanged(): boolean;
  /** Calls the listeners once for each reason, after the leases were given up. */
  explain(): void;
}

/** The parts that decide on a hold. */
export interface SigningHoldDeps {
  /** See `MembersDeps`. */
  readonly requiresStandby: boolean;
  /** See `MembersDeps`. */
  ownObstacle(): string | null;
  /** See `SharedDatabase`. */
  ownRewind(): string | null;
  /** The number of this instance. */
  me(): number;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** Creates the hold of an instance that has not looked. */
export function createSigningHold({ requiresStandby, ownObstacle, ownRewind, me, clock, log }: SigningHoldDeps): SigningHold {
  const listeners: (() => void)[] = [];
  const databaseClock = createDatabaseClock(clock, log);
  const settings = createDurabilityWatch(requiresStandby, log);
  let rewind: Rewind | null = null;
  let isRecorded = false;
  /** The tables as they were seen first. */
  let firstTables: string | null = null;
  let isSynchronous = false;
  let unreturned: string | null = null;
  /** What `ownHold` was at the last look. */
  let heldBecause: string | null = null;
  /** What the listeners were called for last. */
  let explained: string | null = null;

  const isRewound = (): boolean => rewind !== null || ownRewind() !== null;

  function holdOfAll(): string | null {
    if (isRewound()) return 'the database lacks commits that it had answered; run relayer restore';
    return settings.refusal() ?? unreturned;
  }

  function ownHold(): string | null {
    return holdOfAll() ?? (databaseClock.isTooFar() ? clocksDiffer : ownObstacle());
  }

  function show(found: Rewind): void {
    if (rewind === null)
      log.error({ ...found }, 'the database lacks commits that it had answered; signing stops until relayer restore was run');
    rewind ??= found;
  }

  function noteRewind(evidence: string): void {
    show({ foundAtMs: clock.nowMs(), evidence });
  }

  return {
    onHold: (listener) => void listeners.push(listener),
    rewind() {
      const own = ownRewind();
      if (own !== null) noteRewind(own);
      return rewind;
    },
    ownHold,
    holdOfAll,
    timeMs: databaseClock.timeMs,
    clockSkewMs: databaseClock.skewMs,
    clockDifference: databaseClock.difference,
    isSynchronous: () => isSynchronous,
    unsafeSettings: settings.unsafe,
    dangers() {
      const hold = ownHold();
      const held = hold === null ? [] : [`this instance signs nothing: ${hold}`];
      const difference = databaseClock.difference();
      return [...held, ...settings.dangers(), ...(difference === null ? [] : [`${difference}; correct the clock that is wrong`])];
    },
    noteRewind,
    unrecordedRewind: () => (isRecorded ? null : (rewind?.evidence ?? null)),
    note({ timeMs, durability, isSynchronous: isSynchronousNow, members, tables, rewind: found }, askedAtMs) {
      databaseClock.note(timeMs, askedAtMs);
      settings.note(durability, members.length);
      isSynchronous = isSynchronousNow;
      unreturned = unreturnedOf(members, me());
      if (found !== null) show(found);
      isRecorded = found !== null;
      firstTables ??= tables;
      if (tables !== null && tables !== firstTables) noteRewind('other tables were put in place while instances ran, as by pg_restore');
    },
    requireUsableServer() {
      const missing = settings.refusal();
      if (missing !== null) throw new Error(missing);
    },
    hasChanged() {
      const hold = ownHold();
      if (hold === heldBecause) return false;
      if (hold === null) log.info({}, signsAgain);
      // Usually the others return within seconds.
      else if (hold === unreturned) log.warn({ reason: hold }, waitsForOthers);
      else if (!isRewound()) log.error({ reason: hold }, signsNothing);
      heldBecause = hold;
      return true;
    },
    explain() {
      const hold = ownHold();
      if (hold !== null && hold !== explained) for (const listener of listeners) listener();
      explained = hold;
    },
  };
}

/**
 * Why nothing may be signed after a failover: an instance whose commits did not wait for a standby has not returned. It may still work with
 * the earlier primary, and make the same payments there. Null: all have returned.
 */
function unreturnedOf(members: readonly Member[], me: number): string | null {
  const now = members.find(({ number }) => number === me)?.timeline ?? null;
  const missing = members.find(({ timeline, isSynchronous }) => timeline !== null && now !== null && timeline < now && !isSynchronous);
  if (missing === undefined) return null;
  const { number, shown } = missing;
  return `the database failed over, and instance ${number} (process ${shown.pid} on host ${shown.host}), which may still work with the earlier server, has not returned; signing waits for it for up to a minute`;
}

/**
 * Returns the same store, which takes no signed attempt during a hold: the database may lack commits, of which one may have been the same
 * payment, or no audit line would show the attempt.
 */
export function holdingAttempts<S extends Pick<StoreFor<unknown>, 'commit'>>(store: S, state: Pick<DatabaseState, 'ownHold'>): S {
  return {
    ...store,
    async commit(changes) {
      if (hasChange(changes, 'insertAttempt')) requireNoHold(state);
      await store.commit(changes);
    },
  };
}
