/** Returns the lowest of these numbers. */
export function min(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((lowest, other) => (other < lowest ? other : lowest), first);
}

/** Returns the highest of these numbers. */
export function max(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((highest, other) => (other > highest ? other : highest), first);
}

/** Returns the numbers in order, the lowest first. */
export function inOrder(numbers: readonly bigint[]): bigint[] {
  return numbers.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Returns the middle one of these numbers, the lower one of two; undefined if there is none. */
export function lowerMedian(numbers: readonly bigint[]): bigint | undefined {
  return inOrder(numbers)[Math.floor((numbers.length - 1) / 2)];
}

/** Returns the number in the middle, of an even count the higher one; undefined if there are none. */
export function upperMedian(numbers: readonly bigint[]): bigint | undefined {
  return inOrder(numbers)[Math.floor(numbers.length / 2)];
}
