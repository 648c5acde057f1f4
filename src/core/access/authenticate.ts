import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../ports/clock.js';
import { keyDigest, keyIdOf } from './api-key.js';
import type { KeyRing } from './key-ring.js';
import { everyScope, type Principal } from './principal.js';

/** Whoever starts the service: every scope, every relayer. */
const bootstrapPrincipal: Principal = {
  keyId: 'bootstrap',
  name: 'bootstrap',
  scopes: new Set(everyScope),
  relayers: null,
  expiresAtMs: null,
  ended: null,
};

/** What the check works with. */
export interface AuthenticateDeps {
  readonly bootstrapKey: string;
  readonly keys: Pick<KeyRing, 'find'>;
  readonly clock: Clock;
}

/**
 * Makes the check of bearer keys. Only digests of keys are kept, and they are compared in constant time: neither how long a guess is, nor
 * how much of it is right, can be measured. A stored key is found by the id in its text, which is no secret.
 */
export function createAuthenticate({ bootstrapKey, keys, clock }: AuthenticateDeps): (token: string) => Principal | undefined {
  const bootstrapDigest = keyDigest(bootstrapKey);
  return (token) => {
    const digest = keyDigest(token);
    if (timingSafeEqual(digest, bootstrapDigest)) return bootstrapPrincipal;
    const id = keyIdOf(token);
    const held = id === undefined ? undefined : keys.find(id);
    if (held === undefined || !timingSafeEqual(digest, held.digest)) return undefined;
    const { expiresAtMs } = held.principal;
    return expiresAtMs !== null && expiresAtMs <= clock.nowMs() ? undefined : held.principal;
  };
}
