import type { ServiceImpl } from '@connectrpc/connect';
import type { NetworkService } from '../../../../gen/relayer/v1/network_service_pb.js';
import { getNetwork } from '../../../core/network/get-network.js';
import { type UpdateNetworkDeps, updateNetwork } from '../../../core/network/update-network.js';
import { callOf } from '../../contract/call.js';
import { pageOf, paginationOf } from '../list-page.js';
import { protoOfNetwork, rpcUrlFromProto } from './network.js';

/** `relayer.v1.NetworkService`. */
export function createNetworkService(deps: UpdateNetworkDeps): ServiceImpl<typeof NetworkService> {
  return {
    getNetwork({ networkId }) {
      return { network: protoOfNetwork(getNetwork(deps.networks, networkId)) };
    },
    listNetworks(request, context) {
      const page = pageOf(request, callOf(context));
      const { offset, limit } = page.query;
      const all = deps.networks.all().toReversed();
      return {
        networks: all.slice(offset, offset + limit).map(protoOfNetwork),
        pagination: paginationOf(page, { total: all.length }),
      };
    },
    async updateNetwork({ networkId, rpcUrls }) {
      return { network: protoOfNetwork(await updateNetwork(deps, networkId, rpcUrls.map(rpcUrlFromProto))) };
    },
  };
}
