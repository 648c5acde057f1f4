import { create } from '@bufbuild/protobuf';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { type EvmPolicies, EvmPoliciesSchema } from '../../../gen/relayer/v1/evm_pb.js';
import { DisabledReasonType, type Relayer, RelayerSchema } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SolanaFeePaymentStrategy, type SolanaPolicies, SolanaPoliciesSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { StellarFeePaymentStrategy, type StellarPolicies, StellarPoliciesSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import type { NetworkType as DomainNetworkType } from '../../core/relayer/network.js';
import type {
  EvmPolicies as DomainEvmPolicies,
  Relayer as DomainRelayer,
  SolanaPolicies as DomainSolanaPolicies,
  StellarPolicies as DomainStellarPolicies,
  RelayerPolicies,
} from '../../core/relayer/relayer.js';

const networkTypes: Readonly<Record<DomainNetworkType, NetworkType>> = {
  evm: NetworkType.EVM,
  stellar: NetworkType.STELLAR,
  solana: NetworkType.SOLANA,
};

/** The record of a relayer. Addresses of nodes are masked after the host: providers' keys stand there. */
export function protoOfRelayer(relayer: DomainRelayer): Relayer {
  return create(RelayerSchema, {
    id: relayer.id,
    name: relayer.name,
    network: relayer.network.name,
    networkType: networkTypes[relayer.networkType],
    paused: relayer.paused,
    policies: protoOfPolicies(relayer.policies),
    signerId: relayer.signerId,
    ...(relayer.notificationId === null ? {} : { notificationId: relayer.notificationId }),
    customRpcUrls: relayer.customRpcUrls.map(({ url, weight }) => ({ url: maskedUrl(url), weight })),
    address: relayer.address,
    systemDisabled: relayer.disabledReason !== null,
    ...(relayer.disabledReason === null
      ? {}
      : { disabledReason: { type: DisabledReasonType.RPC_VALIDATION_FAILED, details: relayer.disabledReason } }),
  });
}

function protoOfPolicies(policies: RelayerPolicies): Relayer['policies'] {
  if (policies.network === 'evm') return { case: 'evm', value: protoOfEvmPolicies(policies) };
  if (policies.network === 'stellar') return { case: 'stellar', value: protoOfStellarPolicies(policies) };
  return { case: 'solana', value: protoOfSolanaPolicies(policies) };
}

function protoOfEvmPolicies(policies: DomainEvmPolicies): EvmPolicies {
  return create(EvmPoliciesSchema, {
    minBalance: policies.minBalanceWei.toString(),
    ...(policies.gasPriceCapWei === null ? {} : { gasPriceCap: policies.gasPriceCapWei.toString() }),
    whitelistReceivers: [...(policies.whitelistReceivers ?? [])],
    eip1559Pricing: policies.eip1559Pricing,
    gasLimitEstimation: policies.gasLimitEstimation,
    includeRevertData: policies.includeRevertData,
    maxInFlight: policies.maxInFlight,
  });
}

function protoOfStellarPolicies(policies: DomainStellarPolicies): StellarPolicies {
  return create(StellarPoliciesSchema, {
    feePaymentStrategy: StellarFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceStroops.toString(),
    ...(policies.maxFeeStroops === null ? {} : { maxFee: policies.maxFeeStroops.toString() }),
  });
}

function protoOfSolanaPolicies(policies: DomainSolanaPolicies): SolanaPolicies {
  return create(SolanaPoliciesSchema, {
    feePaymentStrategy: SolanaFeePaymentStrategy.RELAYER,
    minBalance: policies.minBalanceLamports.toString(),
    ...(policies.maxAllowedFeeLamports === null ? {} : { maxAllowedFeeLamports: policies.maxAllowedFeeLamports.toString() }),
    allowedPrograms: [...(policies.allowedPrograms ?? [])],
    allowedAccounts: [...(policies.allowedAccounts ?? [])],
    disallowedAccounts: [...policies.disallowedAccounts],
    ...(policies.maxSignatures === null ? {} : { maxSignatures: policies.maxSignatures }),
    maxTxDataSize: policies.maxTxDataSizeBytes,
  });
}

function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}/***`;
}
