import { orAborted } from '../../core/work/abort.js';
import { type CallMark, createBreaker } from '../../core/work/breaker.js';
import type { DurationClock } from '../../core/work/clock.js';
import { type Later, later } from '../../core/work/later.js';

/** Why calls are not made now, and for how long. */
export interface Trip {
  readonly sentence: string;
  readonly retryInMs: number;
}

/** Stops calls to a key after failures, for a pause that doubles with each further one. After the pause one call at a time tries it. */
export interface SignerBreaker {
  /** Returns why no call may be made now; null: it may. If another call tries the key at the moment, waits for its outcome. */
  mayCall(signal: AbortSignal): Promise<Trip | null>;
  /** Marks the start of a call; null: call `mayCall` again, since the breaker tripped, or another call tries the key. */
  begin(): CallMark | null;
  /** Records an answered call. */
  worked(call: CallMark): void;
  /**
   * Records a failed call; `isCertain`: a repetition will fail too. A call that began before the breaker tripped adds nothing. Returns true
   * if it is tripped now.
   */
  failed(call: CallMark, sentence: string, isCertain: boolean): boolean;
  /** Records that a call ended without an outcome that says anything about the key. */
  ended(call: CallMark): void;
}

/** Consecutive failures that trip the breaker. */
const maxFailures = 3;
const pauseMs = { first: 500, longest: 30_000 };

/** Makes the breaker of one key. `onChange`: it tripped for this reason, or works again (null). */
export function createSignerBreaker(
  { elapsedMs }: Pick<DurationClock, 'elapsedMs'>,
  onChange: (reason: string | null) => void,
): SignerBreaker {
  const breaker = createBreaker<string>({ pauseMs, failuresToTrip: maxFailures, forgottenAfterMs: 0, elapsedMs });
  /** The call that tries the key after the pause, and the calls that wait for it. */
  let probe: { readonly call: CallMark; readonly ended: Later<void> } | null = null;

  function endProbe(call: CallMark): void {
    if (probe?.call !== call) return;
    probe.ended.resolve();
    probe = null;
  }

  return {
    async mayCall(signal) {
      for (;;) {
        const trip = breaker.trip();
        const retryInMs = breaker.pausesForMs();
        if (trip === null || (retryInMs === 0 && probe === null)) return null;
        if (retryInMs > 0 || probe === null) return { sentence: trip.reason, retryInMs };
        await orAborted(probe.ended.promise, signal);
      }
    },
    begin() {
      const isTripped = breaker.trip() !== null;
      if (isTripped && (breaker.pausesForMs() > 0 || probe !== null)) return null;
      const call = breaker.begin();
      if (isTripped) {
        probe = { call, ended: later() };
      }
      return call;
    },
    worked(call) {
      if (!breaker.counts(call)) return;
      if (breaker.worked()) onChange(null);
      endProbe(call);
    },
    failed(call, sentence, isCertain) {
      if (!breaker.counts(call)) return true;
      const before = breaker.trip()?.reason;
      const isTripped = breaker.failed(sentence, { atOnce: isCertain });
      if (isTripped && before !== sentence) onChange(sentence);
      endProbe(call);
      return isTripped;
    },
    ended: endProbe,
  };
}
