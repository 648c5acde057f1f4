import type { Directory } from '../ports/directory.js';
import type { RecordRelayerState } from '../ports/record-event.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Log } from '../work/log.js';

/** The parts that show the state of relayers. */
export interface RelayerMarks {
  readonly store: Pick<StoreFor<unknown>, 'commit'>;
  readonly directory: Directory;
  readonly recordRelayerState: RecordRelayerState;
}

/**
 * Disables relayers with a reason, or enables them again (null), and stores the events of those in `reported`. Updates the directory first:
 * signing must stop without waiting for a commit.
 */
export async function markRelayers(
  { store, directory, recordRelayerState }: RelayerMarks,
  log: Log,
  relayerIds: readonly string[],
  reason: string | null,
  reported: readonly string[] = relayerIds,
): Promise<void> {
  const event = reason === null ? 'relayer_enabled' : 'relayer_disabled';
  for (const id of relayerIds) directory.setDisabled(id, reason);
  const changes = reported.flatMap((id) => directory.relayer(id) ?? []).flatMap((relayer) => recordRelayerState(relayer, event));
  if (changes.length === 0) return;
  await store.commit(changes).catch((error: unknown) => log.error({ relayers: relayerIds, err: error }, `cannot store the event ${event}`));
}
