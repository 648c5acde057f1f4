import { type DatabaseState, requireNoHold } from '../../core/ports/database-state.js';
import type { Look, Rewind } from '../../core/ports/shared-database.js';
import type { StoreFor } from '../../core/ports/store/store.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createDatabaseClock } from './database-clock.js';
import { createDurabilityWatch } from './durability-watch.js';

const clocksDiffer = 'the clocks of this instance and of the database differ by more than 30 s; correct the clock that is wrong';

/** Log messages of a hold. */
export const signsAgain = 'this instance signs again';
export const signsNothing = 'this instance signs nothing until that is corrected';

/**
 * Whether this instance may sign: not while the database lacks commits, its settings are refused, a clock is wrong, or its audit log
 * refuses.
 */
export interface SigningHold {
  /** Calls `listener` when this instance has to stop signing, and has given up its leases. */
  onHold(listener: () => void): void;
  /** Not null: nothing is signed or broadcast until an operator has run `relayer restore`. */
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
  /** Whether commits that the database's server answered can get lost with each of its settings. */
  unsafeSettings(): ReadonlyMap<string, boolean>;
  /** Takes note that this instance has recorded a rewind: nothing is signed, before the next look too. */
  noteRecorded(): void;
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
  /** True if this instance found that the database lacks commits of its own. */
  isRewound(): boolean;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** Creates the hold of an instance that has not looked. */
export function createSigningHold({ requiresStandby, ownObstacle, isRewound, clock, log }: SigningHoldDeps): SigningHold {
  const listeners: (() => void)[] = [];
  const databaseClock = createDatabaseClock(clock, log);
  const settings = createDurabilityWatch(requiresStandby, log);
  let rewind: Rewind | null = null;
  /** When this instance recorded one; a look that was asked for before may not show it. */
  let recordedAtMs: number | null = null;
  /** What `ownHold` was at the last look. */
  let heldBecause: string | null = null;
  /** What the listeners were called for last. */
  let explained: string | null = null;

  function holdOfAll(): string | null {
    return rewind === null && recordedAtMs === null && !isRewound()
      ? settings.refusal()
      : 'the database lacks commits that it had answered; run relayer restore';
  }

  function ownHold(): string | null {
    return holdOfAll() ?? (databaseClock.isTooFar() ? clocksDiffer : ownObstacle());
  }

  return {
    onHold: (listener) => void listeners.push(listener),
    rewind: () => rewind,
    ownHold,
    holdOfAll,
    timeMs: databaseClock.timeMs,
    clockSkewMs: databaseClock.skewMs,
    clockDifference: databaseClock.difference,
    unsafeSettings: settings.unsafe,
    noteRecorded() {
      recordedAtMs = clock.elapsedMs();
    },
    note({ timeMs, durability, members, rewind: found }, askedAtMs) {
      databaseClock.note(timeMs, askedAtMs);
      settings.note(durability, members.length);
      if (found !== null && rewind === null)
        log.error({ ...found }, 'the database lacks commits that it had answered; signing stops until relayer restore was run');
      rewind = found;
      if (recordedAtMs !== null && askedAtMs > recordedAtMs) recordedAtMs = null;
    },
    requireUsableServer() {
      const missing = settings.refusal();
      if (missing !== null) throw new Error(missing);
    },
    hasChanged() {
      const hold = ownHold();
      if (hold === heldBecause) return false;
      if (hold === null) log.info({}, signsAgain);
      else if (rewind === null) log.error({ reason: hold }, signsNothing);
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
 * Returns the same store, which takes no signed attempt during a hold: the database may lack commits, of which one may have been the same
 * payment, or no audit line would show the attempt.
 */
export function holdingAttempts<S extends Pick<StoreFor<unknown>, 'commit'>>(store: S, state: Pick<DatabaseState, 'ownHold'>): S {
  return {
    ...store,
    async commit(changes) {
      if (changes.some(({ name }) => name === 'insertAttempt')) requireNoHold(state);
      await store.commit(changes);
    },
  };
}
