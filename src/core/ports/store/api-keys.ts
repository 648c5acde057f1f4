import type { ApiKey } from '../../records/api-key.js';
import type { Change } from './change.js';

/** Builders of changes of API keys. */
export interface ApiKeyChanges {
  /** Fails if the id is taken. */
  insertApiKey(key: ApiKey): Change;
  /** Changes nothing; fails if the key is gone or its newest secret is another one, and lets it change only after this commit. */
  holdApiKey(key: Pick<ApiKey, 'id' | 'digest'>): Change;
  /** Stores the last use of a key, unless a later one is stored or the key is gone. */
  noteApiKeyUse(id: string, usedAtMs: number): Change;
  /** Stores the secrets of a key; fails if it is gone, or if its newest secret is not `replaced`, a digest. */
  setApiKeySecrets(key: Pick<ApiKey, 'id' | 'digest' | 'formerSecrets'>, replaced: string): Change;
  /** Fails if it is gone. The keys that it created then count as created by the heir; null: by its own creator. */
  deleteApiKey(id: string, heirId: string | null): Change;
}

/** Queries of API keys. */
export interface ApiKeyReads {
  /** All API keys, newest first. */
  apiKeys(): Promise<readonly ApiKey[]>;
}
