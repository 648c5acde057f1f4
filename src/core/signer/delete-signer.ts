import { inUse } from '../entry-id.js';
import type { Exclusively } from '../exclusively.js';
import type { Directory } from '../ports/directory.js';
import type { Store } from '../ports/store.js';
import { getSigner, type Signers } from './signers.js';

/** What deleting works with. */
export interface DeleteSignerDeps {
  readonly store: Pick<Store, 'change' | 'commit'>;
  readonly signers: Signers;
  readonly directory: Pick<Directory, 'relayers'>;
  /** The ids of the signers that the configuration file has: what is deleted of them must stay so. */
  readonly fileSigners: ReadonlySet<string>;
  readonly exclusively: Exclusively;
}

/** Deletes a signer, and what is stored of its key; a keystore file stays where it is. Throws `SIGNER_NOT_FOUND`, `IN_USE`. */
export function deleteSigner(deps: DeleteSignerDeps, id: string): Promise<void> {
  const { store, signers, directory, fileSigners, exclusively } = deps;
  return exclusively(async () => {
    getSigner(signers, id);
    const users = directory.relayers().filter(({ signerId }) => signerId === id);
    if (users.length > 0) {
      throw inUse(
        'Signer',
        users.map((relayer) => relayer.id),
      );
    }
    const key = { kind: 'signer', id } as const;
    const { change } = store;
    await store.commit([
      fileSigners.has(id) ? change.putDefinition({ ...key, content: null, sealed: null }) : change.deleteDefinition(key),
    ]);
    signers.remove(id);
  });
}
