import { DomainError } from '../errors/errors.js';
import { shownName } from '../text/safe-text.js';
import { chainKeyOf, type Network, type NetworkType, type RpcUrl } from './network.js';
import type { SigningPolicy } from './signing-policy.js';
import type { EvmRule, PartRule } from './spending-rule.js';
import type { LaneId } from './transaction.js';

/** The policies of an EVM relayer; loading the configuration fills in defaults. */
export interface EvmPolicies {
  readonly network: 'evm';
  /** Minimum balance that must remain after a send. */
  readonly minBalanceWei: bigint;
  /** Maximum price per gas; null: no limit. */
  readonly gasPriceCapWei: bigint | null;
  /** Allowed receivers, lower case; null: all. The relayer's own address is always allowed. */
  readonly whitelistReceivers: readonly string[] | null;
  /** False: transactions priced by speed are legacy. */
  readonly eip1559Pricing: boolean;
  /** False: the caller must give a gas limit. */
  readonly gasLimitEstimation: boolean;
  /** Maximum number of signed transactions that are not mined yet, at least 1; null: the service finds it out. */
  readonly maxInFlight: number | null;
  /** True: the `status_reason` of a reverted transaction contains the revert data. */
  readonly includeRevertData: boolean;
  /** True: callers get signatures over transactions that the service does not send. */
  readonly allowTransactionSigning: boolean;
  /** Null: none. */
  readonly rules: readonly EvmRule[] | null;
  /** Null: nothing with rules, everything without. */
  readonly signing: SigningPolicy | null;
}

/** What takes away the ability of an account on Stellar to act; the definitions say what each is. */
export const stellarAccountChanges = ['signers', 'immutable', 'account_merge', 'bump_sequence', 'revoke_sponsorship'] as const;
export type StellarAccountChange = (typeof stellarAccountChanges)[number];

/** What takes away the ability of an account on Solana to act; the definitions say what each is. */
export const solanaAccountChanges = [
  'assign',
  'allocate',
  'nonce_authority',
  'token_authority',
  'token_delegate',
  'token_close',
  'token_encryption',
  'stake_authority',
  'vote_authority',
  'program_authority',
  'unknown',
] as const;
export type SolanaAccountChange = (typeof solanaAccountChanges)[number];

/** The policies of a Stellar relayer. */
export interface StellarPolicies {
  readonly network: 'stellar';
  /** Minimum balance that must remain after a send. */
  readonly minBalanceStroops: bigint;
  /** Maximum fee of one transaction; null: no limit. */
  readonly maxFeeStroops: bigint | null;
  readonly allowAccountChanges: readonly StellarAccountChange[];
  /** True: a payment to an account that requires a memo (SEP-29) fails without one. */
  readonly checkMemoRequired: boolean;
  /** Accounts (`G...`) other than its own that operations may have as their source: its key signs for them. */
  readonly operationSourceAccounts: readonly string[];
  /** How much more than its simulation a contract operation declares as its resource fee. */
  readonly resourceFeeMarginPercent: number;
  /** False: a contract call that restores archived entries fails before it is signed. */
  readonly restoreArchived: boolean;
  /** Null: none. */
  readonly rules: readonly PartRule[] | null;
  /** See `EvmPolicies`. */
  readonly signing: SigningPolicy | null;
}

/** The policies of a Solana relayer. Programs and accounts are base58. */
export interface SolanaPolicies {
  readonly network: 'solana';
  /** Minimum balance that must remain after a send. */
  readonly minBalanceLamports: bigint;
  /** Maximum fee of one transaction, priority fee included; null: no limit. */
  readonly maxAllowedFeeLamports: bigint | null;
  /** Null: all. */
  readonly allowedPrograms: readonly string[] | null;
  /** Null: all; never together with `disallowedAccounts`. */
  readonly allowedAccounts: readonly string[] | null;
  readonly disallowedAccounts: readonly string[];
  /** Maximum per transaction; null: the chain's limit. */
  readonly maxSignatures: number | null;
  /** Maximum size of a transaction in wire format; at most 1232. */
  readonly maxTxDataSizeBytes: number;
  readonly allowAccountChanges: readonly SolanaAccountChange[];
  /** Null: none. */
  readonly rules: readonly PartRule[] | null;
  /** See `EvmPolicies`. */
  readonly signing: SigningPolicy | null;
}

