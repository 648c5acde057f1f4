import type { ApiKeyChanges, ApiKeyReads } from '../core/ports/store/api-keys.js';
import type { StoreFor } from '../core/ports/store/store.js';
import { systemClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { createStore } from './create-store.js';
import { DatabaseLockedError } from './database/database-locked-error.js';
import { addressFromUrl } from './database-url.js';
import { openStore } from './open-store.js';
import { openPostgresBeside } from './postgres/open-postgres.js';
import { postgres, sqlite } from './sql/dialect.js';
import { openSqliteBeside } from './sqlite/open-sqlite.js';
import { compileStatements } from './statements/all-statements.js';

/** The API keys of a database. */
export interface ApiKeyStore extends StoreFor<ApiKeyReads, ApiKeyChanges> {
  close(): Promise<void>;
}

/**
 * Opens the API keys of a database. If no process works on the database, this takes its lock and migrates it. If a service does, this opens
 * it beside the service: the lock protects nonces, which API keys do not touch, and the service looks for new keys. Otherwise fails as
 * `openStore` does.
 */
export async function openApiKeys(databaseUrl: string, { log }: { readonly log: Log }): Promise<ApiKeyStore> {
  try {
    return (await openStore(databaseUrl, { log })).store;
  } catch (error) {
    if (!(error instanceof DatabaseLockedError)) throw error;
  }
  const address = addressFromUrl(databaseUrl);
  const deps = { clock: systemClock, log };
  if (address.dialect === 'sqlite') return createStore(openSqliteBeside(address.file), compileStatements(sqlite), deps);
  return createStore(await openPostgresBeside(address.connectionString, log), compileStatements(postgres), deps);
}
