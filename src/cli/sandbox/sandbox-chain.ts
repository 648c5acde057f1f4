import type { Network } from '../../core/relayer/network.js';
import type { RelayerPolicies } from '../../core/relayer/relayer.js';

/** A local chain of the sandbox, and what is to be known of the relayer on it. */
export interface SandboxChain {
  readonly relayerId: string;
  readonly relayerName: string;
  readonly network: Network;
  readonly policies: RelayerPolicies;
  /** A sentence for the user: what is there, and where. */
  readonly told: string;
  /** What the greeting shows of the relayer with this address. */
  commands(address: string): ChainCommands;
  /** True when the transactions in the database of an earlier start are not of this chain. */
  isNewTo(databaseUrl: string): Promise<boolean>;
  /** Gives the relayer's account what it needs. */
  fund(address: string): Promise<void>;
  stop(): Promise<void>;
}

/** Commands that a user copies. */
export interface ChainCommands {
  /** The name of the network, as in "send on ...". */
  readonly networkName: string;
  /** Body of a transaction, as JSON. */
  readonly send: string;
  /** Body of what replaces it, as JSON. */
  readonly replace: string;
  /** What lets the transaction be mined, with what that is called; null: nothing needs to be done. */
  readonly makeBlock: { readonly does: string; readonly command: string } | null;
}

/** Thrown with one sentence for the user when there can be no local chain. */
export class LocalChainError extends Error {}
