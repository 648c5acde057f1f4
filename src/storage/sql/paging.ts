import { setImmediate } from 'node:timers/promises';
import type { PageOf, PageQuery } from '../../core/ports/store/page.js';
import type { Query, Statement } from './statement.js';

/** Rows that were walked over. */
export interface Walked {
  readonly count: number;
  /** The `seq` of the oldest; null if there is none. */
  readonly last: number | null;
}

/** Rows that one query walks over: few enough that nothing else waits long. SQLite answers in this thread. */
const stride = 4_000;

/** Walks over at most `limit` rows before a `seq`, newest first. */
export type Walk = (part: { readonly before: number; readonly limit: number }) => Promise<readonly Walked[]>;

/** A list without a stored total. */
interface CountedList {
  readonly walk: Walk;
  readonly positionOf: Statement<{ id: string }, { seq: number }>;
  /** The number of rows that are counted from the start of a page. */
  readonly counted: number;
}

/**
 * Walks over the next `wanted` rows of a list, newest first. Returns how many there were, and the `seq` that the rest of the list is
 * before. A page far back is found this way; an offset would do the same in one go, while everything else waits.
 */
export async function walkOver(walk: Walk, wanted: number, from = Number.MAX_SAFE_INTEGER): Promise<{ before: number; count: number }> {
  let before = from;
  let count = 0;
  while (count < wanted) {
    const limit = Math.min(stride, wanted - count);
    const [walked] = await walk({ before, limit });
    if (walked === undefined || walked.last === null) break;
    count += walked.count;
    before = walked.last;
    if (walked.count < limit) break;
    await setImmediate();
  }
  return { before, count };
}

/**
 * Counts a list, at most `counted` rows from the start of the page, and returns the `seq` that the page is before; null: it is past the
 * end.
 */
export async function placeOf(
  query: Query,
  { walk, positionOf, counted }: CountedList,
  { offset, after }: PageQuery,
): Promise<{ readonly length: Omit<PageOf<never>, 'items'>; readonly before: number | null }> {
  const { before, count } = await walkOver(walk, offset);
  // One row more shows that there are more.
  const { count: found } = await walkOver(walk, counted + 1, before);
  const [position] = after === undefined ? [] : await query(positionOf, { id: after });
  return {
    length: { total: count + Math.min(found, counted), ...(found > counted ? { hasMore: true } : {}) },
    before: found === 0 ? null : (position?.seq ?? before),
  };
}
