import { addressFromUrl } from './database-url.js';
import { backUpSqlite } from './sqlite/back-up-sqlite.js';

/**
 * Copies the database, which may be in use, into a new file: see `backUpSqlite`. Throws an error with a sentence for the operator, for PostgreSQL too,
 * which has tools of its own.
 */
export function backUp(databaseUrl: string, target: string): void {
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'postgres') throw new Error('a PostgreSQL database is backed up by its own tools, such as pg_dump');
  backUpSqlite(address.file, target);
}
