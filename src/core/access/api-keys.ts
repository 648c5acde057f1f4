import { DomainError, invalidField } from '../errors/errors.js';
import { readAll, readEach } from '../errors/read-all.js';
import type { ApiKeyChanges, ApiKeyReads } from '../ports/store/api-keys.js';
import { type Change, ConflictError } from '../ports/store/change.js';
import type { StoreFor } from '../ports/store/store.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import { type ApiKey, eachSecretOf, type FormerSecret, keyDigest, newKeyText, principalFromApiKey } from '../records/api-key.js';
import type { Ids } from '../records/ids.js';
import type { Principal, Scope } from '../records/principal.js';
import { checkRelayerIds } from '../text/entry-id.js';
import { shownName } from '../text/safe-text.js';
import { checkText, syntaxes } from '../text/text-syntax.js';
import type { Clock } from '../work/clock.js';
import { decideAgain } from '../work/decide-again.js';
import { bootstrapId, isBootstrap } from './authenticate.js';
import type { KeyRing } from './key-ring.js';

/** The dependencies of creating, rotating and deleting keys. */
export interface ApiKeyDeps {
  readonly store: StoreFor<ApiKeyReads, ApiKeyChanges>;
  readonly keys: Pick<KeyRing, 'put' | 'remove'>;
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

/** A key and its new text, which is stored nowhere but in a sealed response. */
export interface ApiKeyAndText {
  readonly apiKey: ApiKey;
  readonly text: string;
}

/** The last time that RFC 3339 can express. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/** The maximum number of addresses and ranges of a key. */
const maxAddresses = 100;

/** How long a former secret is valid unless the caller says otherwise, and at most: a day and a week. */
const overlapSeconds = { usual: 86_400, max: 604_800 };

/** The maximum number of former secrets of a key that are valid. */
const maxFormerSecrets = 4;

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
  saveResponse: SaveResponse<ApiKeyAndText> = () => [],
): Promise<ApiKeyAndText> {
  const created = apiKeyFrom(wanted, deps.ids.timeOrdered(), deps.clock.nowMs(), creator?.keyId ?? null);
  return commitAs(deps, creator, (_, rights) => {
    const granting = rights();
    if (granting !== null) checkCreator(wanted, granting);
    return { ...created, changes: [deps.store.change.insertApiKey(created.apiKey), ...saveResponse(created)] };
  });
}

/** Decides what a caller does to a key. It must ask for the rights of the caller; null: the operator at the command line. */
type Decide = (stored: readonly ApiKey[], rights: () => Principal | null) => ApiKeyAndText & { readonly changes: readonly Change[] };

/**
 * Commits what a caller decides by its rights as they are stored: its secret may have been revoked or rotated since its call began, even at
 * another instance. Decides again if they change before the commit. So a leaked secret makes no key, and no secret, that outlives it.
 */
async function commitAs({ store, keys }: ApiKeyDeps, caller: Principal | null, decide: Decide): Promise<ApiKeyAndText> {
  const decideOnce = async (): Promise<ApiKeyAndText> => {
    const stored = await store.read.apiKeys();
    const { apiKey, text, changes } = decide(stored, () => rightsNow(caller, stored));
    const own = stored.find(({ id }) => id === caller?.keyId);
    await store.commit([...(own === undefined ? [] : [store.change.holdApiKey(own)]), ...changes]);
    return { apiKey, text };
  };
  const overtaken: readonly (keyof ApiKeyChanges)[] = ['holdApiKey', 'setApiKeySecrets'];
  const done = await decideAgain(decideOnce, (error) => overtaken.some((change) => isConflictOf(error, change)));
  keys.put(done.apiKey);
  return done;
}

/** Throws `unauthenticated` CREDENTIALS_INVALID if the caller's secret is no longer valid. */
function rightsNow(caller: Principal | null, stored: readonly ApiKey[]): Principal | null {
  if (caller === null || isBootstrap(caller)) return caller;
  const secret = stored
    .filter(({ id }) => id === caller.keyId)
    .flatMap(eachSecretOf)
    .find(({ digest }) => digest === caller.digest);
  if (secret === undefined) throw new DomainError('unauthenticated', 'CREDENTIALS_INVALID', 'the API key was revoked');
  return principalFromApiKey(secret, caller.ended);
}

function isConflictOf(error: unknown, change: keyof ApiKeyChanges): boolean {
  return error instanceof ConflictError && error.change === change;
}

