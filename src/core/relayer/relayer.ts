import type { LaneId } from '../transaction/transaction.js';
import { chainKeyOf, type Network, type NetworkType, type RpcUrl } from './network.js';

/** What an EVM relayer may do; defaults are filled in when the configuration is loaded. */
export interface EvmPolicies {
  readonly network: 'evm';
  /** Least balance that must remain after a send. */
  readonly minBalanceWei: bigint;
  /** Greatest price per gas; null: none. */
  readonly gasPriceCapWei: bigint | null;
  /** Allowed receivers, lower case; null: all. The relayer's own address is always allowed. */
  readonly whitelistReceivers: readonly string[] | null;
  /** False: transactions priced by speed are legacy. */
  readonly eip1559Pricing: boolean;
  /** False: the caller must give a gas limit. */
  readonly gasLimitEstimation: boolean;
  /** Transactions that may be signed and in no block at a time; at least 1. */
  readonly maxInFlight: number;
  /** True: the reason of a reverted transaction has the revert data. */
  readonly includeRevertData: boolean;
}

/** What a Stellar relayer may do. */
export interface StellarPolicies {
  readonly network: 'stellar';
  /** Least balance that must remain after a send. */
  readonly minBalanceStroops: bigint;
  /** Greatest fee that one transaction may name or take; null: none. */
  readonly maxFeeStroops: bigint | null;
}

/** What a Solana relayer may do. Programs and accounts are base58. */
export interface SolanaPolicies {
  readonly network: 'solana';
  /** Least balance that must remain after a send. */
  readonly minBalanceLamports: bigint;
  /** Greatest fee of one transaction, priority fee included; null: none. */
  readonly maxAllowedFeeLamports: bigint | null;
  /** Null: all. */
  readonly allowedPrograms: readonly string[] | null;
  /** Null: all; never together with `disallowedAccounts`. */
  readonly allowedAccounts: readonly string[] | null;
  readonly disallowedAccounts: readonly string[];
  /** Of one transaction; null: as many as the chain takes. */
  readonly maxSignatures: number | null;
  /** Of one transaction in wire form; at most 1232. */
  readonly maxTxDataSizeBytes: number;
}

/** What a relayer may do, in the shape of its network. */
export type RelayerPolicies = EvmPolicies | StellarPolicies | SolanaPolicies;

/** A key on a network, with a name and policies: what callers send through and sign with. */
export interface Relayer {
  readonly id: string;
  readonly name: string;
  readonly network: Network;
  readonly networkType: NetworkType;
  /** EVM: EIP-55. Stellar: `G...`. Solana: base58. */
  readonly address: string;
  readonly signerId: string;
  readonly notificationId: string | null;
  /** Instead of the network's own; empty: the network's own. */
  readonly customRpcUrls: readonly RpcUrl[];
  /** Set by an operator. */
  readonly paused: boolean;
  /** Set by the service, with the reason. */
  readonly disabledReason: string | null;
  /** Of the shape of its network. */
  readonly policies: RelayerPolicies;
}

/** The lane of a relayer's account. */
export function laneOf(relayer: Pick<Relayer, 'network' | 'address'>): LaneId {
  return { chain: chainKeyOf(relayer.network), account: relayer.address };
}

/** The least balance that must remain after a send, in the network's smallest unit: wei, stroops, lamports. */
export function minBalanceOf(policies: RelayerPolicies): bigint {
  if (policies.network === 'evm') return policies.minBalanceWei;
  return policies.network === 'stellar' ? policies.minBalanceStroops : policies.minBalanceLamports;
}

/** How many transactions with nonces of the account may be signed and in no block at a time. A Stellar network keeps one waiting transaction of an account. */
export function maxInFlightOf(policies: RelayerPolicies): number {
  return policies.network === 'evm' ? policies.maxInFlight : 1;
}

/** True unless it is paused or disabled. */
export function isActive({ paused, disabledReason }: Pick<Relayer, 'paused' | 'disabledReason'>): boolean {
  return !paused && disabledReason === null;
}

/** What a relayer may do where nothing is said, by the kind of its network: no cap, all receivers, and a little must remain. */
export const defaultPolicies: {
  readonly evm: EvmPolicies;
  readonly stellar: StellarPolicies;
  readonly solana: SolanaPolicies;
} = {
  evm: {
    network: 'evm',
    minBalanceWei: 1n,
    gasPriceCapWei: null,
    whitelistReceivers: null,
    eip1559Pricing: true,
    gasLimitEstimation: true,
    maxInFlight: 16,
    includeRevertData: false,
  },
  // A tenth of a lumen and a hundredth of a SOL, as the existing relayer has it; a Stellar network itself keeps back more.
  stellar: { network: 'stellar', minBalanceStroops: 1_000_000n, maxFeeStroops: null },
  solana: {
    network: 'solana',
    minBalanceLamports: 10_000_000n,
    maxAllowedFeeLamports: null,
    allowedPrograms: null,
    allowedAccounts: null,
    disallowedAccounts: [],
    maxSignatures: null,
    maxTxDataSizeBytes: 1232,
  },
};
