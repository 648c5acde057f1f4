import type { Relayer } from '../records/relayer.js';
import type { Chain } from './chain/chain.js';
import type { Signer } from './signer.js';

/** The relayers of the service, each with its chain and signer. */
export interface Directory {
  relayer(id: string): Relayer | undefined;
  /** Oldest first: in the order of the configuration file, then those created by the API. */
  relayers(): readonly Relayer[];
  chainOf(relayer: Relayer): Chain;
  signerOf(relayer: Relayer): Signer;
  /** Disables a relayer, with the reason that callers read; null enables it again. */
  setDisabled(relayerId: string, reason: string | null): void;
}
