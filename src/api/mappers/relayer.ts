import { create } from '@bufbuild/protobuf';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { type EvmPolicies, EvmPoliciesSchema } from '../../../gen/relayer/v1/evm_pb.js';
import { DisabledReasonType, type Relayer, RelayerSchema } from '../../../gen/relayer/v1/relayer_service_pb.js';
import type { NetworkType as DomainNetworkType } from '../../core/relayer/network.js';
import type { EvmPolicies as DomainPolicies, Relayer as DomainRelayer } from '../../core/relayer/relayer.js';

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
    policies: { case: 'evm', value: protoOfPolicies(relayer.policies) },
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

function protoOfPolicies(policies: DomainPolicies): EvmPolicies {
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

function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}/***`;
}
