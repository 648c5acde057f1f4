import type { Refusal } from '../../core/ports/chain.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarBid } from '../../core/transaction/stellar.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Account } from './account.js';
import type { Broadcaster } from './broadcast.js';
import type { Market } from './market.js';

/** What drafting works with. */
export interface DraftDeps {
  readonly rpc: Rpc;
  readonly market: Market;
  readonly networkName: string;
  readonly networkId: Buffer;
  readonly broadcaster: Broadcaster;
}

/** What one version is drafted from. */
export interface Drafting extends DraftDeps {
  readonly policies: StellarPolicies;
  readonly isFiller: boolean;
  /** The relayer's account. */
  readonly payer: Account;
  readonly payerAddress: string;
  /** The bids of the versions that a node may still hold. */
  readonly outbids: readonly StellarBid[];
  readonly validUntilMs: number | null;
  readonly nextNonce: bigint | null;
}

/** Why nothing can be drafted for an account that no ledger has. */
export function noAccount(address: string, networkName: string): Refusal {
  return {
    refused: 'insufficient_funds',
    sentence: `account ${address} does not exist on ${networkName} yet: it must be funded`,
    lasting: false,
  };
}
