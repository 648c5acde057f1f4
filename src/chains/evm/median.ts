/**
 * Returns the median; of an even number of values the lower one, since a price that is too low costs only time. Null counts as the lowest.
 */
export function median<T extends bigint | null>(values: readonly T[]): T | null {
  const order = (value: T): bigint => value ?? -1n;
  const sorted = values.toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** The same, but of an even number of values the higher one. */
export function upperMedian(values: readonly (bigint | null)[]): bigint | null {
  const sorted = values.map((value) => value ?? 0n).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}
