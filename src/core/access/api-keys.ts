import { DomainError, invalidField } from '../errors/errors.js';
import { readAll, readEach } from '../errors/read-all.js';
import type { ApiKeyChanges, ApiKeyReads } from '../ports/store/api-keys.js';
import { ConflictError } from '../ports/store/change.js';
import type { StoreFor } from '../ports/store/store.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import { type ApiKey, keyDigest, newKeyText } from '../records/api-key.js';
import type { Ids } from '../records/ids.js';
import type { Principal, Scope } from '../records/principal.js';
import { checkRelayerIds } from '../text/entry-id.js';
import { shownName } from '../text/safe-text.js';
import { checkText, syntaxes } from '../text/text-syntax.js';
import type { Clock } from '../work/clock.js';
import { isBootstrap } from './authenticate.js';
import type { KeyRing } from './key-ring.js';

/** The dependencies of creating and deleting keys. */
export interface ApiKeyDeps {
  readonly store: StoreFor<ApiKeyReads, ApiKeyChanges>;
  readonly keys: Pick<KeyRing, 'add' | 'remove'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A key as its creator requests it. */
export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** They need not exist; empty: all. */
  readonly relayerIds: readonly string[];
  /** Null: never. */
  readonly expiresAtMs: number | null;
  /** Addresses and ranges; empty: all. */
  readonly allowedAddresses: readonly string[];
}

/** A created key and its text, which is stored nowhere but in a sealed response. */
export interface ApiKeyCreated {
  readonly apiKey: ApiKey;
  readonly text: string;
}

/** The last time that RFC 3339 can express. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/** The maximum number of addresses and ranges of a key. */
const maxAddresses = 100;

/**
 * Creates a key. Its text is in the result and nowhere else, except in a response that `saveResponse` stores.
 *
 * A key cannot grant more than it has: the creator's key needs every granted scope, must not expire earlier, and must be allowed from every
 * granted address. A null creator is the operator at the command line, who may grant everything. Throws `FIELD_INVALID`, and `forbidden`
 * SCOPE_MISSING.
 */
export async function createApiKey(
  deps: ApiKeyDeps,
  wanted: NewApiKey,
  creator: Principal | null,
  saveResponse: SaveResponse<ApiKeyCreated> = () => [],
): Promise<ApiKeyCreated> {
  const { store, keys, clock, ids } = deps;
  const created = apiKeyFrom(wanted, ids.timeOrdered(), clock.nowMs(), creator?.keyId ?? null);
  if (creator !== null) checkCreator(wanted, creator);
  // A key that is revoked creates none afterwards, so that all that it created can be revoked with it.
  const held = creator === null || isBootstrap(creator) ? [] : [store.change.holdApiKey(creator.keyId)];
  await store.commit([...held, store.change.insertApiKey(created.apiKey), ...saveResponse(created)]).catch((error: unknown) => {
    if (error instanceof ConflictError && error.change === 'holdApiKey') throw revokedMeanwhile();
    throw error;
  });
  keys.add(created.apiKey);
  return created;
}

/** Makes a key, and its text, which is in the result and nowhere else. Stores nothing. Throws `FIELD_INVALID`. */
export function apiKeyFrom(wanted: NewApiKey, id: string, nowMs: number, createdBy: string | null = null): ApiKeyCreated {
  checkNewApiKey(wanted, nowMs);
  const text = newKeyText(id);
  const apiKey = {
    id,
    name: wanted.name,
    scopes: [...new Set(wanted.scopes)],
    relayerIds: [...new Set(wanted.relayerIds)],
    digest: keyDigest(text),
    createdAtMs: nowMs,
    expiresAtMs: wanted.expiresAtMs,
    createdBy,
    allowedAddresses: [...new Set(wanted.allowedAddresses)],
    lastUsedAtMs: null,
  };
  return { apiKey, text };
}

/** Checks a requested key. Throws `FIELD_INVALID` naming every field that is wrong. */
export function checkNewApiKey({ name, scopes, relayerIds, expiresAtMs, allowedAddresses }: NewApiKey, nowMs: number): void {
  readAll({
    name: () => checkText('name', name, syntaxes.name),
    relayerIds: () => checkRelayerIds(relayerIds),
    scopes: () => checkScopes(scopes, relayerIds),
    expiresAt: () => checkEnd(expiresAtMs, nowMs),
    allowedAddresses: () => checkAddresses(allowedAddresses),
  });
}

function checkScopes(scopes: readonly Scope[], relayerIds: readonly string[]): void {
  if (scopes.length === 0) throw invalidField('scopes', 'must name at least one scope');
  if (relayerIds.length > 0 && scopes.includes('admin')) {
    throw invalidField('scopes', 'must not contain admin if relayer_ids is set, because admin reaches the signers of all relayers');
  }
}

