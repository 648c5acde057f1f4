import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../errors/errors.js';
import { networkIdOf } from '../network/networks.js';
import type { Relayer } from '../records/relayer.js';

/*
 * The configuration file can lock the policies of a relayer. Then a key with the scope `admin` must not get around them. It could change
 * them; delete the relayer and create it again; or give it nodes that lie, since the word of a node that a payment has failed frees its
 * amount. On Solana, where a message names no cluster, it could also pay with the same key as a relayer of another cluster, whose node
 * returns a blockhash of this one.
 */

/** True if what one relayer sends can pay from the account of the other. */
function paysFor(one: Pick<Relayer, 'id' | 'address' | 'networkType'>, other: Relayer): boolean {
  return one.id === other.id || (one.networkType === 'solana' && other.networkType === 'solana' && one.address === other.address);
}

/** Throws `forbidden` POLICIES_LOCKED if the policies are locked of a relayer for whose account this one can pay. */
export function requireUnlocked(relayers: readonly Relayer[], relayer: Pick<Relayer, 'id' | 'address' | 'networkType'>): void {
  const locked = relayers.find((one) => one.policiesLocked && paysFor(relayer, one));
  if (locked !== undefined) throw lockedBy(locked.id);
}

/** Throws as `requireUnlocked` does, unless a change does no more than to pause the relayer, or to resume it. */
export function requireUnlockedChange(relayers: readonly Relayer[], relayer: Relayer, change: Partial<Relayer>): void {
  const fields = Object.keys(change) as (keyof Relayer)[];
  const isOnlyPause = fields.every((field) => field === 'paused' || isDeepStrictEqual(change[field], relayer[field]));
  if (!isOnlyPause) requireUnlocked(relayers, relayer);
}

/** Throws `forbidden` POLICIES_LOCKED if a relayer under a lock uses the RPC URLs of this network. */
export function requireUnlockedNodes(relayers: readonly Relayer[], networkId: string): void {
  for (const relayer of relayers)
    if (networkIdOf(relayer.network) === networkId && relayer.customRpcUrls.length === 0) requireUnlocked(relayers, relayer);
}

/** The error of a call that could loosen the policies of this relayer, which are locked. */
export function lockedBy(id: string): DomainError {
  const sentence = `the configuration file has locked the policies of relayer ${id}: over the API it can only be paused; change the file`;
  return new DomainError('forbidden', 'POLICIES_LOCKED', sentence, { metadata: { relayer_id: id } });
}
