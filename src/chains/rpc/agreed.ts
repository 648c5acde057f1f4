import { DomainError } from '../../core/errors/errors.js';
import { maxOpinions, type Rpc } from './rpc.js';

/**
 * What endpoints show as the block that identifies the chain. `none`: none of them has it; `unproved`: others have not answered, and might
 * show another chain.
 */
export type Identity = { readonly hash: string } | 'none' | 'unproved';

/**
 * Counts what these endpoints show as the block that identifies the chain; null: that one has none. The service remembers the block for
 * ever, so one that is silent counts against it. Throws `NODE_UNAVAILABLE` while no answer has more votes than every other one.
 */
export function agreedIdentity(rpc: Pick<Rpc, 'endpoints'>, shown: readonly (string | null)[]): Identity {
  const votes = new Map<string, number>();
  for (const hash of shown) if (hash !== null) votes.set(hash, (votes.get(hash) ?? 0) + 1);
  const [first, second] = [...votes].toSorted(([, a], [, b]) => b - a);
  if (first === undefined) return 'none';
  if (first[1] === second?.[1])
    throw new DomainError('unavailable', 'NODE_UNAVAILABLE', 'RPC endpoints serve different chains; waiting until most show the same one');
  const silent = Math.min(rpc.endpoints().length, maxOpinions) - shown.length;
  return first[1] > (second?.[1] ?? 0) + silent ? { hash: first[0] } : 'unproved';
}
