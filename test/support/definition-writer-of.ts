import { createDefinitionWriter, type DefinitionWriter } from '../../src/core/definitions/definition-writer.js';
import type { Store } from '../../src/core/ports/store/store.js';

/** The writer of a new database, for tests without relayers: nothing in memory follows what is stored. */
export function definitionWriterOf(store: Store): DefinitionWriter {
  return createDefinitionWriter({ store, version: 0, show: async () => undefined });
}
