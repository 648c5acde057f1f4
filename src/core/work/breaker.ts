/** Orders calls and failures. A clock cannot, since many of them share a millisecond. */
export type CallMark = number;

/** Why and until when something is left out. */
export interface Trip<R> {
  readonly reason: R;
  /** On the monotonic clock. From then on a call may try whether it works again. */
  readonly untilMs: number;
  /** When it tripped. Further failures do not change it. */
  readonly sinceMs: number;
}

/** Leaves something out after failures, for a pause that doubles with each further one, until it works again. */
export interface Breaker<R> {
  /** Null: it is not tripped. */
  trip(): Trip<R> | null;
  /** The rest of the pause; 0: it is over, or the breaker is not tripped. */
  pausesForMs(): number;
  /** How often it has tripped or failed again since the last time that earlier failures were forgotten. */
  trips(): number;
  /** True if it has worked for so long that earlier failures are forgotten. */
  isForgotten(): boolean;
  /** Marks the start of a call. */
  begin(): CallMark;
  /** False: the call began before the breaker tripped, so that its outcome says nothing. */
  counts(call: CallMark): boolean;
  /** Records a failed call that counts. Returns true if the breaker is tripped now. */
  failed(reason: R, how?: FailureOptions): boolean;
  /** Records that it works. Returns true if it was tripped. */
  worked(): boolean;
}

/** What follows from a failure. */
export interface FailureOptions {
  /** It trips the breaker, although earlier calls did not fail. */
  readonly atOnce?: boolean;
  /** The pause lasts at least this long. */
  readonly leastPauseMs?: number;
}

/** The options of a breaker. */
export interface BreakerOptions {
  readonly pauseMs: { readonly first: number; readonly longest: number };
  /** The number of consecutive failures that trip it. */
  readonly failuresToTrip: number;
  /** After it has worked this long, the next pause is short again. */
  readonly forgottenAfterMs: number;
  readonly elapsedMs: () => number;
}

/** Creates a breaker that is not tripped. */
export function createBreaker<R>({ pauseMs, failuresToTrip, forgottenAfterMs, elapsedMs }: BreakerOptions): Breaker<R> {
  let marks: CallMark = 0;
  let failures = 0;
  let trips = 0;
  let workingSinceMs = 0;
  let trip: (Trip<R> & { readonly mark: CallMark }) | null = null;
  const isForgotten = (): boolean => trip === null && elapsedMs() - workingSinceMs >= forgottenAfterMs;

  return {
    trip: () => trip,
    pausesForMs: () => (trip === null ? 0 : Math.max(0, Math.ceil(trip.untilMs - elapsedMs()))),
    trips: () => trips,
    isForgotten,
    begin: () => ++marks,
    counts: (call) => trip === null || call > trip.mark,
    failed(reason, { atOnce = false, leastPauseMs = 0 } = {}) {
      failures += 1;
      if (trip === null && !atOnce && failures < failuresToTrip) return false;
      if (isForgotten()) trips = 0;
      const doubledMs = Math.min(pauseMs.longest, pauseMs.first * 2 ** Math.min(trips, 16));
      const sinceMs = trip?.sinceMs ?? elapsedMs();
      trip = { reason, mark: ++marks, untilMs: elapsedMs() + Math.max(doubledMs, leastPauseMs), sinceMs };
      trips += 1;
      failures = 0;
      return true;
    },
    worked() {
      failures = 0;
      if (trip === null) return false;
      trip = null;
      workingSinceMs = elapsedMs();
      return true;
    },
  };
}
