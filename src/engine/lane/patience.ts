import type { Head } from '../../core/ports/chain.js';
import type { LaneContext } from './lane-context.js';

/**
 * How long a lane waits before it acts on what it cannot prove, or how long it has waited: heads that it has seen, and time. Both must pass:
 * blocks can be fast, and while no head comes, a clock proves nothing.
 */
export interface Patience {
  readonly heads: number;
  readonly ms: number;
}

/** Returns true if the lane has waited as long as its patience. */
export function isOver(patience: Patience, waited: Patience): boolean {
  return waited.heads >= patience.heads && waited.ms >= patience.ms;
}

/** A moment of a lane. */
export interface Moment {
  /** The `Heads.count` then. */
  readonly head: number;
  /** The `elapsedMs` then. */
  readonly ms: number;
}

type Timed = Pick<LaneContext, 'deps' | 'heads'>;

/** Returns the present moment. */
export function momentOf({ deps, heads }: Timed): Moment {
  return { head: heads.count, ms: deps.clock.elapsedMs() };
}

/** Returns how long this moment, or the later of two, is ago. */
export function waitedSince(lane: Timed, moment: Moment, other: Moment = moment): Patience {
  const { head, ms } = momentOf(lane);
  return { heads: head - Math.max(moment.head, other.head), ms: ms - Math.max(moment.ms, other.ms) };
}

/** Something that was seen at one head or more, in a row. */
export interface Lasting {
  /** The heads after the first one. A head at which nobody looked does not count. */
  readonly heads: number;
  readonly lastHash: string;
  /** The `elapsedMs` of the first. */
  readonly sinceMs: number;
}

/** Takes note that it is so at this head. `before`: what was noted last; null: it was not so. A head that is looked at again counts once. */
export function seenAt(before: Lasting | null, { hash }: Pick<Head, 'hash'>, nowMs: number): Lasting {
  if (before === null) return { heads: 0, lastHash: hash, sinceMs: nowMs };
  return before.lastHash === hash ? before : { ...before, heads: before.heads + 1, lastHash: hash };
}

/** Returns how long it has been so. */
export function lasted({ heads, sinceMs }: Lasting, nowMs: number): Patience {
  return { heads, ms: nowMs - sinceMs };
}