function checkAddresses(addresses: readonly string[]): void {
  if (addresses.length > maxAddresses) throw invalidField('allowed_addresses', `must name at most ${maxAddresses} addresses or ranges`);
  readEach(addresses, (text, index) => checkText(`allowed_addresses[${index}]`, text, syntaxes.address_range));
}

function checkEnd(expiresAtMs: number | null, nowMs: number): void {
  if (expiresAtMs === null) return;
  if (expiresAtMs <= nowMs) throw invalidField('expires_at', 'must not be in the past');
  if (expiresAtMs > lastMs) throw invalidField('expires_at', 'must be before the year 10000');
}

function checkCreator({ scopes, expiresAtMs, allowedAddresses }: NewApiKey, creator: Principal): void {
  const missing = scopes.find((scope) => !creator.scopes.has(scope));
  if (missing !== undefined) {
    throw new DomainError('forbidden', 'SCOPE_MISSING', `your API key lacks the scope ${missing}, so it cannot grant it`, {
      metadata: { scope: missing },
    });
  }
  if (creator.expiresAtMs !== null && (expiresAtMs === null || expiresAtMs > creator.expiresAtMs)) {
    const last = new Date(creator.expiresAtMs).toISOString();
    throw invalidField('expires_at', `must be set to ${last} or earlier, because your API key expires then`);
  }
  const { addresses } = creator;
  if (addresses === null) return;
  if (allowedAddresses.length === 0)
    throw invalidField('allowed_addresses', 'must be set, because your API key is limited to some addresses');
  readEach(allowedAddresses, (range, index) => {
    if (!addresses.covers(range))
      throw invalidField(`allowed_addresses[${index}]`, `${range} is not within the addresses that your API key is limited to`);
  });
}

/**
 * Deletes a key, which revokes it at once. Throws `API_KEY_NOT_FOUND`, also for the bootstrap key, which belongs to the environment.
 */
export async function deleteApiKey({ store, keys }: Pick<ApiKeyDeps, 'store' | 'keys'>, id: string): Promise<void> {
  try {
    await store.commit([store.change.deleteApiKey(id)]);
  } catch (error) {
    throw error instanceof ConflictError ? apiKeyNotFound(id) : error;
  }
  keys.remove(id);
}

/**
 * Deletes a key with all keys that it created, directly or not. Returns the ids, the key's first. Throws `API_KEY_NOT_FOUND`; if it
 * fails otherwise, some of them may be deleted, and a repeated call deletes the others unless the key itself is gone.
 */
export async function deleteApiKeyWithCreated({ store, keys }: Pick<ApiKeyDeps, 'store' | 'keys'>, id: string): Promise<readonly string[]> {
  const deleted = new Set<string>();
  for (;;) {
    const stored = await store.read.apiKeys();
    const next = deleted.size === 0 ? [id, ...createdBy([id], stored)] : createdBy([...deleted], stored);
    // A key that is gone creates no more.
    if (next.length === 0) return [...deleted];
    try {
      await store.commit(next.map((one) => store.change.deleteApiKey(one)));
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // Another call deleted one of them meanwhile.
      if (deleted.size === 0 && !(await store.read.apiKeys()).some((one) => one.id === id)) throw apiKeyNotFound(id);
      continue;
    }
    for (const one of next) {
      keys.remove(one);
      deleted.add(one);
    }
  }
}

/** Returns the ids of the stored keys that these keys created, directly or not. */
function createdBy(creators: readonly string[], stored: readonly ApiKey[]): readonly string[] {
  const found = new Set(creators);
  // Newest first: a key is newer than its creator.
  for (const key of stored.toReversed()) if (key.createdBy !== null && found.has(key.createdBy)) found.add(key.id);
  return [...found].filter((id) => !creators.includes(id) && stored.some((key) => key.id === id));
}

function revokedMeanwhile(): DomainError {
  return new DomainError('unauthenticated', 'CREDENTIALS_INVALID', 'the API key was revoked');
}

function apiKeyNotFound(id: string): DomainError {
  return new DomainError('not_found', 'API_KEY_NOT_FOUND', `API key with ID ${shownName(id)} not found`, {
    metadata: { api_key_id: shownName(id) },
  });
}

/** Lists the keys, newest first. */
export async function listApiKeys({ store }: { readonly store: Pick<ApiKeyDeps['store'], 'read'> }): Promise<readonly ApiKey[]> {
  return store.read.apiKeys();
}
