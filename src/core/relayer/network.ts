import type { Curve } from '../ports/signer.js';

/** The kind of a network. */
export type NetworkType = 'evm' | 'stellar' | 'solana';

/** What amounts are counted in, by network. */
export const smallestUnits: Readonly<Record<NetworkType, string>> = { evm: 'wei', stellar: 'stroops', solana: 'lamports' };

/** A node's address; URLs with a greater weight are used more, those with weight 0 not at all. */
export interface RpcUrl {
  readonly url: string;
  readonly weight: number;
}

/** What networks of every kind have. */
interface NetworkFields {
  /** Unique within its kind. */
  readonly name: string;
  readonly rpcUrls: readonly RpcUrl[];
  /** Blocks on top of a transaction's own, itself included, before it is final; at least 1. Always 1 where the chain itself says what is final. */
  readonly requiredConfirmations: number;
  readonly averageBlockTimeMs: number;
  readonly symbol: string;
  readonly isTestnet: boolean;
  readonly tags: readonly string[];
  readonly explorerUrls: readonly string[];
}

/** An EVM network as configured. */
export interface EvmNetwork extends NetworkFields {
  readonly type: 'evm';
  readonly chainId: bigint;
  /** True where EIP-1559 transactions are taken. */
  readonly eip1559: boolean;
}

/** A Stellar network as configured; its `rpcUrls` are Soroban RPC. */
export interface StellarNetwork extends NetworkFields {
  readonly type: 'stellar';
  /** Its hash is part of every signature: it is what a Stellar network is. */
  readonly passphrase: string;
}

/** A Solana cluster as configured. */
export interface SolanaNetwork extends NetworkFields {
  readonly type: 'solana';
}

/** A network as configured. */
export type Network = EvmNetwork | StellarNetwork | SolanaNetwork;

/** The curve that accounts of a network are on. */
export function curveOf(type: NetworkType): Curve {
  return type === 'evm' ? 'secp256k1' : 'ed25519';
}

/**
 * What names a chain in the store: its kind and what tells it from others of that kind (`evm:31337`, `stellar:<passphrase>`, `solana:<name>`).
 *
 * Two names of one EVM or Stellar network are one chain; Solana has nothing in a configuration that tells clusters apart but their names.
 */
export function chainKeyOf(network: Network): string {
  if (network.type === 'evm') return `evm:${network.chainId}`;
  if (network.type === 'stellar') return `stellar:${network.passphrase}`;
  return `solana:${network.name}`;
}
