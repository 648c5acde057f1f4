/** Puts an entry into a memory as its newest one. A memory of more than `most` entries forgets the oldest. */
export function remember<K, V>(memory: Map<K, V>, key: K, value: V, most: number): void {
  memory.delete(key);
  memory.set(key, value);
  const [oldest] = memory.keys();
  if (memory.size > most && oldest !== undefined) memory.delete(oldest);
}
