import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type Network,
  NetworkSchema,
  type NetworkService,
  UpdateNetworkRequestSchema,
} from '../../../../gen/relayer/v1/network_service_pb.js';
import { protoOfNetworkType, protoOfRpcUrl, rpcUrlFromProto } from '../../../codec/relayer-values.js';
import { maskedPaths } from '../../../codec/update-mask.js';
import { getNetwork, networkIdOf } from '../../../core/network/networks.js';
import { shownRpcUrl } from '../../../core/network/node-urls.js';
import type { Network as DomainNetwork } from '../../../core/records/network.js';
import { type UpdateNetworkDeps, updateNetwork } from '../../../core/relayer/update-network.js';
import { callOf } from '../../contract/call.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';

/** The record of a network. */
function protoOfNetwork(network: DomainNetwork): Network {
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

function shownUrls(network: DomainNetwork | undefined): string {
  return network?.rpcUrls.map(shownRpcUrl).join(' ') ?? '';
}

const listing: Listing<DomainNetwork, Network> = { desc: NetworkSchema, record: protoOfNetwork, idOf: ({ id }) => id };

/** Implements `relayer.v1.NetworkService`. */
export function createNetworkService(deps: UpdateNetworkDeps): ServiceImpl<typeof NetworkService> {
  return {
    getNetwork({ networkId }) {
      return { network: protoOfNetwork(getNetwork(deps.networks, networkId)) };
    },
    listNetworks(request, context) {
      const page = pageOf(request, callOf(context));
      const found = sliceOf(deps.networks.all().toReversed(), page, networkIdOf);
      const { records: networks, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { networks, ...rest };
    },
    async updateNetwork({ networkId, rpcUrls, updateMask }, context) {
      maskedPaths(UpdateNetworkRequestSchema, updateMask, ['rpc_urls']);
      const before = deps.networks.find(networkId);
      const network = await updateNetwork(deps, networkId, rpcUrls.map(rpcUrlFromProto));
      Object.assign(callOf(context).auditFacts, { from: shownUrls(before), to: shownUrls(network) });
      return { network: protoOfNetwork(network) };
    },
  };
}
