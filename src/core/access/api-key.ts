import { hash, randomBytes } from 'node:crypto';
import type { Principal, Scope } from './principal.js';

/** A key that callers present, as it is kept: its text is known to its holder alone. It never changes. */
export interface ApiKey {
  /** UUID v7; it is in the text too. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** At least one, each once. */
  readonly scopes: readonly Scope[];
  /** The relayers it is for; empty: all. */
  readonly relayerIds: readonly string[];
  /** SHA-256 of its text, 64 hex digits. The text has 256 random bits, so nothing slower is needed. */
  readonly digest: string;
  readonly createdAtMs: number;
  /** From then on it opens nothing; null: never. */
  readonly expiresAtMs: number | null;
}

const secretBytes = 32;
const textPattern = /^rk_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

/**
 * A new key's text: `rk_<the id's 32 hex digits>_<43 random characters>`. The prefix is there for scanners that look for leaked secrets.
 */
export function newKeyText(id: string): string {
  return `rk_${id.replaceAll('-', '')}_${randomBytes(secretBytes).toString('base64url')}`;
}

/** The id that a key's text names, so that a key is found without comparing secrets; undefined where the text is no key of ours. */
export function keyIdOf(text: string): string | undefined {
  const parts = textPattern.exec(text);
  return parts === null ? undefined : parts.slice(1).join('-');
}

/** SHA-256 of a key's text. In one call: an object for each hash is more work for the garbage collector than the hash is. */
export function keyDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Who calls with this key; `ended` aborts when it opens nothing any more. */
export function principalFromApiKey({ id, name, scopes, relayerIds, expiresAtMs }: ApiKey, ended: AbortSignal | null): Principal {
  const relayers = relayerIds.length === 0 ? null : new Set(relayerIds);
  return { keyId: id, name, scopes: new Set(scopes), relayers, expiresAtMs, ended };
}

/** True where the caller's own list of relayers holds all that the key is for: only then may it see the key, or delete it. */
export function mayManageKey(caller: Principal, { relayerIds }: Pick<ApiKey, 'relayerIds'>): boolean {
  const { relayers } = caller;
  return relayers === null || (relayerIds.length > 0 && relayerIds.every((id) => relayers.has(id)));
}
