import { type ListedOperation, listedOperations } from '../../src/chains/stellar/operation-table.js';
import { withTable } from './page-table.js';

/** Returns the page with every operation of the table: its fields and an example. */
export function withOperationsReference(page: string): string {
  return withTable(page, 'operations', [...listedOperations].flatMap(sectionOf));
}

function sectionOf([type, { about, fields, example }]: readonly [string, ListedOperation]): readonly string[] {
  const rows = Object.entries(fields).map(([name, { about: meaning, kind, isRequired }]) => {
    const sentences = [meaning, kind.limits, isRequired ? undefined : 'Optional.'].filter((part) => part !== undefined);
    return `| \`${name}\` | ${sentences.join(' ')} |`;
  });
  const table = rows.length === 0 ? [] : ['| Field | Meaning |', '|---|---|', ...rows, ''];
  return ['', `## ${type}`, '', about, '', ...table, '```json', JSON.stringify({ type, ...example }), '```'];
}
