import type { Bucket, SpendWindow } from '../records/spending-rule.js';

/*
 * The amounts that count against a limit in its rolling window. What a transaction reserves counts until it has ended, since until then it
 * may be paid at any time; what it has spent counts from then on until it leaves the window. So the chain, however long a transaction
 * waits, never pays more than the limit in any time of the window's length. What was spent is kept in 60 buckets of the window's length,
 * so that a window costs the same with any number of spends: an amount counts up to a sixtieth longer than the window, never shorter.
 *
 * What a signature can move, it may move at any time until its deadline, and the service does not see it. It counts from the signature on
 * as what will be spent at the deadline. A contract compares the deadline with the time of the block, which is behind the clocks while the
 * network stands still or catches up.
 */

const bucketsInWindow = 60;

/** How much may be spent in any time of this length. */
export interface WindowLimit {
  readonly amount: bigint;
  readonly windowMs: number;
}

/** The times by which amounts leave a window. */
export interface WindowTimes {
  /** By the clock that all instances agree on. */
  readonly nowMs: number;
  /** Of the newest block of the network; null: none was seen yet, so what signatures can move does not leave. */
  readonly blockMs: number | null;
}

/** A window with another amount in it; or that it has no room. */
export type Reservation = { readonly window: SpendWindow } | NoRoom;

interface NoRoom {
  readonly window: null;
  /** What may be spent now. */
  readonly left: bigint;
  /**
   * When the window has room, unless others spend it, or when it is worth looking, if that depends on transactions that have not ended;
   * null: the amount is above the limit.
   */
  readonly roomAtMs: number | null;
}

/** A window in which nothing counts. */
export function emptyWindow(windowMs: number): SpendWindow {
  return { windowMs, open: 0n, spent: [] };
}

/** Returns how much of a limit is used at a time. */
export function usedAt(window: SpendWindow, times: WindowTimes): bigint {
  return window.open + sumOf(counting(window, times.nowMs)) + sumOf(grantedAt(window, times));
}

/** Returns what signatures can still move. */
export function openAt(window: SpendWindow, times: WindowTimes): bigint {
  const present = Math.floor(signedNowMs(times) / bucketMsOf(window));
  return window.open + sumOf(grantedAt(window, times).filter(({ index }) => index >= present));
}

/** Adds an amount to a window if the limit allows it. */
export function reserve(window: SpendWindow, limit: WindowLimit, amount: bigint, times: WindowTimes): Reservation {
  const counted = current(window, times);
  return noRoom(counted, limit, amount, times) ?? { window: { ...counted, open: counted.open + amount } };
}

/** Adds what a signature can move until then, which is at most the window's length ahead. */
export function grant(
  window: SpendWindow,
  limit: WindowLimit,
  { amount, untilMs }: { readonly amount: bigint; readonly untilMs: number },
  times: WindowTimes,
): Reservation {
  const counted = current(window, times);
  const refused = noRoom(counted, limit, amount, times);
  if (refused !== null || amount === 0n) return refused ?? { window: counted };
  const index = Math.floor(Math.max(untilMs, times.nowMs) / bucketMsOf(window));
  const before = counted.granted ?? [];
  const same = before.find((bucket) => bucket.index === index);
  const others = before.filter((bucket) => bucket !== same);
  const granted = [...others, { index, amount: amount + (same?.amount ?? 0n) }].sort((a, b) => a.index - b.index);
  return { window: { ...counted, granted } };
}

/** The window without what counts no more. */
function current(window: SpendWindow, times: WindowTimes): SpendWindow {
  const { granted: _, ...rest } = window;
  const granted = grantedAt(window, times);
  return { ...rest, spent: counting(window, times.nowMs), ...(granted.length === 0 ? {} : { granted }) };
}

/** Null: a window, in which everything counts, has room for the amount. */
function noRoom(window: SpendWindow, limit: WindowLimit, amount: bigint, times: WindowTimes): NoRoom | null {
  const used = window.open + sumOf(window.spent) + sumOf(window.granted ?? []);
  if (used + amount <= limit.amount) return null;
  const left = limit.amount > used ? limit.amount - used : 0n;
  if (amount > limit.amount) return { window: null, left, roomAtMs: null };
  const freedAtMs = freedAt(window, used + amount - limit.amount, times);
  return { window: null, left, roomAtMs: freedAtMs ?? times.nowMs + bucketMsOf(window) };
}