/** Makes a key, and its text, which is in the result and nowhere else. Stores nothing. Throws `FIELD_INVALID`. */
export function apiKeyFrom(wanted: NewApiKey, id: string, nowMs: number, createdBy: string | null = null): ApiKeyAndText {
  checkNewApiKey(wanted, nowMs);
  const text = newKeyText(id);
  const apiKey = {
    id,
    name: wanted.name,
    scopes: [...new Set(wanted.scopes)],
    relayerIds: [...new Set(wanted.relayerIds)],
    digest: keyDigest(text),
    formerSecrets: [],
    createdAtMs: nowMs,
    expiresAtMs: wanted.expiresAtMs,
    createdBy,
    adoptedBy: null,
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
  if (endsBefore(creator, expiresAtMs))
    throw invalidField('expires_at', `must be set to ${endOf(creator)} or earlier, because your API key expires then`);
  const { addresses } = creator;
  if (addresses === null) return;
  if (allowedAddresses.length === 0)
    throw invalidField('allowed_addresses', 'must be set, because your API key is limited to some addresses');
  readEach(allowedAddresses, (range, index) => {
    if (!addresses.covers(range))
      throw invalidField(`allowed_addresses[${index}]`, `${range} is not within the addresses that your API key is limited to`);
  });
}

function endsBefore({ expiresAtMs }: Principal, otherExpiresAtMs: number | null): boolean {
  return expiresAtMs !== null && (otherExpiresAtMs === null || otherExpiresAtMs > expiresAtMs);
}

/** Which key to rotate, and how long its secret stays valid beside the new one. */
export interface Rotation {
  readonly id: string;
  /** 0: not at all, and all former secrets end too. Absent: a day. */
  readonly overlapSeconds: number | undefined;
}

/**
 * Gives a key a new text, which is in the result and nowhere else, except in a response that `saveResponse` stores. What the key may do
 * stays as it is.
 *
 * The caller gets a secret of the key, so revoking the caller's key with all that it created must take the key too, and the secret must
 * not outlive the caller's: a key rotates itself and the keys that it created, directly or not. A null caller is the operator at the
 * command line, who may rotate every key. An earlier rotation's overlap goes on beside the new one. Throws `API_KEY_NOT_FOUND`, also for
 * the bootstrap key, which belongs to the environment, and `FIELD_INVALID`.
 */
export async function rotateApiKey(
  deps: ApiKeyDeps,
  { id, overlapSeconds: overlap = overlapSeconds.usual }: Rotation,
  caller: Principal | null,
  saveResponse: SaveResponse<ApiKeyAndText> = () => [],
): Promise<ApiKeyAndText> {
  if (!(overlap <= overlapSeconds.max)) throw invalidField('overlap_seconds', `must be at most ${overlapSeconds.max}`);
  return commitAs(deps, caller, (stored, rights) => {
    const key = stored.find((one) => one.id === id);
    if (key === undefined) throw apiKeyNotFound(id);
    const rotating = rights();
    if (rotating !== null && !isBootstrap(rotating)) checkRotator(key, rotating, stored);
    const text = newKeyText(id);
    const apiKey = { ...key, digest: keyDigest(text), formerSecrets: formerSecretsAfter(key, overlap, deps.clock.nowMs()) };
    return { apiKey, text, changes: [deps.store.change.setApiKeySecrets(apiKey, key.digest), ...saveResponse({ apiKey, text })] };
  });
}

function checkRotator({ id, expiresAtMs }: ApiKey, caller: Principal, stored: readonly ApiKey[]): void {
  if (!withCreated(caller.keyId, stored).includes(id)) throw invalidField('api_key_id', 'must be your own key, or one that it created');
  if (endsBefore(caller, expiresAtMs))
    throw invalidField('api_key_id', `must be a key that expires at ${endOf(caller)} or earlier, because your API key expires then`);
}

function formerSecretsAfter({ digest, formerSecrets }: ApiKey, overlap: number, nowMs: number): readonly FormerSecret[] {
  if (overlap === 0) return [];
  const valid = formerSecrets.filter(({ validUntilMs }) => validUntilMs > nowMs);
  if (valid.length >= maxFormerSecrets) {
    const first = new Date(Math.min(...valid.map(({ validUntilMs }) => validUntilMs))).toISOString();
    throw invalidField(
      'overlap_seconds',
      `must be 0, because ${maxFormerSecrets} former secrets of the key are valid, the first until ${first}`,
    );
  }
  return [{ digest, validUntilMs: nowMs + overlap * 1000 }, ...valid];
}

/**
 * Deletes a key, which revokes it at once. The keys that it created then count as created by its own creator, so that no key escapes from
 * its lineage. Throws `API_KEY_NOT_FOUND`, also for the bootstrap key, which belongs to the environment.
 */
export async function deleteApiKey({ store, keys }: Pick<ApiKeyDeps, 'store' | 'keys'>, id: string): Promise<void> {
  try {
    await store.commit([store.change.deleteApiKey(id, null)]);
  } catch (error) {
    throw error instanceof ConflictError ? apiKeyNotFound(id) : error;
  }
  keys.remove(id);
}

/**
 * Deletes a key with all keys that it created, directly or not, in one commit. Keys that they create meanwhile follow in further commits;
 * after a crash, a repeated call finds them. Returns the ids, the key's first. Throws `API_KEY_NOT_FOUND`.
 */
export async function deleteApiKeyWithCreated({ store, keys }: Pick<ApiKeyDeps, 'store' | 'keys'>, id: string): Promise<readonly string[]> {
  const deleted: string[] = [];
  const deleteNext = async (): Promise<readonly string[]> => {
    const next = withCreated(id, await store.read.apiKeys());
    if (next.length > 0) await store.commit(next.map((one) => store.change.deleteApiKey(one, id)));
    return next;
  };
  for (;;) {
    // Another call deleted one of them meanwhile.
    const next = await decideAgain(deleteNext, (error) => isConflictOf(error, 'deleteApiKey'));
    if (next.length === 0) break;
    for (const one of next) keys.remove(one);
    deleted.push(...next);
  }
  if (deleted.length === 0) throw apiKeyNotFound(id);
  return deleted;
}

/** Returns the ids of a stored key and of the stored keys that it created, directly or not, oldest first. */
function withCreated(id: string, stored: readonly ApiKey[]): readonly string[] {
  // What the operator's own key created has no common lineage.
  if (id === bootstrapId) return [];
  const found = new Set([id]);
  // A key is newer than its creator.
  const oldestFirst = stored.toReversed();
  for (const { id: one, createdBy, adoptedBy } of oldestFirst) if (found.has(adoptedBy ?? createdBy ?? '')) found.add(one);
  return oldestFirst.flatMap(({ id: one }) => (found.has(one) ? one : []));
}

function endOf({ expiresAtMs }: Principal): string {
  return new Date(expiresAtMs ?? 0).toISOString();
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
