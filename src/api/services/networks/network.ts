import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type Network, NetworkSchema } from '../../../../gen/relayer/v1/network_service_pb.js';
import { protoOfNetworkType, protoOfRpcUrl } from '../../../codec/relayer-values.js';
import { networkIdOf } from '../../../core/network/networks.js';
import type { Network as DomainNetwork } from '../../../core/records/network.js';

/** The record of a network. */
export function protoOfNetwork(network: DomainNetwork): Network {
  return create(NetworkSchema, {
    id: networkIdOf(network),
    name: network.name,
    networkType: protoOfNetworkType[network.type],
    rpcUrls: network.rpcUrls.map(protoOfRpcUrl),
    explorerUrls: [...network.explorerUrls],
    averageBlockTime: durationFromMs(network.averageBlockTimeMs),
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
