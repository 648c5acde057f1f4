/**
 * How long to wait before acting on a fact without proof, or how long a fact has lasted: heads that were seen, and time. Both must pass:
 * blocks can be fast, and while no head comes, a clock proves nothing. Heads are counted, since one wrong height would end the wait.
 */
export interface Patience {
  readonly heads: number;
  readonly ms: number;
}

/** Returns true if the wait is as long as the patience. */
export function isOver(patience: Patience, waited: Patience): boolean {
  return waited.heads >= patience.heads && waited.ms >= patience.ms;
}

/** A fact that was seen at one head or more, in a row. */
export interface Lasting {
  /** The heads after the first one. A head without a look does not count. */
  readonly heads: number;
  readonly lastHash: string;
  /** The `elapsedMs` of the first. */
  readonly sinceMs: number;
}

/** Takes note of a fact at this head. `before`: the last note; null: there was none. A second look at a head does not count. */
export function seenAt(before: Lasting | null, { hash }: { readonly hash: string }, nowMs: number): Lasting {
  if (before === null) return { heads: 0, lastHash: hash, sinceMs: nowMs };
  const { heads, lastHash, sinceMs } = before;
  return { heads: lastHash === hash ? heads : heads + 1, lastHash: hash, sinceMs };
}

/** Returns how long a fact has lasted. */
export function lasted({ heads, sinceMs }: Lasting, nowMs: number): Patience {
  return { heads, ms: nowMs - sinceMs };
}
