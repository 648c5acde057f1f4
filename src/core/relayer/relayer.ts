import type { LaneId } from '../transaction/transaction.js';
import { chainKeyOf, type Network, type NetworkType, type RpcUrl } from './network.js';

/** What an EVM relayer may do; defaults are filled in when the configuration is loaded. */
export interface EvmPolicies {
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

/** A key on a network, with a name and policies: what callers send through and sign with. */
export interface Relayer {
  readonly id: string;
  readonly name: string;
  readonly network: Network;
  readonly networkType: NetworkType;
  /** EVM: EIP-55. */
  readonly address: string;
  readonly signerId: string;
  readonly notificationId: string | null;
  /** Instead of the network's own; empty: the network's own. */
  readonly customRpcUrls: readonly RpcUrl[];
  /** Set by an operator. */
  readonly paused: boolean;
  /** Set by the service, with the reason. */
  readonly disabledReason: string | null;
  readonly policies: EvmPolicies;
}

/** The lane of a relayer's account. */
export function laneOf(relayer: Pick<Relayer, 'network' | 'address'>): LaneId {
  return { chain: chainKeyOf(relayer.network), account: relayer.address };
}
