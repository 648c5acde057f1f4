import { addressFromUrl } from './database-url.js';
import { backUpSqlite } from './sqlite/sqlite-backup.js';

/**
 * Copies a SQLite database, in use or not, into a new file, see `backUpSqlite`. Rejects with an error whose message is for the operator,
 * also for a PostgreSQL database, which has its own tools.
 */
export async function backUp(databaseUrl: string, target: string): Promise<void> {
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'postgres') throw new Error('relayer backup copies SQLite databases only; back up PostgreSQL with pg_dump');
  await backUpSqlite(address.file, target);
}