/** Removes an amount that was reserved and is not spent. */
export function release(window: SpendWindow, amount: bigint): SpendWindow {
  return { ...window, open: window.open > amount ? window.open - amount : 0n };
}

/** Counts an amount that was reserved as spent at this time. */
export function spend(window: SpendWindow, amount: bigint, nowMs: number): SpendWindow {
  const spent = counting(window, nowMs);
  const newest = spent.at(-1);
  // A clock that was set back a little adds to the newest bucket: nothing that counts already is forgotten earlier for it.
  const index = Math.max(Math.floor(nowMs / bucketMsOf(window)), newest?.index ?? 0);
  if (amount === 0n) return { ...release(window, amount), spent };
  if (newest?.index !== index) return { ...release(window, amount), spent: [...spent, { index, amount }] };
  return { ...release(window, amount), spent: [...spent.slice(0, -1), { ...newest, amount: newest.amount + amount }] };
}

function bucketMsOf({ windowMs }: Pick<SpendWindow, 'windowMs'>): number {
  return Math.ceil(windowMs / bucketsInWindow);
}

/** When the whole bucket has left the window. If the clock gets to where it seemed to be ahead, it was right there. */
function leavesAtMs({ index, aheadIndex }: Bucket, window: SpendWindow, nowMs: number): number {
  const bucketMs = bucketMsOf(window);
  const last = aheadIndex !== undefined && aheadIndex * bucketMs <= nowMs ? aheadIndex : index;
  return (last + 1) * bucketMs + window.windowMs;
}

function counting(window: SpendWindow, nowMs: number): readonly Bucket[] {
  return withoutFuture(window, nowMs).spent.filter((bucket) => leavesAtMs(bucket, window, nowMs) > nowMs);
}

/** The time of the next block is not earlier than this, also if clocks are ahead of it. */
function signedNowMs({ nowMs, blockMs }: WindowTimes): number {
  return blockMs === null ? 0 : Math.min(nowMs, blockMs);
}

/** A clock that is behind forgets nothing: what counts leaves at its own time. */
function grantedAt(window: SpendWindow, times: WindowTimes): readonly Bucket[] {
  const signedNow = signedNowMs(times);
  return (window.granted ?? []).filter((bucket) => leavesAtMs(bucket, window, signedNow) > signedNow);
}

/**
 * Returns a window in which nothing that was spent counts for longer than its length from now. A clock that was ahead has dated amounts
 * that were spent before now: they count as spent now. Clocks of instances differ by less than a bucket. Returns the window itself if
 * nothing is ahead.
 */
export function withoutFuture(window: SpendWindow, nowMs: number): SpendWindow {
  const present = Math.floor(nowMs / bucketMsOf(window));
  const newest = window.spent.at(-1)?.index ?? 0;
  if (newest <= present + 1) return window;
  const later = window.spent.filter(({ index }) => index >= present);
  const aheadIndex = Math.max(newest, ...later.map((one) => one.aheadIndex ?? 0));
  return {
    ...window,
    spent: [...window.spent.filter(({ index }) => index < present), { index: present, amount: sumOf(later), aheadIndex }],
  };
}

/** Returns when so much of what was spent will have left the window; null: there is not so much. */
function freedAt(window: SpendWindow, needed: bigint, times: WindowTimes): number | null {
  let freed = 0n;
  const { nowMs, blockMs } = times;
  const leavingAt = (buckets: readonly Bucket[], byMs: number, notBeforeMs = 0) =>
    buckets.map((bucket) => ({ amount: bucket.amount, atMs: Math.max(notBeforeMs, leavesAtMs(bucket, window, byMs) + nowMs - byMs) }));
  const granted = window.granted ?? [];
  // Until a block is seen, it is worth looking again.
  const signed = blockMs === null ? leavingAt(granted, nowMs, nowMs + bucketMsOf(window)) : leavingAt(granted, signedNowMs(times));
  const leaving = [...leavingAt(window.spent, nowMs), ...signed];
  for (const { amount, atMs } of leaving.sort((a, b) => a.atMs - b.atMs)) {
    freed += amount;
    if (freed >= needed) return atMs;
  }
  return null;
}

function sumOf(buckets: readonly Bucket[]): bigint {
  return buckets.reduce((sum, { amount }) => sum + amount, 0n);
}
