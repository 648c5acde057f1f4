import type { Relayer } from '../relayer/relayer.js';
import type { Chain } from './chain.js';
import type { Signer } from './signer.js';

/** What the service works with: relayers, and what each works with. */
export interface Directory {
  relayer(id: string): Relayer | undefined;
  /** Oldest first: in the order of the configuration file, then those of the API. */
  relayers(): readonly Relayer[];
  chainOf(relayer: Relayer): Chain;
  signerOf(relayer: Relayer): Signer;
  /** Takes a relayer out of service, with the reason that callers read; null: takes it back. */
  setDisabled(relayerId: string, reason: string | null): void;
}
