import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Interceptor } from '@connectrpc/connect';
import { createTurnBudget } from '../../core/work/turn-budget.js';

/**
 * Creates the interceptor that lets calls share the event loop. A caller can send hundreds of calls at once, and Node runs all that arrive
 * together without looking at timers or other connections. So only one call begins in each run of microtasks, in which the steps of all
 * calls would alternate, and a call that would begin late in a turn waits for the next iteration of the loop, behind the work that
 * waits already.
 */
export function createTurns(nowMs?: () => number): Interceptor {
  const isOver = createTurnBudget(nowMs);
  let hasBegun = false;
  let waiting = 0;

  function mayBegin(): boolean {
    if (hasBegun || isOver()) return false;
    hasBegun = true;
    // Runs when no microtask is left: the call has ended, or waits for something.
    process.nextTick(() => {
      hasBegun = false;
    });
    return true;
  }

  return (next) => {
    async function inTurn(request: Parameters<typeof next>[0]): Promise<Awaited<ReturnType<typeof next>>> {
      waiting += 1;
      do await nextIteration();
      while (!mayBegin());
      waiting -= 1;
      return next(request);
    }
    // Most calls need no promise of their own.
    return (request) => (waiting === 0 && mayBegin() ? next(request) : inTurn(request));
  };
}
