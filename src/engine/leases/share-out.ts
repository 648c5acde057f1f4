/** Who holds the units of one kind. */
export interface Shares {
  /** The instances that may hold some. */
  readonly members: readonly number[];
  /** The number of units. */
  readonly count: number;
  /** How many of them an instance holds. */
  readonly held: ReadonlyMap<number, number>;
}

/**
 * Returns how many units an instance should hold. Each holds the same number, or one more: instances that hold most now keep what is left
 * over, so that nothing moves without need. All instances compute the same from the same state; if they have seen different states, the
 * next look corrects it.
 */
export function shareOf(member: number, { members, count, held }: Shares): number {
  if (!members.includes(member)) return 0;
  const heldBy = (number: number): number => held.get(number) ?? 0;
  const most = [...members].sort((a, b) => heldBy(b) - heldBy(a) || a - b);
  const each = Math.floor(count / members.length);
  return most.indexOf(member) < count % members.length ? each + 1 : each;
}
