import type { Log } from '../../core/ports/log.js';
import type { Endpoint } from './endpoint.js';
import { createHeights } from './heights.js';
import { TransportError } from './node-error.js';
import { createTurns } from './turns.js';

/** Who of a network's URLs is asked. */
export interface Roster {
  /**
   * Whom to ask, best first: by turns, or for `head` the one that told the head; those that rest come last, in the order of their return. Those that
   * are not to be asked now are left out.
   */
  order(first?: 'head'): readonly Endpoint[];
  /** This URL told the head. Looks from time to time how far the others are. */
  toldHead(endpoint: Endpoint, height: bigint): void;
  /** True while one is left out by its own wish, or is on another chain. */
  isIncomplete(): boolean;
}

const leastProbePauseMs = 250;
const greatestProbePauseMs = 15_000;

/** Makes the roster of these URLs, given by weight, the heaviest first. */
export function createRoster(endpoints: readonly Endpoint[], averageBlockTimeMs: number, log: Log): Roster {
  const turns = createTurns<Endpoint>();
  const heights = createHeights<Endpoint>(averageBlockTimeMs);
  const probePauseMs = Math.min(greatestProbePauseMs, Math.max(leastProbePauseMs, averageBlockTimeMs));
  const probing = new Set<Endpoint>();
  let headTeller: Endpoint | null = null;
  let probedAtMs = 0;

  /**
   * The one that told the head, as long as it works; else the heaviest. When a heavier one is back it takes over once it is level, since a head that
   * moves back looks like a reorganisation.
   */
  function nextHeadTeller(ready: readonly Endpoint[]): Endpoint | null {
    const current = headTeller !== null && ready.includes(headTeller) ? headTeller : null;
    const heavier = ready.find((one) => current === null || (one.weight > current.weight && heights.hasReached(one, current)));
    return heavier ?? current;
  }

  /** Looks how far a URL has come: brings a resting one back if it is level, and finds one that lags. */
  async function probe(endpoint: Endpoint): Promise<void> {
    if (probing.has(endpoint)) return;
    probing.add(endpoint);
    const wasResting = endpoint.isResting();
    try {
      const height = await endpoint.height();
      if (heights.lags(endpoint, height) || (wasResting && heights.isBehind(endpoint, height))) endpoint.lags();
      else endpoint.caughtUp();
    } catch (error) {
      // A URL tells of its own trouble.
      if (!(error instanceof TransportError)) log.error({ err: error }, 'looking after an RPC URL went wrong');
    } finally {
      probing.delete(endpoint);
    }
  }

  return {
    order(first) {
      const ready = endpoints.filter((endpoint) => !endpoint.isResting());
      const resting = endpoints
        .filter((endpoint) => endpoint.isResting() && !endpoint.isBarred())
        .toSorted((a, b) => a.restsUntilMs() - b.restsUntilMs());
      if (ready.length === 0) return resting;
      for (const endpoint of resting) if (endpoint.isDue()) void probe(endpoint);
      const chosen = first === 'head' ? nextHeadTeller(ready) : turns.next(ready);
      return [...(chosen === null ? [] : [chosen]), ...ready.filter((endpoint) => endpoint !== chosen), ...resting];
    },
    toldHead(endpoint, height) {
      headTeller = endpoint;
      if (heights.lags(endpoint, height)) endpoint.lags();
      else if (!heights.isBehind(endpoint, height)) endpoint.caughtUp();
      if (Date.now() - probedAtMs < probePauseMs) return;
      probedAtMs = Date.now();
      for (const other of endpoints) if (other !== endpoint && !other.isResting()) void probe(other);
    },
    isIncomplete: () => endpoints.some((endpoint) => endpoint.isBarred()),
  };
}
