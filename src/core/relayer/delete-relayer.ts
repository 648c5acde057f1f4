import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Store } from '../ports/store.js';
import { openStatuses } from '../transaction/transaction.js';
import type { ChangeableDirectory } from './create-directory.js';
import type { Relayer } from './relayer.js';
import type { RelayerRegistry } from './relayer-registry.js';
import { requireRelayer } from './relayer-rules.js';

/** What `deleteRelayer` works with. */
export interface DeleteRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly directory: Pick<ChangeableDirectory, 'relayer' | 'chainOf' | 'signerOf' | 'put'>;
  readonly registry: Pick<RelayerRegistry, 'stop'>;
  /** Ids of the configuration file's relayers: the store must remember that one of them was deleted. */
  readonly fileRelayers: ReadonlySet<string>;
  readonly exclusively: Exclusively;
}

/**
 * Deletes a relayer and stops it. Its transactions stay stored but are no longer shown. Throws `RELAYER_NOT_FOUND`, and `RELAYER_IN_USE` while
 * one of its transactions is open.
 */
export function deleteRelayer(deps: DeleteRelayerDeps, id: string): Promise<void> {
  const { store, directory, registry, fileRelayers, exclusively } = deps;
  const { change } = store;
  return exclusively(async () => {
    const before = requireRelayer(directory, id);
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

/** A paused relayer accepts no new transactions. */
function setPaused(directory: DeleteRelayerDeps['directory'], relayer: Relayer, paused: boolean): void {
  directory.put({ relayer: { ...relayer, paused }, chain: directory.chainOf(relayer), signer: directory.signerOf(relayer) });
}

/** Resolves when every send accepted before the pause is stored: a send commits in the same turn in which it is accepted. */
async function settleSends(store: Pick<Store, 'commit'>): Promise<void> {
  await setImmediate();
  await store.commit([]);
}

async function checkUnused({ read }: Pick<Store, 'read'>, id: string): Promise<void> {
  const { total } = await read.transactionsOf(id, openStatuses, { offset: 0, limit: 1 });
  if (total === 0) return;
  const count = total === 1 ? '1 open transaction' : `${total} open transactions`;
  throw new DomainError('precondition', 'RELAYER_IN_USE', `the relayer has ${count}; wait until they are final, or cancel them`);
}
