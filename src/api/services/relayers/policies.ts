import { create } from '@bufbuild/protobuf';
import { type EvmPolicies, EvmPoliciesSchema } from '../../../../gen/relayer/v1/evm_pb.js';
import type { Relayer } from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { SolanaFeePaymentStrategy, type SolanaPolicies, SolanaPoliciesSchema } from '../../../../gen/relayer/v1/solana_pb.js';
import { StellarFeePaymentStrategy, type StellarPolicies, StellarPoliciesSchema } from '../../../../gen/relayer/v1/stellar_pb.js';
import { invalidField } from '../../../core/errors.js';
import type { NetworkType } from '../../../core/relayer/network.js';
import {
  type EvmPolicies as DomainEvmPolicies,
  type SolanaPolicies as DomainSolanaPolicies,
  type StellarPolicies as DomainStellarPolicies,
  defaultPolicies,
  type RelayerPolicies,
} from '../../../core/relayer/relayer.js';
import { present, presentAmount } from '../present.js';

/** The policies in a message, in the shape of a network type; no case: none given. */
export type PoliciesMessage = Relayer['policies'];

/** The policies for a record: every field that has a value is set. */
export function protoOfPolicies(policies: RelayerPolicies): PoliciesMessage {
  if (policies.network === 'evm') return { case: 'evm', value: protoOfEvm(policies) };
  if (policies.network === 'stellar') return { case: 'stellar', value: protoOfStellar(policies) };
  return { case: 'solana', value: protoOfSolana(policies) };
}

/** Returns the policies of a request; unset fields get their defaults. Throws `FIELD_INVALID`. */
export function policiesFromProto(networkType: NetworkType, message: PoliciesMessage): RelayerPolicies {
  if (message.case === undefined) return defaultPolicies[networkType];
  if (message.case !== networkType) throw invalidField('policies', `must be those of network type ${networkType}`);
  if (message.case === 'evm') return evmFromProto(message.value);
  return message.case === 'stellar' ? stellarFromProto(message.value) : solanaFromProto(message.value);
}

function protoOfEvm(policies: DomainEvmPolicies): EvmPolicies {
  return create(EvmPoliciesSchema, {
    minBalance: policies.minBalanceWei.toString(),
    ...presentAmount('gasPriceCap', policies.gasPriceCapWei),
    whitelistReceivers: [...(policies.whitelistReceivers ?? [])],
    eip1559Pricing: policies.eip1559Pricing,
    gasLimitEstimation: policies.gasLimitEstimation,
    includeRevertData: policies.includeRevertData,
    maxInFlight: policies.maxInFlight,
  });
}

function evmFromProto(message: EvmPolicies): DomainEvmPolicies {
  const defaults = defaultPolicies.evm;
  if (message.privateTransactions)
    throw invalidField('policies.private_transactions', 'must be false: private transactions are not supported');
  const receivers = listFrom(
    'whitelist_receivers',
    message.whitelistReceivers,
    /^0x[0-9a-fA-F]{40}$/,
    'must be an address: 0x and 40 hex digits',
  );
  return {
    network: 'evm',
    minBalanceWei: amountFrom(message.minBalance) ?? defaults.minBalanceWei,
    gasPriceCapWei: positiveFrom('gas_price_cap', message.gasPriceCap),
    whitelistReceivers: receivers?.map((address) => address.toLowerCase()) ?? null,
    eip1559Pricing: message.eip1559Pricing ?? defaults.eip1559Pricing,
    gasLimitEstimation: message.gasLimitEstimation ?? defaults.gasLimitEstimation,
    includeRevertData: message.includeRevertData ?? defaults.includeRevertData,
    maxInFlight: message.maxInFlight ?? defaults.maxInFlight,
  };
}

function protoOfStellar(policies: DomainStellarPolicies): StellarPolicies {
  return create(StellarPoliciesSchema, {
    feePaymentStrategy: StellarFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceStroops.toString(),
    ...presentAmount('maxFee', policies.maxFeeStroops),
  });
}

function stellarFromProto(message: StellarPolicies): DomainStellarPolicies {
  return {
    network: 'stellar',
    minBalanceStroops: amountFrom(message.minBalance) ?? defaultPolicies.stellar.minBalanceStroops,
    maxFeeStroops: positiveFrom('max_fee', message.maxFee),
  };
}

function protoOfSolana(policies: DomainSolanaPolicies): SolanaPolicies {
  return create(SolanaPoliciesSchema, {
    feePaymentStrategy: SolanaFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceLamports.toString(),
    ...presentAmount('maxAllowedFeeLamports', policies.maxAllowedFeeLamports),
    allowedPrograms: [...(policies.allowedPrograms ?? [])],
    allowedAccounts: [...(policies.allowedAccounts ?? [])],
    disallowedAccounts: [...policies.disallowedAccounts],
    ...present('maxSignatures', policies.maxSignatures),
    maxTxDataSize: policies.maxTxDataSizeBytes,
  });
}

function solanaFromProto(message: SolanaPolicies): DomainSolanaPolicies {
  const defaults = defaultPolicies.solana;
  const accounts = (field: string, list: readonly string[]) =>
    listFrom(field, list, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'must be an address in base58');
  return {
    network: 'solana',
    minBalanceLamports: amountFrom(message.minBalance) ?? defaults.minBalanceLamports,
    maxAllowedFeeLamports: positiveFrom('max_allowed_fee_lamports', message.maxAllowedFeeLamports),
    allowedPrograms: accounts('allowed_programs', message.allowedPrograms),
    allowedAccounts: accounts('allowed_accounts', message.allowedAccounts),
    disallowedAccounts: accounts('disallowed_accounts', message.disallowedAccounts) ?? [],
    maxSignatures: message.maxSignatures ?? null,
    maxTxDataSizeBytes: message.maxTxDataSize ?? defaults.maxTxDataSizeBytes,
  };
}

/** The gate has checked the field's format and bounds. */
function amountFrom(text: string | undefined): bigint | null {
  return text === undefined ? null : BigInt(text);
}

function positiveFrom(field: string, text: string | undefined): bigint | null {
  const amount = amountFrom(text);
  if (amount === 0n) throw invalidField(`policies.${field}`, 'must be at least 1; omit it for no limit');
  return amount;
}

/** The maximum length of a policy's list. */
const maxItems = 10_000;

/** Returns null for an empty list, which limits nothing. */
function listFrom(field: string, list: readonly string[], pattern: RegExp, description: string): readonly string[] | null {
  if (list.length > maxItems) throw invalidField(`policies.${field}`, `must have at most ${maxItems} items`);
  const wrong = list.findIndex((item) => !pattern.test(item));
  if (wrong !== -1) throw invalidField(`policies.${field}[${wrong}]`, description);
  return list.length === 0 ? null : list;
}
