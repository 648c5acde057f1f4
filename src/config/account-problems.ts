import { chainKeyOf } from '../core/relayer/network.js';
import type { Relayer } from '../core/relayer/relayer.js';
import type { Problem } from './problem.js';

/**
 * Relayers that share an account: two on one (chain, address) would take each other's nonces.
 *
 * For when the signers are open; `relayers` in the order of the file. An address is null where it is not known; `origin` is where the relayer
 * comes from (`relayers[2]`).
 */
export function accountProblems(
  relayers: readonly (Pick<Relayer, 'id' | 'network'> & { readonly address: string | null; readonly origin: string })[],
): readonly Problem[] {
  const idOf = new Map<string, string>();
  return relayers.flatMap(({ id, network, address, origin }) => {
    if (address === null) return [];
    // Base58 tells upper from lower case.
    const account = `${chainKeyOf(network)} ${network.type === 'evm' ? address.toLowerCase() : address}`;
    const other = idOf.get(account);
    if (other === undefined) {
      idOf.set(account, id);
      return [];
    }
    return [
      {
        path: `${origin}.signer_id`,
        problem: `has the address ${address}, which relayer ${JSON.stringify(other)} has on the same chain; an account takes one relayer`,
      },
    ];
  });
}
