import { createLiveSecrets, type LiveSecrets } from '../../src/signers/hosted/live-secrets.js';

/** Credentials that never change. */
export function fixedSecrets<S extends object>(secrets: S): LiveSecrets<S> {
  return createLiveSecrets(secrets, () => ({}));
}
