import type { ServiceImpl } from '@connectrpc/connect';
import type { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { mayUseRelayer } from '../../core/access/principal.js';
import type { Directory } from '../../core/ports/directory.js';
import { callOf, relayerOf } from '../call.js';
import { pageOf, paginationOf } from '../mappers/page.js';
import { protoOfRelayer } from '../mappers/relayer.js';

/** `relayer.v1.RelayerService`. */
export function createRelayerService({ directory }: { readonly directory: Directory }): Partial<ServiceImpl<typeof RelayerService>> {
  return {
    getRelayer(_request, context) {
      return { relayer: protoOfRelayer(relayerOf(context)) };
    },
    listRelayers(request, context) {
      const call = callOf(context);
      const page = pageOf(request, call);
      const own = directory.relayers().filter(({ id }) => call.principal !== null && mayUseRelayer(call.principal, id));
      const { offset, limit } = page.query;
      return {
        relayers: own
          .toReversed()
          .slice(offset, offset + limit)
          .map(protoOfRelayer),
        pagination: paginationOf(page, { total: own.length }),
      };
    },
  };
}
