import { DomainError } from '../../core/errors/errors.js';

/**
 * Returns what most of these endpoints show as the block that identifies the chain; null: none shows one. Throws `NODE_UNAVAILABLE` while
 * no answer has more votes than every other one: the service remembers the block for ever, so no endpoint alone decides it.
 */
export function agreedIdentity(shown: readonly (string | null)[]): string | null {
  const votes = new Map<string, number>();
  for (const hash of shown) if (hash !== null) votes.set(hash, (votes.get(hash) ?? 0) + 1);
  const [first, second] = [...votes].toSorted(([, a], [, b]) => b - a);
  if (first !== undefined && first[1] === second?.[1])
    throw new DomainError('unavailable', 'NODE_UNAVAILABLE', 'RPC endpoints serve different chains; waiting until most show the same one');
  return first?.[0] ?? null;
}
