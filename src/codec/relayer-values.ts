import { create, type DescMessage } from '@bufbuild/protobuf';
import { NetworkType } from '../../gen/relayer/v1/common_pb.js';
import { type EvmPolicies, EvmPoliciesSchema } from '../../gen/relayer/v1/evm_pb.js';
import { type RpcUrl, RpcUrlSchema } from '../../gen/relayer/v1/network_service_pb.js';
import { BalanceUnit, type CreateRelayerRequest, type Relayer } from '../../gen/relayer/v1/relayer_service_pb.js';
import {
  SolanaAccountChangeSchema,
  SolanaFeePaymentStrategy,
  type SolanaPolicies,
  SolanaPoliciesSchema,
} from '../../gen/relayer/v1/solana_pb.js';
import {
  StellarAccountChangeSchema,
  StellarFeePaymentStrategy,
  type StellarPolicies,
  StellarPoliciesSchema,
} from '../../gen/relayer/v1/stellar_pb.js';
import { invalidField } from '../core/errors/errors.js';
import { maskedValue } from '../core/network/node-urls.js';
import type { NetworkType as DomainNetworkType, RpcUrl as DomainRpcUrl } from '../core/records/network.js';
import {
  type EvmPolicies as DomainEvmPolicies,
  type SolanaPolicies as DomainSolanaPolicies,
  type StellarPolicies as DomainStellarPolicies,
  defaultPolicies,
  type RelayerPolicies,
  type SolanaAccountChange,
  type StellarAccountChange,
} from '../core/records/relayer.js';
import { firstPoliciesVersion, type StoredRelayer } from '../core/relayer/stored-relayer.js';
import { maskedUrl } from '../core/text/masked-url.js';
import { enumTextsOf } from './enum-codec.js';
import {
  evmRuleFromProto,
  protoOfEvmRule,
  protoOfSolanaRule,
  protoOfStellarRule,
  solanaRuleFromProto,
  stellarRuleFromProto,
} from './rule-values.js';
import { protoOfSigning, signingFromProto } from './signing-policy-values.js';

/** Returns the relayer that a request asks for. `newId`: its id if the request has none. Throws `FIELD_INVALID`. */
export function newRelayerFromProto(request: CreateRelayerRequest, newId: () => string): StoredRelayer {
  const draft = relayerDraftFromProto(request);
  const { networkType } = draft;
  if (networkType === undefined) throw invalidField('network_type', 'is required');
  return { ...draft, id: draft.id ?? newId(), networkType, policies: policiesFromProto(networkType, request.policies) };
}

/** Returns what can be checked of a request that was refused. */
export function relayerDraftFromProto(request: CreateRelayerRequest) {
  const { id, name, network, paused, policies, signerId, notificationId, customRpcUrls } = request;
  return {
    id,
    name,
    networkType: networkTypeFromProto(request.networkType),
    network,
    paused,
    policies: policies.case === undefined ? undefined : valuesOf(policies),
    signerId,
    notificationId: notificationId || null,
    customRpcUrls: customRpcUrls.map(rpcUrlFromProto),
    policiesVersion: firstPoliciesVersion,
  };
}

/** The network types of the contract. */
export const protoOfNetworkType: Readonly<Record<DomainNetworkType, NetworkType>> = {
  evm: NetworkType.EVM,
  stellar: NetworkType.STELLAR,
  solana: NetworkType.SOLANA,
};

/** The units of balances in the contract. */
export const balanceUnits: Readonly<Record<DomainNetworkType, BalanceUnit>> = {
  evm: BalanceUnit.WEI,
  stellar: BalanceUnit.STROOP,
  solana: BalanceUnit.LAMPORTS,
};

/** The policies of the contract. */
export const policySchemas: Readonly<Record<DomainNetworkType, DescMessage>> = {
  evm: EvmPoliciesSchema,
  stellar: StellarPoliciesSchema,
  solana: SolanaPoliciesSchema,
};

const domainTypes = new Map(Object.entries(protoOfNetworkType).map(([type, proto]) => [proto, type as DomainNetworkType]));

/** Returns the network type that a caller names; undefined if it names none. */
export function networkTypeFromProto(proto: NetworkType): DomainNetworkType | undefined {
  return domainTypes.get(proto);
}

/** The weight of an RPC URL without one. */
const defaultWeight = 100;

