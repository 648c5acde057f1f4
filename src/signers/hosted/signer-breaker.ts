import { orAborted } from '../../core/work/abort.js';
import type { DurationClock } from '../../core/work/clock.js';

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
  begin(): number | null;
  /** Records an answered call. */
  worked(call: number): void;
  /**
   * Records a failed call; `isCertain`: a repetition will fail too. A call that began before the breaker tripped adds nothing. Returns true
   * if it is tripped now.
   */
  failed(call: number, sentence: string, isCertain: boolean): boolean;
  /** Records that a call ended without an outcome that says anything about the key. */
  ended(call: number): void;
}

/** Consecutive failures that trip the breaker. */
const maxFailures = 3;
const pauseMs = { first: 500, longest: 30_000 };

/** Makes the breaker of one key. `onChange`: it tripped for this reason, or works again (null). */
export function createSignerBreaker(clock: Pick<DurationClock, 'elapsedMs'>, onChange: (reason: string | null) => void): SignerBreaker {
  let marks = 0;
  let failures = 0;
  let trips = 0;
  let trip: { readonly sentence: string; readonly untilMs: number; readonly mark: number } | null = null;
  /** The call that tries the key after the pause, and the calls that wait for it. */
  let probe: { readonly call: number; readonly ended: Promise<void>; readonly end: () => void } | null = null;

  function current(): Trip | null {
    return trip === null ? null : { sentence: trip.sentence, retryInMs: Math.max(0, Math.ceil(trip.untilMs - clock.elapsedMs())) };
  }

  function endProbe(call: number): void {
    if (probe?.call !== call) return;
    probe.end();
    probe = null;
  }

  return {
    async mayCall(signal) {
      for (;;) {
        const known = current();
        if (known === null || (known.retryInMs === 0 && probe === null)) return null;
        if (known.retryInMs > 0 || probe === null) return known;
        await orAborted(probe.ended, signal);
      }
    },
    begin() {
      const known = current();
      if (known !== null && (known.retryInMs > 0 || probe !== null)) return null;
      marks += 1;
      if (known !== null) {
        const { promise: ended, resolve: end } = withResolvers();
        probe = { call: marks, ended, end };
      }
      return marks;
    },
    worked(call) {
      if (trip !== null && call <= trip.mark) return;
      failures = 0;
      if (trip !== null) {
        trip = null;
        trips = 0;
        onChange(null);
      }
      endProbe(call);
    },
    failed(call, sentence, isCertain) {
      if (trip !== null && call <= trip.mark) return true;
      failures += 1;
      if (trip !== null || isCertain || failures >= maxFailures) {
        if (trip?.sentence !== sentence) onChange(sentence);
        trip = { sentence, mark: marks, untilMs: clock.elapsedMs() + Math.min(pauseMs.longest, pauseMs.first * 2 ** Math.min(trips, 16)) };
        trips += 1;
        failures = 0;
      }
      endProbe(call);
      return trip !== null;
    },
    ended: endProbe,
  };
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
