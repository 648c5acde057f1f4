import type { DurationClock } from '../../core/work/clock.js';
import type { Patience } from '../../core/work/patience.js';
import type { Heads } from './heads.js';

/** A moment of a lane. */
export interface Moment {
  /** The `Heads.count` then. */
  readonly head: number;
  /** The `elapsedMs` then. */
  readonly ms: number;
}

/** The time of a lane. */
interface Timed {
  readonly deps: { readonly clock: DurationClock };
  readonly heads: Pick<Heads, 'count'>;
}

/** Returns the present moment. */
export function momentOf({ deps, heads }: Timed): Moment {
  return { head: heads.count, ms: deps.clock.elapsedMs() };
}

/** Returns how long this moment, or the later of two, is ago. */
export function waitedSince(lane: Timed, moment: Moment, other: Moment = moment): Patience {
  const { head, ms } = momentOf(lane);
  return { heads: head - Math.max(moment.head, other.head), ms: ms - Math.max(moment.ms, other.ms) };
}
