/** The types of networks, as the API and the configuration file name them. */
export const networkTypes = ['evm', 'stellar', 'solana'] as const;

/** The type of a network. */
export type NetworkType = (typeof networkTypes)[number];

/** The name of the curve of a signing key. */
export type Curve = 'secp256k1' | 'ed25519';

/** The unit of amounts, by network type. */
export const smallestUnits: Readonly<Record<NetworkType, string>> = { evm: 'wei', stellar: 'stroops', solana: 'lamports' };

/** The number of decimals of the native coin, by network type. */
export const decimalsOf: Readonly<Record<NetworkType, number>> = { evm: 18, stellar: 7, solana: 9 };

/** The usual time between blocks; EVM networks have none in common. */
export const usualBlockTimeMs: Readonly<Record<NetworkType, number | null>> = { evm: null, stellar: 5_000, solana: 400 };

/** The URL of an RPC endpoint. A higher weight means more calls, weight 0 none. */
export interface RpcUrl {
  readonly url: string;
  readonly weight: number;
  /** Of each request; absent: none. The values are secret. */
  readonly headers?: readonly RpcHeader[] | undefined;
}

/** A header of the requests to an RPC endpoint. */
export interface RpcHeader {
  readonly name: string;
  readonly value: string;
}

/** The fields that all network types share. */
interface NetworkFields {
  /** Unique within its type. */
  readonly name: string;
  readonly rpcUrls: readonly RpcUrl[];
  /** Blocks that make a transaction final, counting its own; at least 1. Always 1 on chains with a finality of their own. */
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
  /** True if the network accepts EIP-1559 transactions. */
  readonly eip1559: boolean;
}

/** A Stellar network as configured; its `rpcUrls` serve Soroban RPC. */
export interface StellarNetwork extends NetworkFields {
  readonly type: 'stellar';
  /** Identifies the network: its hash is part of every signature. */
  readonly passphrase: string;
}

/** A Solana cluster as configured. */
export interface SolanaNetwork extends NetworkFields {
  readonly type: 'solana';
}

/** A network as configured. */
export type Network = EvmNetwork | StellarNetwork | SolanaNetwork;

/** Returns the curve of a network type's accounts. */
export function curveOf(type: NetworkType): Curve {
  return type === 'evm' ? 'secp256k1' : 'ed25519';
}

/**
 * Returns the chain's key in the store: `evm:31337`, `stellar:<passphrase>`, `solana:<name>`.
 *
 * Two names of one EVM or Stellar network share a chain. Only their names distinguish Solana clusters in a configuration.
 */
export function chainKeyOf(network: Network): string {
  if (network.type === 'evm') return `evm:${network.chainId}`;
  if (network.type === 'stellar') return `stellar:${network.passphrase}`;
  return `solana:${network.name}`;
}