/** Returns an RPC URL for a response, masked after its host, with masked headers. */
export function protoOfRpcUrl({ url, weight, headers = [] }: DomainRpcUrl): RpcUrl {
  return create(RpcUrlSchema, { url: maskedUrl(url), weight, headers: headers.map(({ name }) => ({ name, value: maskedValue })) });
}

/** Returns the RPC URL of a request. */
export function rpcUrlFromProto({ url, weight = defaultWeight, headers }: Pick<RpcUrl, 'url' | 'weight' | 'headers'>): DomainRpcUrl {
  return { url, weight, ...(headers.length === 0 ? {} : { headers: headers.map(({ name, value }) => ({ name, value })) }) };
}

/** Policies of a message, in the shape of a network; no case: the defaults. */
export type PoliciesMessage = Relayer['policies'];

/** Returns policies for an answer: every field that has a value is set. */
export function protoOfPolicies(policies: RelayerPolicies): PoliciesMessage {
  if (policies.network === 'evm') return { case: 'evm', value: protoOfEvm(policies) };
  if (policies.network === 'stellar') return { case: 'stellar', value: protoOfStellar(policies) };
  return { case: 'solana', value: protoOfSolana(policies) };
}

/**
 * Returns the policies of a message for a network; what is not set is its default. Throws `FIELD_INVALID` for another network's policies.
 */
export function policiesFromProto(networkType: DomainNetworkType, message: PoliciesMessage): RelayerPolicies {
  if (message.case === undefined) return defaultPolicies[networkType];
  if (message.case !== networkType) throw invalidField('policies', `must be for network type ${networkType}`);
  return valuesOf(message);
}

function valuesOf(message: Exclude<PoliciesMessage, { case: undefined }>): RelayerPolicies {
  if (message.case === 'evm') return evmFromProto(message.value);
  return message.case === 'stellar' ? stellarFromProto(message.value) : solanaFromProto(message.value);
}

function protoOfEvm(policies: DomainEvmPolicies): EvmPolicies {
  return create(EvmPoliciesSchema, {
    minBalance: policies.minBalanceWei.toString(),
    ...(policies.gasPriceCapWei === null ? {} : { gasPriceCap: policies.gasPriceCapWei.toString() }),
    whitelistReceivers: [...(policies.whitelistReceivers ?? [])],
    eip1559Pricing: policies.eip1559Pricing,
    gasLimitEstimation: policies.gasLimitEstimation,
    includeRevertData: policies.includeRevertData,
    allowTransactionSigning: policies.allowTransactionSigning,
    rules: (policies.rules ?? []).map(protoOfEvmRule),
    ...(policies.signing === null ? {} : { signing: protoOfSigning(policies.signing) }),
    ...(policies.maxInFlight === null ? {} : { maxInFlight: policies.maxInFlight }),
  });
}

function evmFromProto(message: EvmPolicies): DomainEvmPolicies {
  const defaults = defaultPolicies.evm;
  return {
    network: 'evm',
    minBalanceWei: amountFrom(message.minBalance) ?? defaults.minBalanceWei,
    gasPriceCapWei: amountFrom(message.gasPriceCap),
    whitelistReceivers: listFrom(message.whitelistReceivers)?.map((address) => address.toLowerCase()) ?? null,
    eip1559Pricing: message.eip1559Pricing ?? defaults.eip1559Pricing,
    gasLimitEstimation: message.gasLimitEstimation ?? defaults.gasLimitEstimation,
    includeRevertData: message.includeRevertData ?? defaults.includeRevertData,
    maxInFlight: message.maxInFlight ?? defaults.maxInFlight,
    allowTransactionSigning: message.allowTransactionSigning ?? defaults.allowTransactionSigning,
    rules: message.rules.length === 0 ? null : message.rules.map(evmRuleFromProto),
    signing: message.signing === undefined ? null : signingFromProto(message.signing),
  };
}

function protoOfStellar(policies: DomainStellarPolicies): StellarPolicies {
  return create(StellarPoliciesSchema, {
    feePaymentStrategy: StellarFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceStroops.toString(),
    ...(policies.maxFeeStroops === null ? {} : { maxFee: policies.maxFeeStroops.toString() }),
    allowAccountChanges: numbersOf(stellarChanges, policies.allowAccountChanges),
    checkMemoRequired: policies.checkMemoRequired,
    operationSourceAccounts: [...policies.operationSourceAccounts],
    resourceFeeMarginPercent: policies.resourceFeeMarginPercent,
    restoreArchived: policies.restoreArchived,
    rules: (policies.rules ?? []).map(protoOfStellarRule),
    ...(policies.signing === null ? {} : { signing: protoOfSigning(policies.signing) }),
  });
}

