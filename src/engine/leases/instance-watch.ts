import type { SeenConnection } from '../../core/ports/shared-database.js';

/*
 * The limits are numbers of looks, not times: an instance that was paused itself, with the others or alone, has seen nothing meanwhile.
 */

/** Looks in a row at an instance without its connection. One whose connection was cut tries to connect again more often. */
export const looksUntilGone = 5;
/** Looks in a row at an instance that sent nothing, although it sends something every second. */
export const looksUntilSilent = 20;

/** Decides from many looks whether another instance still works. */
export interface InstanceWatch {
  /** `remove`: it is gone. `end`: end its connection first, and look again. `seen`: null if it has no connection. */
  look(seen: SeenConnection | null): 'wait' | 'remove' | 'end';
  /** The looks so far say nothing any more. */
  forget(): void;
}

/** Creates the watch. */
export function createInstanceWatch(): InstanceWatch {
  let free = 0;
  let silent = 0;
  let lastBeat: string | null = null;
  /** Its connection was ended, and it has sent nothing since. */
  let hasEnded = false;

  function forget(): void {
    free = 0;
    silent = 0;
    lastBeat = null;
    hasEnded = false;
  }

  return {
    forget,
    look(seen) {
      if (seen === null) {
        silent = 0;
        lastBeat = null;
        free += 1;
        return hasEnded || free >= looksUntilGone ? 'remove' : 'wait';
      }
      free = 0;
      // While the server works for it, it waits for an answer. Without a right to see its activity, nothing is known.
      const isAlive = seen.isBusy || seen.beat === null || seen.beat !== lastBeat;
      lastBeat = seen.beat;
      silent = isAlive ? 0 : silent + 1;
      if (isAlive) hasEnded = false;
      if (silent < looksUntilSilent) return 'wait';
      silent = 0;
      hasEnded = true;
      return 'end';
    },
  };
}
