import { type Change, ConflictError, StoreAwayError } from '../ports/store/change.js';
import type { DefinitionChanges, DefinitionReads } from '../ports/store/definitions.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Definition } from '../records/definition.js';
import { decideAgain } from '../work/decide-again.js';
import type { Log } from '../work/log.js';
import { createExclusively, type Exclusively } from '../work/one-at-a-time.js';
import { repeat } from '../work/repeat.js';

/** The longest time until a change of another instance takes effect if its notification was lost. */
const followEveryMs = 1_000;

/** A definition to store, or the key of one to delete. */
export type DefinitionWrite = Definition | Pick<Definition, 'kind' | 'id'>;

/** All definitions of one version, by kind, each in the order in which they were first written. */
export interface StoredDefinitions extends Readonly<Record<Definition['kind'], readonly Definition[]>> {
  readonly version: number;
}

/** Changes definitions together with what the service holds of them in memory. */
export interface DefinitionWriter {
  /**
   * Runs work that checks and changes definitions, one at a time. The memory shows all stored definitions then. If another instance is
   * faster to commit, the work runs again. Throws what the work throws, StoreAwayError, and the error because of which a stored definition
   * cannot be used here.
   */
  readonly exclusively: Exclusively;
  /**
   * Commits definitions with other changes, then shows them. Call it in `exclusively`, as the last step of the work. It may fail although
   * the definitions are stored, as other commits can: the memory follows what is stored then, before the next work and within a second.
   * `onStored`: called between the commit and the showing.
   */
  commit(writes: readonly DefinitionWrite[], others: readonly Change[], onStored?: () => void): Promise<void>;
  /** Makes the memory show what is stored now. Throws as `exclusively` does. */
  follow(): Promise<void>;
}

type CurrentDefinitions = Pick<DefinitionReads, 'definitions' | 'definitionsVersion'>;

/** The parts that make the writer. */
export interface DefinitionWriterDeps {
  readonly store: StoreFor<CurrentDefinitions, DefinitionChanges>;
  /** Changes what the memory holds to all definitions, or to the written ones. If it throws, it is called again, with all. */
  readonly show: (stored: StoredDefinitions | readonly DefinitionWrite[]) => Promise<void>;
  /** The version of the definitions that the memory shows. */
  readonly version: number;
}

/** Reads all definitions. */
export async function readDefinitions(read: CurrentDefinitions): Promise<StoredDefinitions> {
  for (;;) {
    const version = await read.definitionsVersion();
    const [relayer, signer, network, pinned_key, plugin] = await Promise.all([
      read.definitions('relayer'),
      read.definitions('signer'),
      read.definitions('network'),
      read.definitions('pinned_key'),
      read.definitions('plugin'),
    ]);
    // Each read sees what is committed when it runs.
    if ((await read.definitionsVersion()) === version) return { version, relayer, signer, network, pinned_key, plugin };
  }
}

/** True if another instance changed definitions between the reads of this one and its commit. */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError && error.change === 'moveDefinitions';
}

/** Creates the writer. */
export function createDefinitionWriter({ store, show, version }: DefinitionWriterDeps): DefinitionWriter {
  const oneAtATime = createExclusively();
  /** The version that the memory shows; null: unknown, because a commit or a change of the memory failed. */
  let shown: number | null = version;

  async function catchUp(): Promise<void> {
    // A commit that succeeds shows that nothing sent earlier can be written later.
    if (shown === null) await store.commit([]);
    while ((await store.read.definitionsVersion()) !== shown) {
      shown = null;
      const definitions = await readDefinitions(store.read);
      await show(definitions);
      shown = definitions.version;
    }
  }

  const exclusively: Exclusively = (work) =>
    oneAtATime(async () => {
      const decide = async () => {
        await catchUp();
        return work();
      };
      return decideAgain(decide, isOvertaken);
    });

  return {
    exclusively,
    async commit(writes, others, onStored) {
      if (shown === null) throw new Error('a commit of definitions must be the last step of its work');
      const changes = writes.map((one) => ('content' in one ? store.change.putDefinition(one) : store.change.deleteDefinition(one)));
      const from = shown;
      shown = null;
      await store.commit([store.change.moveDefinitions(from), ...changes, ...others]);
      onStored?.();
      await show(writes);
      shown = from + 1;
    },
    follow: () => oneAtATime(catchUp),
  };
}

/** The looks at the stored definitions. */
export interface Following {
  /** Looks now. Returns at once. */
  look(): void;
  /** Looks no more; resolves when the look in progress has ended. */
  stop(): Promise<void>;
}

/** Follows the stored definitions from now on. Logs a definition that cannot be used once; it is tried again. */
export function startFollowing(writer: Pick<DefinitionWriter, 'follow'>, log: Pick<Log, 'error'>): Following {
  let logged = '';

  async function follow(): Promise<void> {
    await writer.follow();
    logged = '';
  }

  function onError(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    // The store logs that the database is away.
    if (message !== logged && !(error instanceof StoreAwayError))
      log.error({ err: error }, 'cannot apply relayers, signers, networks or plugins changed by another instance; retrying');
    logged = message;
  }

  const repeating = repeat(follow, followEveryMs, { onError, runsAtOnce: false });
  return { look: repeating.wake, stop: repeating.stop };
}
