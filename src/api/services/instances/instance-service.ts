import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { type Instance, InstanceSchema, type InstanceService, InstanceState } from '../../../../gen/relayer/v1/instance_service_pb.js';
import { drainInstance, listInstances, undrainInstance } from '../../../core/overview/instances.js';
import type { InstanceState as DomainState, Instances, RunningInstance } from '../../../core/ports/instances.js';
import { callOf } from '../../contract/call.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';
import { presentTime } from '../shared/present.js';

export interface InstanceServiceDeps {
  readonly sharing: Instances;
}

/** Implements `relayer.v1.InstanceService`. */
export function createInstanceService({ sharing }: InstanceServiceDeps): ServiceImpl<typeof InstanceService> {
  const record = (instance: RunningInstance) => protoOfInstance(instance, sharing.ownId());
  const listing: Listing<RunningInstance, Instance> = { desc: InstanceSchema, record, idOf: ({ id }) => id };
  return {
    listInstances(request, context) {
      const call = callOf(context);
      for (const message of sharing.dangers()) call.warnings.push({ level: 'warn', message });
      const page = pageOf(request, call);
      const found = sliceOf(listInstances(sharing), page, ({ id }) => id);
      const { records: instances, ...rest } = listAnswer(page, found, listing, call);
      return { instances, ...rest };
    },
    async drainInstance({ instanceId, force }) {
      return { instance: record(await drainInstance(sharing, instanceId, force)) };
    },
    async undrainInstance({ instanceId }) {
      return { instance: record(await undrainInstance(sharing, instanceId)) };
    },
  };
}

const protoStates: Readonly<Record<DomainState, InstanceState>> = {
  starting: InstanceState.STARTING,
  sharing: InstanceState.SHARING,
  draining: InstanceState.DRAINING,
};

/** The record of an instance. */
export function protoOfInstance({ id, version, host, pid, state, lanes, sinceMs, seenAtMs }: RunningInstance, ownId: string): Instance {
  return create(InstanceSchema, {
    id,
    version,
    host,
    pid,
    state: protoStates[state],
    lanes,
    joinedAt: timestampFromMs(sinceMs),
    ...presentTime('lastSeenAt', seenAtMs),
    isSelf: id === ownId,
  });
}
