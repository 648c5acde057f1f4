import { DomainError, invalidField } from '../errors.js';
import type { Ids } from '../ids.js';
import type { Clock } from '../ports/clock.js';
import { ConflictError, type PageOf, type PageQuery, type Reads, type Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';
import { type ApiKey, keyDigest, mayManageKey, newKeyText } from './api-key.js';
import type { KeyRing } from './key-ring.js';
import { mayUseRelayer, type Principal, type Scope } from './principal.js';

/** What creating works with. */
export interface CreateApiKeyDeps {
  readonly store: { readonly change: Pick<Store['change'], 'insertApiKey'>; readonly commit: Store['commit'] };
  readonly keys: Pick<KeyRing, 'add'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A key as its creator words it. */
export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** They need not exist; empty: all. */
  readonly relayerIds: readonly string[];
  /** Null: never. */
  readonly expiresAtMs: number | null;
}

/** Greatest number of characters of a name. */
const maxNameLength = 100;
const maxRelayers = 1_000;
const namePattern = /^[^\p{Cc}\p{Surrogate}]+$/u;
const relayerIdPattern = /^[A-Za-z0-9_-]{1,36}$/;
/** The last moment that can be told as RFC 3339. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Creates a key; its text is in the answer and nowhere else.
 *
 * Nobody gives what he does not have: `giver`'s key needs each scope that it gives, is for each relayer that it gives, and lives as long.
 * Null is the operator at the command line, who may give all. Throws `FIELD_INVALID`, and `forbidden` SCOPE_MISSING or RELAYER_NOT_ALLOWED.
 */
export async function createApiKey(
  deps: CreateApiKeyDeps,
  wanted: NewApiKey,
  giver: Principal | null,
): Promise<{ readonly apiKey: ApiKey; readonly text: string }> {
  const { store, keys, clock, ids } = deps;
  const nowMs = clock.nowMs();
  checkForm(wanted, nowMs);
  if (giver !== null) checkGiver(wanted, giver);
  const id = ids.timeOrdered();
  const text = newKeyText(id);
  const apiKey: ApiKey = {
    id,
    name: wanted.name,
    scopes: [...new Set(wanted.scopes)],
    relayerIds: [...new Set(wanted.relayerIds)],
    digest: keyDigest(text).toString('hex'),
    createdAtMs: nowMs,
    expiresAtMs: wanted.expiresAtMs,
  };
  await store.commit([store.change.insertApiKey(apiKey)]);
  keys.add(apiKey);
  return { apiKey, text };
}

function checkForm({ name, scopes, relayerIds, expiresAtMs }: NewApiKey, nowMs: number): void {
  if (name === '' || [...name].length > maxNameLength || !namePattern.test(name)) {
    throw invalidField('name', `must be 1 to ${maxNameLength} characters, none of them a control character`);
  }
  if (scopes.length === 0) throw invalidField('scopes', 'must name at least one scope');
  if (relayerIds.length > maxRelayers) throw invalidField('relayer_ids', `must name at most ${maxRelayers} relayers`);
  const wrong = relayerIds.findIndex((id) => !relayerIdPattern.test(id));
  if (wrong !== -1) throw invalidField(`relayer_ids[${wrong}]`, 'must be 1 to 36 of the characters A-Z, a-z, 0-9, _ and -');
  if (expiresAtMs === null) return;
  if (expiresAtMs <= nowMs) throw invalidField('expires_at', 'must not be in the past');
  if (expiresAtMs > lastMs) throw invalidField('expires_at', 'must be before the year 10000');
}

function checkGiver({ scopes, relayerIds, expiresAtMs }: NewApiKey, giver: Principal): void {
  const missing = scopes.find((scope) => !giver.scopes.has(scope));
  if (missing !== undefined) {
    throw new DomainError('forbidden', 'SCOPE_MISSING', `the key lacks the scope ${missing}, so it cannot give it`);
  }
  if (giver.relayers !== null && relayerIds.length === 0) {
    throw new DomainError(
      'forbidden',
      'RELAYER_NOT_ALLOWED',
      'the key is for some relayers only, so it cannot give a key for all: name them',
    );
  }
  const foreign = relayerIds.find((id) => !mayUseRelayer(giver, id));
  if (foreign !== undefined) {
    const sentence = `the key is not for the relayer ${shownName(foreign)}, so it cannot give a key for it`;
    throw new DomainError('forbidden', 'RELAYER_NOT_ALLOWED', sentence);
  }
  if (giver.expiresAtMs !== null && (expiresAtMs === null || expiresAtMs > giver.expiresAtMs)) {
    const last = new Date(giver.expiresAtMs).toISOString();
    throw invalidField('expires_at', `must be set, at latest to ${last}: then the key that creates this one expires`);
  }
}

/** What deleting works with. */
export interface DeleteApiKeyDeps {
  readonly store: {
    readonly read: Pick<Store['read'], 'apiKeys'>;
    readonly change: Pick<Store['change'], 'deleteApiKey'>;
    readonly commit: Store['commit'];
  };
  readonly keys: Pick<KeyRing, 'remove'>;
}

/**
 * Deletes a key: it opens nothing from then on. A caller whose key is for some relayers may delete the keys for those alone, itself among
 * them; others are as unknown to it. Null is the operator at the command line. Throws `API_KEY_NOT_FOUND`, also for the bootstrap key,
 * which is the environment's.
 */
export async function deleteApiKey({ store, keys }: DeleteApiKeyDeps, id: string, caller: Principal | null): Promise<void> {
  const stored = (await store.read.apiKeys()).find((key) => key.id === id);
  if (stored === undefined || (caller !== null && !mayManageKey(caller, stored))) throw apiKeyNotFound(id);
  try {
    await store.commit([store.change.deleteApiKey(id)]);
  } catch (error) {
    // Keys never change, so somebody else deleted it just now.
    throw error instanceof ConflictError ? apiKeyNotFound(id) : error;
  }
  keys.remove(id);
}

function apiKeyNotFound(id: string): DomainError {
  return new DomainError('not_found', 'API_KEY_NOT_FOUND', `API key with ID ${shownName(id)} not found`);
}

/** A page of the keys that the caller may manage, newest first; past the end an empty one, with the true total. */
export async function listApiKeys(
  { store }: { readonly store: { readonly read: Pick<Reads, 'apiKeys'> } },
  { offset, limit }: PageQuery,
  caller: Principal,
): Promise<PageOf<ApiKey>> {
  const own = (await store.read.apiKeys()).filter((key) => mayManageKey(caller, key));
  return { items: own.slice(offset, offset + limit), total: own.length };
}