/** A relayer's policies, in the shape of its network. */
export type RelayerPolicies = EvmPolicies | StellarPolicies | SolanaPolicies;

/** An account on a network that sends and signs for callers, with a name and policies. */
export interface Relayer {
  readonly id: string;
  readonly name: string;
  readonly network: Network;
  readonly networkType: NetworkType;
  /** EVM: EIP-55. Stellar: `G...`. Solana: base58. */
  readonly address: string;
  readonly signerId: string;
  readonly notificationId: string | null;
  /** Used instead of the network's; empty: the network's. */
  readonly customRpcUrls: readonly RpcUrl[];
  /** Set by an operator. */
  readonly paused: boolean;
  /** Set by the service, with the reason. */
  readonly disabledReason: string | null;
  /** In the shape of its network. */
  readonly policies: RelayerPolicies;
  /** Counts the changes of its policies by the API, from 1. */
  readonly policiesVersion: number;
  /** True: the configuration file has locked them. */
  readonly policiesLocked: boolean;
}

/** Returns the lane of a relayer's account. */
export function laneOf(relayer: Pick<Relayer, 'network' | 'address'>): LaneId {
  return { chain: chainKeyOf(relayer.network), account: relayer.address };
}

/** Returns the minimum balance that must remain after a send, in the network's smallest unit: wei, stroops, lamports. */
export function minBalanceOf(policies: RelayerPolicies): bigint {
  if (policies.network === 'evm') return policies.minBalanceWei;
  return policies.network === 'stellar' ? policies.minBalanceStroops : policies.minBalanceLamports;
}

/** Returns the policy `gas_price_cap` in wei per gas; null: there is none. */
export function gasPriceCapOf(policies: RelayerPolicies): bigint | null {
  return policies.network === 'evm' ? policies.gasPriceCapWei : null;
}

/**
 * Returns the maximum number of signed transactions in the account's slots that are not mined yet; null: the service finds it out. Stellar
 * nodes keep one per account.
 */
export function maxInFlightOf(policies: RelayerPolicies): number | null {
  return policies.network === 'evm' ? policies.maxInFlight : 1;
}

/** True unless it is paused or disabled. */
export function isActive({ paused, disabledReason }: Pick<Relayer, 'paused' | 'disabledReason'>): boolean {
  return !paused && disabledReason === null;
}

/** Throws `RELAYER_PAUSED` or `RELAYER_DISABLED` if the relayer signs nothing new. */
export function requireActive({ id, paused, disabledReason }: Pick<Relayer, 'id' | 'paused' | 'disabledReason'>): void {
  if (paused) throw new DomainError('inactive', 'RELAYER_PAUSED', `relayer ${id} is paused`, { metadata: { relayer_id: id } });
  if (disabledReason === null) return;
  throw new DomainError('inactive', 'RELAYER_DISABLED', `relayer ${id} is disabled: ${disabledReason}`, {
    metadata: { relayer_id: id, disabled_reason: disabledReason },
  });
}

/** Returns the error for a relayer that does not exist. */
export function relayerNotFound(id: string): DomainError {
  return new DomainError('not_found', 'RELAYER_NOT_FOUND', `Relayer with ID ${shownName(id)} not found`, {
    metadata: { relayer_id: shownName(id) },
  });
}

/** The default policies by network type: no price cap, all receivers, and a small minimum balance. */
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
    maxInFlight: null,
    includeRevertData: false,
    allowTransactionSigning: false,
    rules: null,
    signing: null,
  },
  // A tenth of a lumen and a hundredth of a SOL, as in OpenZeppelin Relayer; Stellar itself reserves more.
  stellar: {
    network: 'stellar',
    minBalanceStroops: 1_000_000n,
    maxFeeStroops: null,
    allowAccountChanges: [],
    checkMemoRequired: true,
    operationSourceAccounts: [],
    resourceFeeMarginPercent: 15,
    restoreArchived: true,
    rules: null,
    signing: null,
  },
  solana: {
    network: 'solana',
    minBalanceLamports: 10_000_000n,
    maxAllowedFeeLamports: null,
    allowedPrograms: null,
    allowedAccounts: null,
    disallowedAccounts: [],
    maxSignatures: null,
    maxTxDataSizeBytes: 1232,
    allowAccountChanges: [],
    rules: null,
    signing: null,
  },
};
