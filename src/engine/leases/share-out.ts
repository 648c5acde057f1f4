/** Who holds the units of one kind. */
export interface Shares {
  /** The instances that may hold some. */
  readonly members: readonly number[];
  /** The holder of each unit by its key; null: none. */
  readonly holders: ReadonlyMap<string, number | null>;
}

/**
 * Returns how many units an instance should hold. Each holds the same number, or one more: instances that hold most now keep what is left
 * over, so that nothing moves without need. All instances compute the same from the same state; if they have seen different states, the
 * next look corrects it.
 */
export function shareOf(member: number, { members, holders }: Shares): number {
  if (!members.includes(member)) return 0;
  const held = new Map(members.map((number) => [number, 0]));
  for (const holder of holders.values()) {
    const count = holder === null ? undefined : held.get(holder);
    if (holder !== null && count !== undefined) held.set(holder, count + 1);
  }
  const most = [...held].sort(([a, heldByA], [b, heldByB]) => heldByB - heldByA || a - b).map(([number]) => number);
  const each = Math.floor(holders.size / members.length);
  return most.indexOf(member) < holders.size % members.length ? each + 1 : each;
}
