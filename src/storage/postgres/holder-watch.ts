import type { LockHolder } from './postgres-lock.js';

/*
 * The limits are numbers of looks, not times: a standby that was paused itself, with its holder or alone, has seen nothing meanwhile.
 */

/** Looks in a row at a lock that is free but was not released. A holder whose connection was cut tries to connect again more often. */
export const looksUntilGone = 12;
/** Looks in a row at a holder that sent nothing, although it sends something every second. */
export const looksUntilSilent = 50;

/** The observations of a standby. */
export interface Look {
  /** Null: no connection holds the lock. */
  readonly holder: LockHolder | null;
  /** The last owner has released the database, or there never was one. */
  readonly isReleased: boolean;
}

/** Decides from many looks whether the holder of the instance lock still works. */
export interface HolderWatch {
  /** `take`: try to take the lock. `end`: end the holder's connection first, and look again. */
  look(seen: Look): 'wait' | 'take' | 'end';
  /** The looks so far say nothing any more. */
  forget(): void;
}

/** Creates the watch. */
export function createHolderWatch(): HolderWatch {
  let free = 0;
  let silent = 0;
  let lastBeat: string | null = null;
  /** The last holder was ended, and has sent nothing since. */
  let hasEnded = false;

  function forget(): void {
    free = 0;
    silent = 0;
    lastBeat = null;
    hasEnded = false;
  }

  return {
    forget,
    look({ holder, isReleased }) {
      if (holder === null) {
        silent = 0;
        lastBeat = null;
        free += 1;
        return isReleased || hasEnded || free >= looksUntilGone ? 'take' : 'wait';
      }
      free = 0;
      // While the server works for it, it waits for an answer. Without a right to see its activity, nothing is known.
      const isAlive = holder.isBusy || holder.beat === null || holder.beat !== lastBeat;
      lastBeat = holder.beat;
      silent = isAlive ? 0 : silent + 1;
      if (isAlive) hasEnded = false;
      if (silent < looksUntilSilent) return 'wait';
      silent = 0;
      hasEnded = true;
      return 'end';
    },
  };
}
