import type { ApiKey } from '../core/access/api-key.js';
import { systemClock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { Store } from '../core/ports/store.js';
import { createStore } from './create-store.js';
import { DatabaseLockedError } from './database-locked-error.js';
import { addressFromUrl } from './database-url.js';
import { postgres, sqlite } from './dialect.js';
import { openStore } from './open-store.js';
import { openPostgresBeside } from './postgres/open-postgres.js';
import { openSqliteBeside } from './sqlite/open-sqlite.js';
import { compileStatements } from './statements/all-statements.js';

/** The keys of a database, and nothing else of it. */
export interface ApiKeyStore {
  readonly read: { apiKeys(): Promise<readonly ApiKey[]> };
  readonly change: Pick<Store['change'], 'insertApiKey' | 'deleteApiKey'>;
  readonly commit: Store['commit'];
  close(): Promise<void>;
}

/**
 * Opens the keys of a database. Where nobody works on it, under its lock, and its tables are brought to this version; where a service does,
 * beside it: the lock guards nonces, which nothing here touches, and the service looks for new keys. Fails as `openStore` does otherwise.
 */
export async function openApiKeys(databaseUrl: string, { log }: { readonly log: Log }): Promise<ApiKeyStore> {
  try {
    return (await openStore(databaseUrl, { log })).store;
  } catch (error) {
    if (!(error instanceof DatabaseLockedError)) throw error;
  }
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'sqlite') return createStore(openSqliteBeside(address.file), compileStatements(sqlite), systemClock);
  return createStore(await openPostgresBeside(address.connectionString, log), compileStatements(postgres), systemClock);
}
