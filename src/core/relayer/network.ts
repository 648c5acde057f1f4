/** The kind of a network. */
export type NetworkType = 'evm' | 'stellar' | 'solana';

/** A node's address; URLs with a greater weight are used more, those with weight 0 not at all. */
export interface RpcUrl {
  readonly url: string;
  readonly weight: number;
}

/** A network as configured. */
export interface Network {
  readonly name: string;
  readonly type: NetworkType;
  readonly chainId: bigint;
  readonly rpcUrls: readonly RpcUrl[];
  /** Blocks on top of a transaction's own, itself included, before it is final; at least 1. */
  readonly requiredConfirmations: number;
  readonly averageBlockTimeMs: number;
  /** True where EIP-1559 transactions are taken. */
  readonly eip1559: boolean;
  readonly symbol: string;
  readonly isTestnet: boolean;
  readonly tags: readonly string[];
  readonly explorerUrls: readonly string[];
}

/** What names a chain in the store: its kind and its id on that kind (`evm:31337`). */
export function chainKeyOf(network: Pick<Network, 'type' | 'chainId'>): string {
  return `${network.type}:${network.chainId}`;
}
