import { create } from '@bufbuild/protobuf';
import { NetworkType } from '../../../../gen/relayer/v1/common_pb.js';
import { type Network, NetworkSchema, type RpcUrl, RpcUrlSchema } from '../../../../gen/relayer/v1/network_service_pb.js';
import { networkIdOf } from '../../../core/network/networks.js';
import { maskedUrl } from '../../../core/network/node-urls.js';
import type { Network as DomainNetwork, NetworkType as DomainNetworkType, RpcUrl as DomainRpcUrl } from '../../../core/relayer/network.js';

/** The weight of an RPC endpoint whose request names none. */
const defaultWeight = 100;

export const protoOfNetworkType: Readonly<Record<DomainNetworkType, NetworkType>> = {
  evm: NetworkType.EVM,
  stellar: NetworkType.STELLAR,
  solana: NetworkType.SOLANA,
};

const domainTypes = new Map(Object.entries(protoOfNetworkType).map(([type, proto]) => [proto, type as DomainNetworkType]));

/** The network type that a request names; undefined if it names none. */
export function networkTypeFromProto(proto: NetworkType): DomainNetworkType | undefined {
  return domainTypes.get(proto);
}

/** The record of an RPC endpoint, its URL masked after the host: providers put API keys there. */
export function protoOfRpcUrl({ url, weight }: DomainRpcUrl): RpcUrl {
  return create(RpcUrlSchema, { url: maskedUrl(url), weight });
}

/** The RPC endpoint that a request names. */
export function rpcUrlFromProto({ url, weight = defaultWeight }: Pick<RpcUrl, 'url' | 'weight'>): DomainRpcUrl {
  return { url, weight };
}

/** The record of a network. */
export function protoOfNetwork(network: DomainNetwork): Network {
  return create(NetworkSchema, {
    id: networkIdOf(network),
    name: network.name,
    networkType: protoOfNetworkType[network.type],
    rpcUrls: network.rpcUrls.map(protoOfRpcUrl),
    explorerUrls: [...network.explorerUrls],
    averageBlocktimeMs: BigInt(network.averageBlockTimeMs),
    isTestnet: network.isTestnet,
    tags: [...network.tags],
    ...(network.type === 'evm'
      ? {
          chainId: network.chainId,
          requiredConfirmations: BigInt(network.requiredConfirmations),
          features: network.eip1559 ? ['eip1559'] : [],
          symbol: network.symbol,
        }
      : {}),
    ...(network.type === 'stellar' ? { passphrase: network.passphrase } : {}),
  });
}
