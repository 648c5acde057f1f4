import type { Bucket, SpendWindow } from '../records/spending-rule.js';

/*
 * The amounts that count against a limit in its rolling window. They are kept in 60 buckets of the window's length, so that a window costs
 * the same with any number of spends. An amount counts until its whole bucket has left the window: up to a sixtieth longer than the
 * window, never shorter.
 */

const bucketsInWindow = 60;

/** How much may be spent in any time of this length. */
export interface WindowLimit {
  readonly amount: bigint;
  readonly windowMs: number;
}

/** An amount that a window counts. */
export interface Reserved {
  /** The index of its bucket. */
  readonly bucket: number;
  readonly amount: bigint;
}

/** A window with another amount in it; or that it has no room. */
export type Reservation =
  | { readonly window: SpendWindow; readonly reserved: Reserved }
  | {
      readonly window: null;
      /** What may be spent now. */
      readonly left: bigint;
      /** When the window has room, unless others spend it; null: the amount is above the limit. */
      readonly roomAtMs: number | null;
    };

/** Returns how much of a limit is used at a time. */
export function usedAt(window: SpendWindow, limit: WindowLimit, nowMs: number): bigint {
  return sumOf(counting(window, limit, nowMs));
}

/** Adds an amount to a window if the limit allows it. */
export function reserve(window: SpendWindow, limit: WindowLimit, amount: bigint, nowMs: number): Reservation {
  const kept = counting(window, limit, nowMs);
  const used = sumOf(kept);
  if (used + amount <= limit.amount) {
    // A clock that was set back adds to the newest bucket: nothing that counts already is forgotten earlier for it.
    const bucket = Math.max(Math.floor(nowMs / bucketMsOf(limit)), kept.at(-1)?.index ?? 0);
    return { window: withAmount(kept, bucket, amount), reserved: { bucket, amount } };
  }
  const left = limit.amount > used ? limit.amount - used : 0n;
  return { window: null, left, roomAtMs: amount > limit.amount ? null : roomAt(kept, limit, used + amount - limit.amount) };
}

/** Removes an amount that was reserved and is not spent. One whose bucket has left the window is gone already. */
export function release(window: SpendWindow, { bucket, amount }: Reserved): SpendWindow {
  return window.flatMap((one) => {
    if (one.index !== bucket) return [one];
    return one.amount > amount ? [{ ...one, amount: one.amount - amount }] : [];
  });
}

function bucketMsOf({ windowMs }: WindowLimit): number {
  return Math.ceil(windowMs / bucketsInWindow);
}

/** When the whole bucket has left the window. */
function leavesAtMs({ index }: Pick<Bucket, 'index'>, limit: WindowLimit): number {
  return (index + 1) * bucketMsOf(limit) + limit.windowMs;
}

function counting(window: SpendWindow, limit: WindowLimit, nowMs: number): SpendWindow {
  return window.filter((bucket) => leavesAtMs(bucket, limit) > nowMs);
}

function withAmount(window: SpendWindow, index: number, amount: bigint): SpendWindow {
  if (amount === 0n) return window;
  const newest = window.at(-1);
  if (newest?.index === index) return [...window.slice(0, -1), { index, amount: newest.amount + amount }];
  return [...window, { index, amount }];
}

/** Returns when so much will have left the window. */
function roomAt(window: SpendWindow, limit: WindowLimit, needed: bigint): number | null {
  let freed = 0n;
  for (const bucket of window) {
    freed += bucket.amount;
    if (freed >= needed) return leavesAtMs(bucket, limit);
  }
  return null;
}

function sumOf(window: SpendWindow): bigint {
  return window.reduce((sum, { amount }) => sum + amount, 0n);
}
