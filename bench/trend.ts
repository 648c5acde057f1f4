/** How a series changes, regardless of single values that stand out. */
export interface Trend {
  /** The value at the beginning of the fitted line. */
  readonly first: number;
  /** The value at its end. */
  readonly last: number;
  /** True if values that only vary by chance would rise as steadily less than once in a hundred series. */
  readonly isRising: boolean;
}

/** One in a hundred, of the normal distribution's upper end. */
const significantZ = 2.33;

/**
 * Fits a line to values at equal distances: its slope is the median of the slopes between all pairs (Theil and Sen), so that a few values that stand out have no
 * effect. Whether the series rises at all is decided by how many pairs do (Mann and Kendall).
 */
export function trendOf(values: readonly number[]): Trend {
  const slopes: number[] = [];
  let rising = 0;
  for (const [later, value] of values.entries())
    for (const [earlier, before] of values.slice(0, later).entries()) {
      slopes.push((value - before) / (later - earlier));
      rising += Math.sign(value - before);
    }
  const slope = medianOf(slopes);
  const first = medianOf(values.map((value, index) => value - slope * index));
  const { length } = values;
  const deviation = Math.sqrt((length * (length - 1) * (2 * length + 5)) / 18);
  return { first, last: first + slope * Math.max(0, length - 1), isRising: (rising - 1) / deviation > significantZ };
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
