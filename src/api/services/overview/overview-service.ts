import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  EndpointState,
  type NetworkOverviewSchema,
  type OverviewSampleSchema,
  type OverviewService,
  type RelayerOverviewSchema,
  type WatchOverviewResponse,
  WatchOverviewResponseSchema,
} from '../../../../gen/relayer/v1/overview_service_pb.js';
import { protoOfNetworkType } from '../../../codec/relayer-values.js';
import { networkIdOf } from '../../../core/network/networks.js';
import type { NetworkGlance } from '../../../core/overview/network-glances.js';
import type { RelayerGlance } from '../../../core/overview/relayer-glances.js';
import type { OverviewSample } from '../../../core/overview/samples.js';
import { type OverviewMessage, type WatchOverviewDeps, watchOverview } from '../../../core/overview/watch-overview.js';
import type { EndpointState as DomainEndpointState } from '../../../core/ports/chain/chain.js';
import type { Instances } from '../../../core/ports/instances.js';
import { decimalsOf } from '../../../core/records/network.js';
import { gasPriceCapOf, minBalanceOf } from '../../../core/records/relayer.js';
import { isObstacle } from '../../../core/transaction/lifecycle.js';
import { principalOf } from '../../contract/call.js';
import { protoOfInstance } from '../instances/instance-service.js';
import { present, presentAmount, presentTime } from '../shared/present.js';
import { untilEnded } from '../shared/until-ended.js';

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

/** The message of a watch. `ownInstanceId`: the instance that answers. */
export function protoOfOverviewMessage(message: OverviewMessage, ownInstanceId: string): WatchOverviewResponse {
  return create(WatchOverviewResponseSchema, {
    at: timestampFromMs(message.atMs),
    relayers: message.relayers.map(protoOfRelayerGlance),
    removedRelayerIds: [...message.removedRelayerIds],
    networks: message.networks.map(protoOfNetworkGlance),
    ...present('webhookBacklog', message.webhookBacklog),
    instances: message.instances.map((instance) => protoOfInstance(instance, ownInstanceId)),
    samples: message.samples.map(protoOfSample),
    snapshotComplete: message.isSnapshotComplete,
  });
}

function protoOfRelayerGlance({ relayer, open, funds }: RelayerGlance): MessageInitShape<typeof RelayerOverviewSchema> {
  const { balance, spentLastDay, lastsMs } = funds;
  return {
    id: relayer.id,
    name: relayer.name,
    network: relayer.network.name,
    networkType: protoOfNetworkType[relayer.networkType],
    address: relayer.address,
    paused: relayer.paused,
    ...present('disabledReason', relayer.disabledReason),
    ...presentAmount('balance', balance),
    lowBalance: balance !== null && balance < minBalanceOf(relayer.policies),
    ...presentAmount('spentLastDay', spentLastDay),
    ...present('balanceLasts', lastsMs === null ? null : durationFromMs(lastsMs)),
    waiting: open.waiting,
    inFlight: open.inFlight,
    heldUp: isObstacle(open.oldest?.statusReason ?? null),
    ...presentTime('oldestOpenAt', open.oldest?.createdAtMs ?? null),
    ...present('oldestOpenId', open.oldest?.id ?? null),
    ...present('waitsFor', open.oldest?.statusReason ?? null),
    ...presentAmount('gasPriceCap', gasPriceCapOf(relayer.policies)),
  };
}

const endpointStates: Readonly<Record<DomainEndpointState, EndpointState>> = {
  in_use: EndpointState.IN_USE,
  failing: EndpointState.FAILING,
  paused: EndpointState.PAUSED,
  out_of_step: EndpointState.OUT_OF_STEP,
  forked: EndpointState.FORKED,
  wrong_chain: EndpointState.WRONG_CHAIN,
};

/** What the wire can say. A node may claim more, and that must not end the watches of all networks. */
const maxUint64 = 2n ** 64n - 1n;
const maxTimeMs = Date.UTC(9999, 11, 31);

function protoOfNetworkGlance(glance: NetworkGlance): MessageInitShape<typeof NetworkOverviewSchema> {
  const { network, head, problem, baseFeeWei, endpoints } = glance;
  return {
    id: networkIdOf(network),
    name: network.name,
    networkType: protoOfNetworkType[network.type],
    ...present('headNumber', head === null || head.number > maxUint64 ? null : head.number),
    ...presentTime('headAt', head === null || head.timestampMs > maxTimeMs ? null : head.timestampMs),
    averageBlockTime: durationFromMs(network.averageBlockTimeMs),
    ...present('problem', problem),
    ...presentAmount('baseFee', baseFeeWei),
    symbol: network.symbol,
    decimals: decimalsOf[network.type],
    endpoints: endpoints.map(({ host, weight, state }) => ({ host, weight, state: endpointStates[state] })),
  };
}

function protoOfSample({ atMs, ...figures }: OverviewSample): MessageInitShape<typeof OverviewSampleSchema> {
  return { at: timestampFromMs(atMs), ...figures };
}
