/** A value at a time. */
export interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** The most points that a small chart shows: about one in three pixels. */
const maxPoints = 144;

/**
 * Combines neighbouring points, so that a small chart draws few. Peaks must stay visible: of a level the highest value counts, and counts
 * are added.
 */
export function condensed(points: readonly Point[], combine: 'highest' | 'sum'): readonly Point[] {
  if (points.length <= maxPoints) return points;
  const size = Math.ceil(points.length / maxPoints);
  const result: Point[] = [];
  for (let start = 0; start < points.length; start += size) {
    const part = points.slice(start, start + size);
    const values = part.map(({ value }) => value);
    const value = combine === 'sum' ? values.reduce((a, b) => a + b, 0) : Math.max(...values);
    result.push({ atMs: part.at(-1)?.atMs ?? 0, value });
  }
  return result;
}

/** Returns the index of the point nearest to a time; -1 without points. */
export function nearestIndex(points: readonly Point[], atMs: number): number {
  let best = -1;
  for (const [index, point] of points.entries()) {
    const before = points[best];
    if (before === undefined || Math.abs(point.atMs - atMs) < Math.abs(before.atMs - atMs)) best = index;
  }
  return best;
}

/** Returns the next round number at or above a value, for the top of an axis; at least 1. */
export function roundTop(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}
