import type { ServiceImpl } from '@connectrpc/connect';
import { type NetworkService, UpdateNetworkRequestSchema } from '../../../../gen/relayer/v1/network_service_pb.js';
import { rpcUrlFromProto } from '../../../codec/relayer-values.js';
import { maskedPaths } from '../../../codec/update-mask.js';
import { getNetwork } from '../../../core/network/networks.js';
import { maskedUrl } from '../../../core/network/node-urls.js';
import { type UpdateNetworkDeps, updateNetwork } from '../../../core/network/update-network.js';
import type { Network } from '../../../core/relayer/network.js';
import { callOf } from '../../contract/call.js';
import { pageOf, sliceOf } from '../list-page.js';
import { protoOfNetwork } from './network.js';

function shownUrls(network: Network | undefined): string {
  return network?.rpcUrls.map(({ url }) => maskedUrl(url)).join(' ') ?? '';
}

/** Implements `relayer.v1.NetworkService`. */
export function createNetworkService(deps: UpdateNetworkDeps): ServiceImpl<typeof NetworkService> {
  return {
    getNetwork({ networkId }) {
      return { network: protoOfNetwork(getNetwork(deps.networks, networkId)) };
    },
    listNetworks(request, context) {
      const { items, pagination } = sliceOf(deps.networks.all().toReversed(), pageOf(request, callOf(context)));
      return { networks: items.map(protoOfNetwork), pagination };
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
