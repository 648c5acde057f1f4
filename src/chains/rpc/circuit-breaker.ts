import type { Log } from '../../core/ports/log.js';
import { nodeText } from './answer.js';

const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
/** A hostile or mistaken `Retry-After` must not take an endpoint out of service for days. */
const maxRetryAfterMs = 5 * 60_000;
/** After this long without a failure, the next pause is short again. */
const failuresForgottenAfterMs = 60_000;

/** Why an endpoint is left out. */
export type Failure =
  | { readonly kind: 'failing'; readonly detail: string; readonly retryAfterMs: number | null }
  /** Its head is several blocks behind the highest known one. */
  | { readonly kind: 'lagging'; readonly detail: string }
  | { readonly kind: 'other_chain'; readonly answered: string };

/** Orders calls and failures. A clock cannot, since many of them share a millisecond. */
export type CallMark = number;

/** Leaves out an endpoint after a failure, for a pause that doubles with each further failure. Logs each change once. */
export interface CircuitBreaker {
  /** True from a failure until a later success: other endpoints go first. */
  isTripped(): boolean;
  /** Tripped, and the pause is over: the endpoint may be probed. */
  isProbeDue(): boolean;
  /** Tripped, and not to be called even as the last resort: the endpoint asked for a pause, or serves another chain. */
  isBlocked(): boolean;
  pausedUntilMs(): number;
  /** Marks the start of a call. */
  begin(): CallMark;
  /** Records a failed call. A call that began before the breaker tripped adds nothing. */
  failed(failure: Failure, call: CallMark): void;
  /** Records an answered call. It does not reset a lagging endpoint, which answers too: see `caughtUp`. */
  worked(call: CallMark): void;
  caughtUp(): void;
}

interface Trip {
  readonly kind: Failure['kind'];
  readonly mark: CallMark;
  readonly untilMs: number;
  readonly isBlocked: boolean;
}

/** Creates the breaker of one endpoint. `expected`: the chain's identity, for the log. */
export function createCircuitBreaker(networkName: string, host: string, expected: string, log: Log): CircuitBreaker {
  let trip: Trip | null = null;
  let failures = 0;
  let workingSinceMs = 0;
  let marks: CallMark = 0;

  function logTrip(failure: Failure): void {
    const endpoint = { network: networkName, host };
    if (failure.kind === 'other_chain') {
      log.error({ ...endpoint, expected, answered: nodeText(failure.answered) }, 'RPC endpoint serves another chain; not used');
      return;
    }
    const isLagging = failure.kind === 'lagging';
    const message = isLagging ? 'RPC endpoint is lagging; removed from rotation' : 'RPC endpoint failed; removed from rotation';
    log.warn({ ...endpoint, reason: failure.detail }, message);
  }

  function reset(): void {
    log.info({ network: networkName, host }, 'RPC endpoint recovered; back in rotation');
    trip = null;
    workingSinceMs = Date.now();
  }

  return {
    isTripped: () => trip !== null,
    isProbeDue: () => trip !== null && trip.untilMs <= Date.now(),
    isBlocked: () => trip?.isBlocked === true && trip.untilMs > Date.now(),
    pausedUntilMs: () => trip?.untilMs ?? 0,
    begin: () => ++marks,
    failed(failure, call) {
      const nowMs = Date.now();
      if (trip !== null && call < trip.mark) return;
      if (trip === null && nowMs - workingSinceMs > failuresForgottenAfterMs) failures = 0;
      const requestedMs = failure.kind === 'failing' ? Math.min(failure.retryAfterMs ?? 0, maxRetryAfterMs) : 0;
      const doubledMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures, 10));
      const pauseMs = failure.kind === 'other_chain' ? maxPauseMs : doubledMs;
      failures += 1;
      if (trip?.kind !== failure.kind) logTrip(failure);
      trip = {
        kind: failure.kind,
        mark: ++marks,
        untilMs: nowMs + Math.max(pauseMs, requestedMs),
        isBlocked: failure.kind === 'other_chain' || requestedMs > 0,
      };
    },
    worked(call) {
      if (trip !== null && trip.kind !== 'lagging' && call > trip.mark) reset();
    },
    caughtUp() {
      if (trip?.kind === 'lagging') reset();
    },
  };
}