function stellarFromProto(message: StellarPolicies): DomainStellarPolicies {
  return {
    network: 'stellar',
    minBalanceStroops: amountFrom(message.minBalance) ?? defaultPolicies.stellar.minBalanceStroops,
    maxFeeStroops: amountFrom(message.maxFee),
    allowAccountChanges: textsOf(stellarChanges, message.allowAccountChanges),
    checkMemoRequired: message.checkMemoRequired ?? defaultPolicies.stellar.checkMemoRequired,
    operationSourceAccounts: message.operationSourceAccounts,
    resourceFeeMarginPercent: message.resourceFeeMarginPercent ?? defaultPolicies.stellar.resourceFeeMarginPercent,
    restoreArchived: message.restoreArchived ?? defaultPolicies.stellar.restoreArchived,
    rules: message.rules.length === 0 ? null : message.rules.map(stellarRuleFromProto),
    signing: message.signing === undefined ? null : signingFromProto(message.signing),
  };
}

function protoOfSolana(policies: DomainSolanaPolicies): SolanaPolicies {
  return create(SolanaPoliciesSchema, {
    feePaymentStrategy: SolanaFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceLamports.toString(),
    ...(policies.maxAllowedFeeLamports === null ? {} : { maxAllowedFeeLamports: policies.maxAllowedFeeLamports.toString() }),
    allowedPrograms: [...(policies.allowedPrograms ?? [])],
    allowedAccounts: [...(policies.allowedAccounts ?? [])],
    disallowedAccounts: [...policies.disallowedAccounts],
    ...(policies.maxSignatures === null ? {} : { maxSignatures: policies.maxSignatures }),
    maxTxDataSize: policies.maxTxDataSizeBytes,
    allowAccountChanges: numbersOf(solanaChanges, policies.allowAccountChanges),
    rules: (policies.rules ?? []).map(protoOfSolanaRule),
    ...(policies.signing === null ? {} : { signing: protoOfSigning(policies.signing) }),
  });
}

function solanaFromProto(message: SolanaPolicies): DomainSolanaPolicies {
  const defaults = defaultPolicies.solana;
  return {
    network: 'solana',
    minBalanceLamports: amountFrom(message.minBalance) ?? defaults.minBalanceLamports,
    maxAllowedFeeLamports: amountFrom(message.maxAllowedFeeLamports),
    allowedPrograms: listFrom(message.allowedPrograms),
    allowedAccounts: listFrom(message.allowedAccounts),
    disallowedAccounts: message.disallowedAccounts,
    maxSignatures: message.maxSignatures ?? null,
    maxTxDataSizeBytes: message.maxTxDataSize ?? defaults.maxTxDataSizeBytes,
    allowAccountChanges: textsOf(solanaChanges, message.allowAccountChanges),
    rules: message.rules.length === 0 ? null : message.rules.map(solanaRuleFromProto),
    signing: message.signing === undefined ? null : signingFromProto(message.signing),
  };
}

/** The texts of account changes by their numbers in the contract; the domain has the same texts. */
const stellarChanges = enumTextsOf(StellarAccountChangeSchema) as ReadonlyMap<number, StellarAccountChange>;
const solanaChanges = enumTextsOf(SolanaAccountChangeSchema) as ReadonlyMap<number, SolanaAccountChange>;

/** The numbers are checked before: each has a text. Each text comes once, in the order of the contract. */
function textsOf<T extends string>(texts: ReadonlyMap<number, T>, wanted: readonly number[]): readonly T[] {
  return [...texts].flatMap(([number, text]) => (wanted.includes(number) ? [text] : []));
}

function numbersOf<T extends string>(texts: ReadonlyMap<number, T>, wanted: readonly T[]): number[] {
  return [...texts].flatMap(([number, text]) => (wanted.includes(text) ? [number] : []));
}

/** The field is checked before: it is an amount. */
function amountFrom(text: string | undefined): bigint | null {
  return text === undefined ? null : BigInt(text);
}

/** Protobuf cannot distinguish an empty list from none: both limit nothing. JSON refuses an empty whitelist earlier (`non_empty`). */
function listFrom(list: readonly string[]): readonly string[] | null {
  return list.length === 0 ? null : list;
}
