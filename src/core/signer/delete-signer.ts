import { inUse } from '../entry-id.js';
import type { Exclusively } from '../exclusively.js';
import type { Directory } from '../ports/directory.js';
import type { Store } from '../ports/store.js';
import { getSigner, type Signers } from './signers.js';

/** What `deleteSigner` works with. */
export interface DeleteSignerDeps {
  readonly store: Pick<Store, 'change' | 'commit'>;
  readonly signers: Signers;
  readonly directory: Pick<Directory, 'relayers'>;
  /** Ids of the configuration file's signers: the store must remember that one of them was deleted. */
  readonly fileSigners: ReadonlySet<string>;
  readonly exclusively: Exclusively;
}

/** Deletes a signer and its stored key; a keystore file stays. Throws `SIGNER_NOT_FOUND`, `IN_USE`. */
export function deleteSigner(deps: DeleteSignerDeps, id: string): Promise<void> {
  const { store, signers, directory, fileSigners, exclusively } = deps;
  return exclusively(async () => {
    getSigner(signers, id);
    const users = directory.relayers().flatMap((relayer) => (relayer.signerId === id ? [relayer.id] : []));
    if (users.length > 0) throw inUse('Signer', users, 'delete them first');
    const key = { kind: 'signer', id } as const;
    const { change } = store;
    await store.commit([
      fileSigners.has(id) ? change.putDefinition({ ...key, content: null, sealed: null }) : change.deleteDefinition(key),
    ]);
    signers.remove(id);
  });
}
