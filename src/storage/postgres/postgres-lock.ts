import type pg from 'pg';
import { DatabaseLockedError } from '../database-locked-error.js';
import { postgres } from '../dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { connectPostgresWriter, type PostgresWriter } from './postgres-writer.js';

/** Separates our lock from the locks of other programs in the same database. */
const lockNumber = 1_919_249_012;

/** Undefined if the row cannot be read, for example while the holder runs its first migration. */
async function holderOf(client: pg.Client): Promise<Instance | undefined> {
  const { sql, bind } = instanceStatements(postgres.builder).holder;
  try {
    const { rows } = await client.query<Instance>(sql, bind({ number: 1 }));
    return rows[0];
  } catch {
    return undefined;
  }
}

/** Returns the schema in which new tables are created. */
async function schemaOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string | null; path: string }>(
    `select current_schema() as schema, current_setting('search_path') as path`,
  );
  const { schema = null, path = '' } = rows[0] ?? {};
  if (schema === null)
    throw new Error(
      `the search_path of the PostgreSQL user (${path}) names no schema that exists; create the schema, or set another search_path`,
    );
  return schema;
}

/**
 * Connects and takes the instance lock of the database's schema until the connection ends. Throws `DatabaseLockedError`.
 *
 * The connection that writes also holds the lock, so every commit happens under the lock. With two connections, the one with the lock could
 * die and another process could take the lock while the other connection still writes.
 */
export async function takePostgresLock(connectionString: string): Promise<PostgresWriter & { readonly schema: string }> {
  const connected = await connectPostgresWriter(connectionString);
  const { writer } = connected;
  try {
    const schema = await schemaOf(writer);
    const lock = 'select pg_try_advisory_lock($1, hashtext($2)) as taken';
    const { rows } = await writer.query<{ taken: boolean }>(lock, [lockNumber, schema]);
    if (rows[0]?.taken !== true) throw new DatabaseLockedError(await holderOf(writer));
    const lost = connected.lost.then((cause) => new Error('the connection that holds the instance lock was lost', { cause }));
    return { writer, lost, schema };
  } catch (error) {
    await writer.end();
    throw error;
  }
}
