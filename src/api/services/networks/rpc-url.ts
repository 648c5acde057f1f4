import { create } from '@bufbuild/protobuf';
import { type RpcUrl, RpcUrlSchema } from '../../../../gen/relayer/v1/network_service_pb.js';
import { maskedUrl } from '../../../core/network/node-urls.js';
import type { RpcUrl as DomainRpcUrl } from '../../../core/relayer/network.js';

/** The weight of a node for which nothing is said. */
const defaultWeight = 100;

/** A node as it is shown, masked after the host. */
export function protoOfRpcUrl({ url, weight }: DomainRpcUrl): RpcUrl {
  return create(RpcUrlSchema, { url: maskedUrl(url), weight });
}

/** A node that a caller names. */
export function rpcUrlFromProto({ url, weight = defaultWeight }: Pick<RpcUrl, 'url' | 'weight'>): DomainRpcUrl {
  return { url, weight };
}
