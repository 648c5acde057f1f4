import type { Relayer } from '../relayer/relayer.js';
import type { Chain } from './chain.js';
import type { Signer } from './signer.js';

/** What the service was configured with: relayers, and what each works with. */
export interface Directory {
  relayer(id: string): Relayer | undefined;
  /** In the order of the configuration file. */
  relayers(): readonly Relayer[];
  chainOf(relayer: Relayer): Chain;
  signerOf(relayer: Relayer): Signer;
  /** Takes a relayer out of service until the next start; `reason` is what callers read. */
  disable(relayerId: string, reason: string): void;
}
