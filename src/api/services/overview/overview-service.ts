import type { ServiceImpl } from '@connectrpc/connect';
import type { OverviewService } from '../../../../gen/relayer/v1/overview_service_pb.js';
import { type WatchOverviewDeps, watchOverview } from '../../../core/overview/watch-overview.js';
import type { Instances } from '../../../core/ports/instances.js';
import { principalOf } from '../../contract/call.js';
import { untilEnded } from '../shared/until-ended.js';
import { protoOfOverviewMessage } from './overview.js';

/** The dependencies of the service. */
export interface OverviewServiceDeps extends Pick<WatchOverviewDeps, 'overview'> {
  readonly overviewClock: WatchOverviewDeps['clock'];
  readonly watchHeartbeatMs: number;
  readonly sharing: Pick<Instances, 'ownId'>;
}

/** Implements `relayer.v1.OverviewService`. */
export function createOverviewService(deps: OverviewServiceDeps): ServiceImpl<typeof OverviewService> {
  const { overview, overviewClock: clock, watchHeartbeatMs: heartbeatMs, sharing } = deps;
  return {
    async *watchOverview(_request, context) {
      const principal = principalOf(context);
      const watch = (signal: AbortSignal) => watchOverview({ overview, clock, heartbeatMs }, principal, signal);
      for await (const message of untilEnded(context, 'start the watch again', watch))
        yield protoOfOverviewMessage(message, sharing.ownId());
    },
  };
}
