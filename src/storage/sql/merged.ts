import { setImmediate } from 'node:timers/promises';

/** A part of a list, whose rows are read newest first. */
export interface Part<R> {
  /** Its first rows, at least one, newest first. */
  readonly first: readonly R[];
  /** True: it has no others. */
  readonly isWhole: boolean;
  /** Reads the next rows before a position. */
  read(range: { readonly before: number; readonly limit: number }): Promise<readonly R[]>;
}

/** The most rows that one query reads: SQLite answers in this thread. */
const maxStride = 4_000;
/** How many parts are read together: one after the other would cost a round trip each. */
const readTogether = 32;

interface Cursor<R> {
  readonly part: Part<R>;
  /** Rows that are read, oldest first. */
  rows: R[];
  /** The part has no rows from this position on that are not read. */
  before: number;
  stride: number;
  isEnded: boolean;
}

/**
 * Merges parts of a list into one, newest first. Reads on only in parts whose rows come next, few rows first and then more. Ends when
 * `maxRead` rows were read, and then returns true: the list may have more.
 */
export async function* merged<R extends { readonly seq: number }>(parts: readonly Part<R>[], maxRead: number): AsyncGenerator<R, boolean> {
  const cursors = parts.map((part): Cursor<R> => {
    const { first, isWhole } = part;
    return { part, rows: first.toReversed(), before: first.at(-1)?.seq ?? 0, stride: 4 * first.length, isEnded: isWhole };
  });
  const topOf = ({ rows, before }: Cursor<R>): number => rows.at(-1)?.seq ?? before - 1;
  // The cursor whose row comes next is the last one.
  cursors.sort((left, right) => topOf(left) - topOf(right));
  const putBack = (cursor: Cursor<R>) => {
    if (cursor.rows.length === 0 && cursor.isEnded) return;
    const top = topOf(cursor);
    let [low, high] = [0, cursors.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (topOf(cursors[middle] as Cursor<R>) < top) low = middle + 1;
      else high = middle;
    }
    cursors.splice(low, 0, cursor);
  };
  let left = parts.reduce((rest, { first }) => rest - first.length, maxRead);
  for (let cursor = cursors.pop(); cursor !== undefined; cursor = cursors.pop()) {
    const row = cursor.rows.pop();
    if (row !== undefined) {
      putBack(cursor);
      yield row;
      continue;
    }
    const due = [cursor];
    while (due.length < readTogether && cursors.at(-1)?.rows.length === 0) due.push(cursors.pop() as Cursor<R>);
    const limits = due.map((one) => {
      const limit = Math.min(one.stride, left);
      left -= limit;
      return limit;
    });
    if (limits.includes(0)) return true;
    await Promise.all(due.map((one, index) => readNext(one, limits[index] as number)));
    // Rows that were asked for, but are not there, were not read.
    for (const [index, one] of due.entries()) left += (limits[index] as number) - one.rows.length;
    due.forEach(putBack);
    await setImmediate();
  }
  return false;
}

async function readNext<R extends { readonly seq: number }>(cursor: Cursor<R>, limit: number): Promise<void> {
  const rows = await cursor.part.read({ before: cursor.before, limit });
  cursor.isEnded = rows.length < limit;
  cursor.before = rows.at(-1)?.seq ?? cursor.before;
  cursor.stride = Math.min(4 * cursor.stride, maxStride);
  cursor.rows = rows.toReversed();
}
