import type { Definition, FileEntry } from '../../records/definition.js';
import type { Change } from './change.js';

/** Builders of changes of definitions and of entries that the configuration file wrote. */
export interface DefinitionChanges {
  /** Counts a change of the definitions, in the commit that makes it; fails unless `from` is the version before it. */
  moveDefinitions(from: number): Change;
  /** Writes a definition in place of one of the same kind and id, keeping its place in the list; never fails. */
  putDefinition(definition: Definition): Change;
  /** Never fails. */
  deleteDefinition(definition: Pick<Definition, 'kind' | 'id'>): Change;
  /** Stores the revision that the configuration file last wrote; never fails. */
  putFileEntry(entry: FileEntry): Change;
  /** Deletes the record that the configuration file wrote it; never fails. */
  deleteFileEntry(entry: Pick<FileEntry, 'kind' | 'id'>): Change;
}

/** Queries of definitions and of entries that the configuration file wrote. */
export interface DefinitionReads {
  /** How often the API has changed definitions. */
  definitionsVersion(): Promise<number>;
  /** In the order in which they were first written. */
  definitions(kind: Definition['kind']): Promise<readonly Definition[]>;
  /** The entries that the configuration file wrote. */
  fileEntries(kind: FileEntry['kind']): Promise<readonly FileEntry[]>;
}
