import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Instance } from '../../gen/relayer/v1/instance_service_pb.js';
import {
  type NetworkOverview,
  type OverviewSample,
  OverviewService,
  type RelayerOverview,
  type WatchOverviewResponse,
} from '../../gen/relayer/v1/overview_service_pb.js';
import { waitFor } from './wait-for.js';

/** An open watch of the overview, and everything that its messages have said so far, put together. */
export interface OverviewWatcher {
  readonly relayers: ReadonlyMap<string, RelayerOverview>;
  readonly networks: ReadonlyMap<string, NetworkOverview>;
  readonly instances: readonly Instance[];
  readonly samples: readonly OverviewSample[];
  readonly webhookBacklog: number | undefined;
  readonly messages: readonly WatchOverviewResponse[];
  /** Resolves to the error that ended it; undefined: it ended by itself, or was closed. */
  readonly ended: Promise<unknown>;
  /** Resolves when a message has completed the snapshot. */
  untilComplete(): Promise<void>;
  close(): void;
}

/** Watches the overview with this key over Connect. */
export function watchOverview(baseUrl: string, key: string): OverviewWatcher {
  const canceling = new AbortController();
  const client = createClient(OverviewService, createConnectTransport({ baseUrl, httpVersion: '1.1' }));
  const stream = client.watchOverview({}, { headers: { authorization: `Bearer ${key}` }, signal: canceling.signal });
  const relayers = new Map<string, RelayerOverview>();
  const networks = new Map<string, NetworkOverview>();
  const messages: WatchOverviewResponse[] = [];
  const samples: OverviewSample[] = [];
  let instances: readonly Instance[] = [];
  let webhookBacklog: number | undefined;

  async function read(): Promise<void> {
    for await (const message of stream) {
      messages.push(message);
      for (const relayer of message.relayers) relayers.set(relayer.id, relayer);
      for (const id of message.removedRelayerIds) relayers.delete(id);
      for (const network of message.networks) networks.set(network.id, network);
      if (message.instances.length > 0) instances = message.instances;
      samples.push(...message.samples);
      webhookBacklog = message.webhookBacklog ?? webhookBacklog;
    }
  }

  const ended = read().then(
    () => undefined,
    (error: unknown) => (canceling.signal.aborted ? undefined : error),
  );
  return {
    relayers,
    networks,
    samples,
    messages,
    ended,
    get instances() {
      return instances;
    },
    get webhookBacklog() {
      return webhookBacklog;
    },
    async untilComplete() {
      await waitFor('the snapshot', async () => messages.some(({ snapshotComplete }) => snapshotComplete) || undefined);
    },
    close: () => canceling.abort(),
  };
}
