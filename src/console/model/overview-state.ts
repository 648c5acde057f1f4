import type { Instance } from '../../../gen/relayer/v1/instance_service_pb.js';
import type {
  NetworkOverview,
  OverviewSample,
  RelayerOverview,
  WatchOverviewResponse,
} from '../../../gen/relayer/v1/overview_service_pb.js';

/** How long samples stay: the charts show a day. */
const sampleAgeSeconds = 86_400n;

/** What the page knows of the whole service. */
export interface OverviewState {
  readonly relayers: ReadonlyMap<string, RelayerOverview>;
  /** Networks by their ids, such as `evm:sepolia`. */
  readonly networks: ReadonlyMap<string, NetworkOverview>;
  /** Undefined: the API key may not see it. */
  readonly webhookBacklog: number | undefined;
  /** Empty if the API key may not see them. */
  readonly instances: readonly Instance[];
  /** Oldest first. */
  readonly samples: readonly OverviewSample[];
  /** True once everything has arrived. */
  readonly isComplete: boolean;
}

/** The state before the first message. */
export const emptyOverview: OverviewState = {
  relayers: new Map(),
  networks: new Map(),
  webhookBacklog: undefined,
  instances: [],
  samples: [],
  isComplete: false,
};

/**
 * Applies a message, which has only what has changed. Parts that have not changed stay the same objects, so that their views are not drawn
 * again.
 */
export function mergeOverview(state: OverviewState, message: WatchOverviewResponse): OverviewState {
  return {
    relayers: mergeById(state.relayers, message.relayers, message.removedRelayerIds),
    networks: mergeById(state.networks, message.networks, []),
    webhookBacklog: message.webhookBacklog ?? state.webhookBacklog,
    instances: message.instances.length > 0 ? message.instances : state.instances,
    samples: mergeSamples(state.samples, message.samples),
    isComplete: state.isComplete || message.snapshotComplete,
  };
}

function mergeById<Entry extends { readonly id: string }>(
  known: ReadonlyMap<string, Entry>,
  changed: readonly Entry[],
  removed: readonly string[],
): ReadonlyMap<string, Entry> {
  if (changed.length === 0 && removed.length === 0) return known;
  const merged = new Map(known);
  for (const entry of changed) merged.set(entry.id, entry);
  for (const id of removed) merged.delete(id);
  return merged;
}

function mergeSamples(known: readonly OverviewSample[], added: readonly OverviewSample[]): readonly OverviewSample[] {
  if (added.length === 0) return known;
  const all = [...known, ...added];
  const newest = all.at(-1)?.at?.seconds ?? 0n;
  return all.filter(({ at }) => (at?.seconds ?? 0n) >= newest - sampleAgeSeconds);
}
