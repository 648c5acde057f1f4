import type { Selectable } from 'kysely';
import type { Definition } from '../../core/ports/store.js';
import type { DefinitionTable } from '../schema.js';
import { exactJsonFrom, valueFromExactJson } from './exact-json.js';

/** A definition's columns, without the one that the store gives it. */
export type DefinitionRow = Omit<Selectable<DefinitionTable>, 'seq'>;

/** The columns of a row, by name. */
export const definitionColumns = ['kind', 'id', 'content', 'sealed'] as const satisfies readonly (keyof DefinitionRow)[];

/** The row that stores a definition. */
export function rowFromDefinition({ kind, id, content, sealed }: Definition): DefinitionRow {
  return { kind, id, content: content === null ? null : exactJsonFrom(content), sealed };
}

/** The definition that a row stores. */
export function definitionFromRow({ kind, id, content, sealed }: DefinitionRow): Definition {
  return { kind, id, content: content === null ? null : valueFromExactJson<object>(content), sealed };
}
