import { hash, randomBytes } from 'node:crypto';
import { addressRangesFrom } from '../text/address-ranges.js';
import type { Principal, Scope } from './principal.js';

/** A secret that a rotation replaced, and that is valid for a while beside the new one. */
export interface FormerSecret {
  /** As `ApiKey.digest`. */
  readonly digest: string;
  readonly validUntilMs: number;
}

/** An API key as stored. Nothing that it may do ever changes; only its holder knows its text. */
export interface ApiKey {
  /** UUID v7; the text contains it. */
  readonly id: string;
  /** A label for people. */
  readonly name: string;
  /** At least one, each once. */
  readonly scopes: readonly Scope[];
  /** The relayers that the key may use; empty: all. */
  readonly relayerIds: readonly string[];
  /** SHA-256 of the newest text, 64 hex digits. The text has 256 random bits, so a slower hash adds nothing. */
  readonly digest: string;
  /** Newest first; some may have ended. */
  readonly formerSecrets: readonly FormerSecret[];
  readonly createdAtMs: number;
  /** Null: never. */
  readonly expiresAtMs: number | null;
  /** The id of the key that created it, `bootstrap` for the operator's own; null: the command line did, or it is not known. */
  readonly createdBy: string | null;
  /** The id of the key that counts as its creator since that one was revoked without it; null: `createdBy` counts. */
  readonly adoptedBy: string | null;
  /** Addresses and ranges from which it may be used; empty: all. */
  readonly allowedAddresses: readonly string[];
  /** Null: not known. */
  readonly lastUsedAtMs: number | null;
}

const secretBytes = 32;
const textPattern = /^rk_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

/** Generates a key's text: `rk_<the id's 32 hex digits>_<43 random characters>`. Scanners for leaked secrets look for the prefix. */
export function newKeyText(id: string): string {
  return `rk_${id.replaceAll('-', '')}_${randomBytes(secretBytes).toString('base64url')}`;
}

/** Returns the id in a key's text, so that a key is found without comparing secrets; undefined if the text is not an API key. */
export function keyIdOf(text: string): string | undefined {
  const parts = textPattern.exec(text);
  return parts === null ? undefined : parts.slice(1).join('-');
}

/** SHA-256 of a key's text, 64 hex digits, in one call: a hash object, or a buffer for the result, costs more than the hash. */
export function keyDigest(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Returns the key once for each of its secrets, the newest first: each former one ends earlier, and its name says so. */
export function eachSecretOf(key: ApiKey): readonly ApiKey[] {
  const former = key.formerSecrets.map(({ digest, validUntilMs }) => ({
    ...key,
    digest,
    name: `${key.name} (former secret)`,
    expiresAtMs: Math.min(validUntilMs, key.expiresAtMs ?? validUntilMs),
  }));
  return [key, ...former];
}

/** Compares two digests in a time that does not depend on where they differ. */
export function areSameDigests(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let index = 0; index < a.length; index += 1) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}

/**
 * Returns the caller that this key stands for. `ended` aborts when the key is revoked or expires.
 *
 * Signers and networks belong to no relayer, so `admin` would lift the key's list of relayers: a stored key that has both acts without
 * `admin`.
 */
export function principalFromApiKey(key: ApiKey, ended: AbortSignal | null): Principal {
  const { id, name, scopes, relayerIds, expiresAtMs, allowedAddresses, digest } = key;
  // A stored list that the API does not accept allows no address.
  const addresses = allowedAddresses.length === 0 ? null : (addressRangesFrom(allowedAddresses) ?? addressRangesFrom([]));
  const all = { keyId: id, name, addresses, digest, expiresAtMs, ended };
  if (relayerIds.length === 0) return { ...all, scopes: new Set(scopes), relayers: null };
  return { ...all, scopes: new Set(scopes.filter((scope) => scope !== 'admin')), relayers: new Set(relayerIds) };
}
