import { backgroundTimers, type Timers } from './timers.js';

/** Why a wait ended. */
export type WaitEnd = 'woken' | 'timeout' | 'closed';

/** The wait of one waiter, which others end. A wake that comes before the wait is not lost. */
export interface Waker {
  /** Ends the wait, or else the next one at once. */
  wake(): void;
  /** Forgets the wakes so far: the waiter looks at what they were about. Call it before the look. */
  heed(): void;
  /** Resolves when something woke the waiter since `heed`, after `ms` (Infinity: never), or after `close`. One wait at a time. */
  wait(ms: number): Promise<WaitEnd>;
  /** Ends this wait and every later one. */
  close(): void;
}

/** Creates a waker. */
export function createWaker(timers: Timers = backgroundTimers): Waker {
  let isWoken = false;
  let isClosed = false;
  let end: (() => void) | null = null;

  function elapsed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = ms === Number.POSITIVE_INFINITY ? null : timers.after(Math.max(0, ms), resolve);
      end = () => {
        stop?.();
        resolve();
      };
    });
  }

  return {
    wake() {
      isWoken = true;
      end?.();
    },
    heed() {
      isWoken = false;
    },
    async wait(ms) {
      if (!isWoken && !isClosed) {
        await elapsed(ms);
        end = null;
      }
      if (isClosed) return 'closed';
      return isWoken ? 'woken' : 'timeout';
    },
    close() {
      isClosed = true;
      end?.();
    },
  };
}
