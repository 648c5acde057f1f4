import { areSameDigests, keyDigest, keyIdOf } from '../records/api-key.js';
import { everyScope, type Principal } from '../records/principal.js';
import type { Clock } from '../work/clock.js';
import type { KeyRing } from './key-ring.js';

/** The id of the operator's own key. */
export const bootstrapId = 'bootstrap';

/** The operator's own key: every scope, every relayer. */
const bootstrapPrincipal: Principal = {
  keyId: bootstrapId,
  name: 'bootstrap',
  scopes: new Set(everyScope),
  relayers: null,
  addresses: null,
  digest: null,
  expiresAtMs: null,
  ended: null,
};

/** The same rights and the same id, so a repeated call finds its stored response; the name shows who has moved to it. */
const nextPrincipal: Principal = { ...bootstrapPrincipal, name: 'bootstrap next' };

/** True for the operator's own key, which is not stored. */
export function isBootstrap(principal: Principal): boolean {
  return principal === bootstrapPrincipal || principal === nextPrincipal;
}

/** The dependencies of the authentication. */
export interface AuthenticateDeps {
  /** The operator's own key, and the next one, which is accepted beside it while callers move to it; null: none. */
  readonly bootstrap: { readonly apiKey: string; readonly apiKeyNext: string | null };
  readonly keys: Pick<KeyRing, 'find'>;
  readonly clock: Clock;
}

/**
 * Creates the check of bearer tokens; it returns undefined for a token that is not a valid key, and throws what `keys.find` throws.
 *
 * Keys are stored as digests and compared in constant time, so timing reveals neither a key's length nor how much of a guess is right. The
 * id in a key's text is not secret; it finds the stored key.
 */
export function createAuthenticate({ bootstrap, keys, clock }: AuthenticateDeps): (token: string) => Principal | undefined {
  const bootstrapDigest = keyDigest(bootstrap.apiKey);
  const nextDigest = bootstrap.apiKeyNext === null ? null : keyDigest(bootstrap.apiKeyNext);
  return (token) => {
    const digest = keyDigest(token);
    if (areSameDigests(digest, bootstrapDigest)) return bootstrapPrincipal;
    if (nextDigest !== null && areSameDigests(digest, nextDigest)) return nextPrincipal;
    const id = keyIdOf(token);
    const held = id === undefined ? undefined : keys.find(id).find((secret) => areSameDigests(digest, secret.digest));
    if (held === undefined) return undefined;
    const { expiresAtMs } = held.principal;
    if (expiresAtMs !== null && expiresAtMs <= clock.nowMs()) return undefined;
    held.noteUse();
    return held.principal;
  };
}
