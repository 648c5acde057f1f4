import { type RawBuilder, sql } from 'kysely';
import { openStatuses } from '../core/transaction/transaction.js';

/**
 * True for a transaction that may still change. Written out as constants in statements and in the partial indexes alike: a database uses a
 * partial index only where it sees the index's own condition.
 */
export function isOpen(statusColumn: string): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(statusColumn)} in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`;
}
