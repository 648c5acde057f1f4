import type { ApiKey } from '../../records/api-key.js';
import type { Change } from './change.js';

/** Builders of changes of API keys. */
export interface ApiKeyChanges {
  /** Fails if the id is taken. */
  insertApiKey(key: ApiKey): Change;
  /** Changes nothing; fails if the key is gone, and lets it be deleted only after this commit. */
  holdApiKey(id: string): Change;
  /** Stores the last use of a key, unless a later one is stored or the key is gone. */
  noteApiKeyUse(id: string, usedAtMs: number): Change;
  /** Fails if it is gone. */
  deleteApiKey(id: string): Change;
}

/** Queries of API keys. */
export interface ApiKeyReads {
  /** All API keys, newest first. */
  apiKeys(): Promise<readonly ApiKey[]>;
}
