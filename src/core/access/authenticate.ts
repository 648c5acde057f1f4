import { hash, timingSafeEqual } from 'node:crypto';
import type { Principal, Scope } from './principal.js';

const everyScope: ReadonlySet<Scope> = new Set<Scope>(['transactions:read', 'transactions:write', 'sign', 'notifications', 'admin']);

/** Whoever starts the service: every scope, every relayer. */
const bootstrapPrincipal: Principal = { keyId: 'bootstrap', scopes: everyScope, relayers: null };

/**
 * Makes the check of bearer keys. Only the digest of the key is kept, and digests are compared in constant time: neither how long a guess
 * is, nor how much of it is right, can be measured.
 */
export function createAuthenticate({ bootstrapKey }: { readonly bootstrapKey: string }): (token: string) => Principal | undefined {
  const bootstrapDigest = sha256(bootstrapKey);
  return (token) => (timingSafeEqual(sha256(token), bootstrapDigest) ? bootstrapPrincipal : undefined);
}

/** In one call: an object for each hash is more work for the garbage collector than the hash is. */
function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
