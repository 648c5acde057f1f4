import { networkIdOf } from '../network/networks.js';
import type { RunningInstance } from '../ports/instances.js';
import type { Principal } from '../records/principal.js';
import { mayUseRelayer } from '../records/principal.js';
import { onAbort } from '../work/abort.js';
import type { DurationClock } from '../work/clock.js';
import type { NetworkGlance } from './network-glances.js';
import type { Overview, OverviewState } from './overview.js';
import type { RelayerGlance } from './relayer-glances.js';
import type { OverviewSample } from './samples.js';

/** What has changed since the message before. */
export interface OverviewMessage {
  readonly atMs: number;
  readonly relayers: readonly RelayerGlance[];
  readonly removedRelayerIds: readonly string[];
  /** Without the endpoints if the key may not see them. */
  readonly networks: readonly NetworkGlance[];
  /** Null: unchanged, or the key may not see it. */
  readonly webhookBacklog: number | null;
  /** Empty: unchanged, or the key may not see them. */
  readonly instances: readonly RunningInstance[];
  readonly samples: readonly OverviewSample[];
  readonly isSnapshotComplete: boolean;
}

/** The dependencies of watches. */
export interface WatchOverviewDeps {
  readonly overview: Pick<Overview, 'subscribe'>;
  readonly clock: DurationClock;
  /** How long a watch may be silent. */
  readonly heartbeatMs: number;
}

/** Relayers in one message: it stays far below the 4 MiB that gRPC clients accept. */
const relayersPerMessage = 200;

/**
 * Watches the overview until `signal` aborts, as far as the key may see it. A message without content comes at once, because it carries the
 * response headers, and after each silence.
 */
export async function* watchOverview(
  { overview, clock, heartbeatMs }: WatchOverviewDeps,
  principal: Principal,
  signal: AbortSignal,
): AsyncGenerator<OverviewMessage, void, void> {
  const subscription = overview.subscribe();
  const leave = onAbort(signal, () => subscription.close());
  const changesOf = createChanges(principal, () => clock.nowMs());
  try {
    yield emptyMessage(clock.nowMs());
    let sentAtMs = clock.elapsedMs();
    let isFirst = true;
    while (!signal.aborted) {
      await subscription.turn();
      const state = subscription.state();
      const messages = state === null ? [] : changesOf(state, isFirst);
      if (state !== null) isFirst = false;
      for (const [index, message] of messages.entries()) {
        if (index > 0) await subscription.turn();
        if (signal.aborted) return;
        yield message;
      }
      if (messages.length > 0) sentAtMs = clock.elapsedMs();
      const silentMs = clock.elapsedMs() - sentAtMs;
      if (silentMs >= heartbeatMs) {
        yield emptyMessage(clock.nowMs());
        sentAtMs = clock.elapsedMs();
      } else await subscription.wait(heartbeatMs - silentMs);
    }
  } finally {
    leave();
    subscription.close();
  }
}

function emptyMessage(atMs: number): OverviewMessage {
  const nothing = { relayers: [], removedRelayerIds: [], networks: [], webhookBacklog: null, instances: [], samples: [] };
  return { atMs, ...nothing, isSnapshotComplete: false };
}

/** Makes the function that finds what a key has not been sent yet. */
function createChanges(principal: Principal, nowMs: () => number): (state: OverviewState, isFirst: boolean) => readonly OverviewMessage[] {
  const { scopes } = principal;
  const isLimited = principal.relayers !== null;
  const isAdmin = scopes.has('admin') && !isLimited;
  const seesBacklog = scopes.has('notifications') || isAdmin;
  const sentRelayers = new Set<string>();
  const sentNetworks = new Set<string>();
  let sent = 0;

  function newRelayers({ version, relayers, changed }: OverviewState): RelayerGlance[] {
    if (version === sent) return [];
    const found: RelayerGlance[] = [];
    // All of thousands are compared only for a reader that has missed a look.
    for (const id of sent < changed.after ? relayers.keys() : changed.ids) {
      const glance = relayers.get(id);
      if (glance !== undefined && glance.version > sent && mayUseRelayer(principal, id)) found.push(glance.value);
    }
    for (const { relayer } of found) sentRelayers.add(relayer.id);
    return found;
  }

  function goneRelayers({ removedAt, relayers }: OverviewState): string[] {
    if (removedAt <= sent) return [];
    const gone = [...sentRelayers].filter((id) => !relayers.has(id));
    for (const id of gone) sentRelayers.delete(id);
    return gone;
  }

  function newNetworks({ networks, relayers }: OverviewState): NetworkGlance[] {
    const ownIds = isLimited ? new Set([...sentRelayers].flatMap((id) => networkOf(relayers.get(id)?.value))) : null;
    const found: NetworkGlance[] = [];
    // What happens on a network while it is out of sight is not sent.
    for (const id of sentNetworks) if (!networks.has(id) || ownIds?.has(id) === false) sentNetworks.delete(id);
    for (const [id, { version, value }] of networks) {
      if (ownIds?.has(id) === false || (version <= sent && sentNetworks.has(id))) continue;
      sentNetworks.add(id);
      found.push(isAdmin ? value : { ...value, endpoints: [] });
    }
    return found;
  }

  return (state, isFirst) => {
    const { version, backlog, instances, samples } = state;
    const relayers = newRelayers(state);
    const message = {
      ...emptyMessage(nowMs()),
      removedRelayerIds: goneRelayers(state),
      networks: newNetworks(state),
      webhookBacklog: seesBacklog && backlog !== null && backlog.version > sent ? backlog.value : null,
      instances: isAdmin && instances !== null && instances.version > sent ? instances.value : [],
      samples: isLimited ? [] : samples.filter((sample) => sample.version > sent).map(({ value }) => value),
    };
    sent = version;
    const first = { ...message, relayers: relayers.slice(0, relayersPerMessage) };
    const messages: OverviewMessage[] = isFirst || hasContent(first) ? [first] : [];
    for (let at = relayersPerMessage; at < relayers.length; at += relayersPerMessage)
      messages.push({ ...emptyMessage(message.atMs), relayers: relayers.slice(at, at + relayersPerMessage) });
    const last = messages.length - 1;
    return messages.map((one, index) => (isFirst && index === last ? { ...one, isSnapshotComplete: true } : one));
  };
}

function networkOf(glance: RelayerGlance | undefined): readonly string[] {
  return glance === undefined ? [] : [networkIdOf(glance.relayer.network)];
}

function hasContent({ relayers, removedRelayerIds, networks, webhookBacklog, instances, samples }: OverviewMessage): boolean {
  const lists = [relayers, removedRelayerIds, networks, instances, samples];
  return webhookBacklog !== null || lists.some((list) => list.length > 0);
}
