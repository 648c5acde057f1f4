import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Store } from '../ports/store.js';
import { openStatuses } from '../transaction/transaction.js';
import type { ChangeableDirectory } from './create-directory.js';
import type { Relayer } from './relayer.js';
import type { RelayerRegistry } from './relayer-registry.js';
import { relayerNotFound } from './relayer-rules.js';

/** What deleting works with. */
export interface DeleteRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly directory: Pick<ChangeableDirectory, 'relayer' | 'chainOf' | 'signerOf' | 'put'>;
  readonly registry: Pick<RelayerRegistry, 'stop'>;
  /** The ids of the relayers that the configuration file has: what is deleted of them must stay so. */
  readonly fileRelayers: ReadonlySet<string>;
  readonly exclusively: Exclusively;
}

/**
 * Deletes a relayer and takes it out of service; its transactions stay stored, and are shown no more. Throws `RELAYER_NOT_FOUND`,
 * `RELAYER_IN_USE` while one of its transactions is not final.
 */
export function deleteRelayer(deps: DeleteRelayerDeps, id: string): Promise<void> {
  const { store, directory, registry, fileRelayers, exclusively } = deps;
  const { change } = store;
  return exclusively(async () => {
    const before = directory.relayer(id);
    if (before === undefined) throw relayerNotFound(id);
    setPaused(directory, before, true);
    try {
      await settleSends(store);
      await checkUnused(store, id);
      const key = { kind: 'relayer', id } as const;
      const isInFile = fileRelayers.has(id);
      await store.commit([isInFile ? change.putDefinition({ ...key, content: null, sealed: null }) : change.deleteDefinition(key)]);
    } catch (error) {
      setPaused(directory, directory.relayer(id) ?? before, before.paused);
      throw error;
    }
    await registry.stop(before);
  });
}

/** A paused relayer takes nothing new. */
function setPaused(directory: DeleteRelayerDeps['directory'], relayer: Relayer, paused: boolean): void {
  directory.put({ relayer: { ...relayer, paused }, chain: directory.chainOf(relayer), signer: directory.signerOf(relayer) });
}

/**
 * Resolves when every send that was let through before the relayer was paused is stored: it commits in the turn in which it is let through.
 */
async function settleSends(store: Pick<Store, 'commit'>): Promise<void> {
  await setImmediate();
  await store.commit([]);
}

async function checkUnused({ read }: Pick<Store, 'read'>, id: string): Promise<void> {
  const { total } = await read.transactionsOf(id, openStatuses, { offset: 0, limit: 1 });
  if (total === 0) return;
  throw new DomainError(
    'precondition',
    'RELAYER_IN_USE',
    `the relayer has ${total} ${total === 1 ? 'transaction that is' : 'transactions that are'} not final`,
  );
}
