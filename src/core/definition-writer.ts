import { isDeepStrictEqual } from 'node:util';
import { type Change, type Definition, type Store, StoreAwayError } from './ports/store.js';

/** A definition to store, or the key of one to delete. */
export type DefinitionWrite = Definition | Pick<Definition, 'kind' | 'id'>;

/** What happens in memory. */
export interface Effect {
  /** Called when the definitions are stored. */
  apply(): void | Promise<void>;
  /** Called if a commit without an answer turns out not to be stored. Absent: nothing is to be undone. */
  undo?(): void | Promise<void>;
}

/** Commits definitions with their effect on what the service holds in memory. Call it for one commit at a time. */
export interface DefinitionWriter {
  /**
   * Commits the definitions with the other changes, then applies the effect. If the database is unavailable, it throws StoreAwayError, and the definitions may
   * be stored: `settle` then applies or undoes the effect.
   */
  commit(writes: readonly DefinitionWrite[], others: readonly Change[], effect: Effect): Promise<void>;
  /** Finds out which commits without an answer are stored. Call it before each later commit, and at intervals. Throws StoreAwayError. */
  settle(): Promise<void>;
}

/** The store of the writer. */
export type DefinitionStore = Pick<Store, 'commit'> & {
  readonly read: Pick<Store['read'], 'definitions'>;
  readonly change: Pick<Store['change'], 'putDefinition' | 'deleteDefinition'>;
};

/** As it is stored. */
function contentOf(definition: Definition | undefined): unknown {
  return definition === undefined ? null : JSON.parse(JSON.stringify([definition.content, definition.sealed]));
}

/** Creates the writer. */
export function createDefinitionWriter(store: DefinitionStore): DefinitionWriter {
  let unanswered: { readonly writes: readonly DefinitionWrite[]; readonly effect: Effect } | null = null;

  async function isStored(write: DefinitionWrite): Promise<boolean> {
    const stored = (await store.read.definitions(write.kind)).find(({ id }) => id === write.id);
    return 'content' in write ? isDeepStrictEqual(contentOf(stored), contentOf(write)) : stored === undefined;
  }

  return {
    async commit(writes, others, effect) {
      const changes = writes.map((one) => ('content' in one ? store.change.putDefinition(one) : store.change.deleteDefinition(one)));
      try {
        await store.commit([...changes, ...others]);
      } catch (error) {
        if (error instanceof StoreAwayError) unanswered = { writes, effect };
        else await effect.undo?.();
        throw error;
      }
      await effect.apply();
    },
    async settle() {
      if (unanswered === null) return;
      // A commit that succeeds shows that nothing sent earlier can be written later.
      await store.commit([]);
      const { writes, effect } = unanswered;
      const stored = await Promise.all(writes.map(isStored));
      unanswered = null;
      if (stored.every(Boolean)) await effect.apply();
      else await effect.undo?.();
    },
  };
}
