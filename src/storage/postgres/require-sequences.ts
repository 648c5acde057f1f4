import type pg from 'pg';
import { sequencedTables } from '../sql/schema.js';

/**
 * Throws an error for the operator if a sequence is behind the rows of its table, so that new rows would be refused. Logical replication
 * copies rows, but no sequences.
 */
export async function requireSequences(client: pg.Client): Promise<void> {
  const highestOf = (table: string) =>
    `select '${table}' as table, pg_get_serial_sequence('${table}', 'seq') as sequence, (select max(seq) from ${table}) as highest`;
  // Is read first: the sequence that is read later is past all rows that other instances add meanwhile.
  const { rows } = await client.query<{ table: string; sequence: string | null; highest: number | null }>(
    sequencedTables.map(highestOf).join(' union all '),
  );
  const repairs: string[] = [];
  for (const { sequence, highest } of rows) {
    if (sequence === null || highest === null) continue;
    const { rows: next } = await client.query<{ next: number }>(
      `select last_value + case when is_called then 1 else 0 end as next from ${sequence}`,
    );
    if (next[0] !== undefined && next[0].next <= highest) repairs.push(`select setval('${sequence}', ${highest});`);
  }
  if (repairs.length > 0)
    throw new Error(
      `sequences of the database are behind their tables, so it would refuse new rows, as after an upgrade by logical replication; stop all instances and run: ${repairs.join(' ')}`,
    );
}
