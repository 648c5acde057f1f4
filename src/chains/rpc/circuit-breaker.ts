import { type CallMark, createBreaker } from '../../core/work/breaker.js';
import { monotonicMs } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';

const firstPauseMs = 1_000;
/**
 * The longest pause of an endpoint, also if its `Retry-After` asks for more: the endpoint may be the only one, and one call a minute
 * overloads none.
 */
export const longestPauseMs = 60_000;
/** After this long without a failure, the next pause is short again. */
const failuresForgottenAfterMs = 60_000;

/** Why an endpoint is left out. */
export type Failure =
  | { readonly kind: 'failing'; readonly detail: string; readonly retryAfterMs: number | null }
  /** Its head is several blocks behind the others, or claims blocks that cannot exist yet. */
  | { readonly kind: 'lagging' | 'ahead'; readonly detail: string }
  | { readonly kind: 'other_chain'; readonly difference: Difference };

/** What tells the chain of an endpoint from the configured one. */
export interface Difference {
  /** As in "chain ID". */
  readonly differs: string;
  readonly expected: string;
  readonly answered: string;
}

/** Leaves out an endpoint after a failure, for a pause that doubles with each further failure. Logs each change once. */
export interface CircuitBreaker {
  /** True from a failure until a later success: other endpoints go first. */
  isTripped(): boolean;
  /** Tripped, and the pause is over: the endpoint may be probed. */
  isProbeDue(): boolean;
  /** Tripped, and not to be called even as the last resort: the endpoint asked for a pause, or serves another chain. */
  isBlocked(): boolean;
  /** Why it is tripped; `paused`: it asked for a pause, which lasts. Null: it is not. */
  trippedBy(): Failure['kind'] | 'paused' | null;
  /** On the monotonic clock. */
  pausedUntilMs(): number;
  /** How long it has been tripped; 0: it is not. */
  trippedForMs(): number;
  /** Marks the start of a call. */
  begin(): CallMark;
  /** Records a failed call. A call that began before the breaker tripped adds nothing. */
  failed(failure: Failure, call: CallMark): void;
  /** Records an answered call. It does not reset an endpoint that lags or is ahead, which answers too: see `caughtUp`. */
  worked(call: CallMark): void;
  /** Records that its head agrees with the others. */
  caughtUp(): void;
}

const tripWords = { failing: 'failed', lagging: 'is lagging', ahead: 'claims blocks that cannot exist yet' };

interface Left {
  readonly kind: Failure['kind'];
  readonly isBlocked: boolean;
}

/** It answers too, so an answer does not end this. */
function isOff({ kind }: Left): boolean {
  return kind === 'lagging' || kind === 'ahead';
}

/** Creates the breaker of one endpoint. */
export function createCircuitBreaker(networkName: string, host: string, log: Log, nowMs: () => number = monotonicMs): CircuitBreaker {
  const breaker = createBreaker<Left>({
    pauseMs: { first: firstPauseMs, longest: longestPauseMs },
    failuresToTrip: 1,
    forgottenAfterMs: failuresForgottenAfterMs,
    elapsedMs: nowMs,
  });
  /** The endpoint fails repeatedly, and the log says so: further changes are not logged. */
  let isQuiet = false;
  const left = (): Left | null => breaker.trip()?.reason ?? null;
  const isBlocked = (): boolean => left()?.isBlocked === true && breaker.pausesForMs() > 0;

  function logTrip(failure: Failure, isAgain: boolean): void {
    const endpoint = { network: networkName, host };
    if (failure.kind === 'other_chain') {
      log.error({ ...endpoint, ...failure.difference }, 'RPC endpoint serves another chain; not used');
      return;
    }
    if (isQuiet) return;
    isQuiet = isAgain;
    const rest = isAgain ? ' again; further failures are not logged until it has worked for a minute' : '';
    log.warn({ ...endpoint, reason: failure.detail }, `RPC endpoint ${tripWords[failure.kind]}; removed from rotation${rest}`);
  }

  function logRecovery(): void {
    log.info({ network: networkName, host }, 'RPC endpoint recovered; back in rotation');
  }

  function reset(): void {
    if (breaker.worked() && !isQuiet) logRecovery();
  }

  return {
    isTripped: () => breaker.trip() !== null,
    isProbeDue: () => breaker.trip() !== null && breaker.pausesForMs() === 0,
    isBlocked,
    trippedBy: () => (left()?.kind === 'failing' && isBlocked() ? 'paused' : (left()?.kind ?? null)),
    pausedUntilMs: () => breaker.trip()?.untilMs ?? 0,
    trippedForMs: () => nowMs() - (breaker.trip()?.sinceMs ?? nowMs()),
    begin: breaker.begin,
    failed(failure, call) {
      if (!breaker.counts(call)) return;
      if (breaker.isForgotten()) isQuiet = false;
      const before = left();
      const { kind } = failure;
      const requestedMs = failure.kind === 'failing' ? Math.min(failure.retryAfterMs ?? 0, longestPauseMs) : 0;
      const leastPauseMs = kind === 'other_chain' ? longestPauseMs : requestedMs;
      breaker.failed({ kind, isBlocked: leastPauseMs > 0 }, { leastPauseMs });
      if (before?.kind !== kind) logTrip(failure, before === null && breaker.trips() > 1);
    },
    worked(call) {
      if (isQuiet && breaker.isForgotten()) {
        isQuiet = false;
        logRecovery();
      }
      const now = left();
      if (now !== null && !isOff(now) && breaker.counts(call)) reset();
    },
    caughtUp() {
      const now = left();
      if (now !== null && isOff(now)) reset();
    },
  };
}
