import { NetworkType } from '../../../../gen/relayer/v1/common_pb.js';
import type { NetworkType as DomainNetworkType } from '../../../core/relayer/network.js';

/** The kinds of networks, as callers name them. */
export const protoOfNetworkType: Readonly<Record<DomainNetworkType, NetworkType>> = {
  evm: NetworkType.EVM,
  stellar: NetworkType.STELLAR,
  solana: NetworkType.SOLANA,
};

const domainTypes = new Map(Object.entries(protoOfNetworkType).map(([type, proto]) => [proto, type as DomainNetworkType]));

/** The kind that a caller names; undefined where it names none. */
export function networkTypeFromProto(proto: NetworkType): DomainNetworkType | undefined {
  return domainTypes.get(proto);
}
