import { type KeyProvider, ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';
import { provenKey } from '../hosted/signature.js';
import { openModuleThreads } from './module-threads.js';
import type { KeyPlace } from './thread-messages.js';

/** A key of an HSM. */
export interface Pkcs11Key extends KeyPlace {
  /** The file of the module: a shared library of the HSM's vendor. */
  readonly modulePath: string;
  readonly secrets: LiveSecrets<{ readonly pin: string }>;
}

/** Makes the provider of a key that a PKCS #11 module offers. */
export function createPkcs11Provider({ modulePath, secrets, ...key }: Pkcs11Key, limits: ProviderLimits): KeyProvider {
  const threads = openModuleThreads(modulePath, limits);

  async function sign(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const answer = await threads.call({ kind: 'sign', key, bytes }, secrets.now().pin, signal);
    if (!('bytes' in answer)) throw new ProviderError('unreachable', 'the thread returned an answer to another request');
    return answer.bytes;
  }

  return {
    name: 'the HSM',
    account: `pkcs11 ${modulePath}`,
    limits: threads.limits,
    form: 'fixed',
    async publicKey(signal) {
      const answer = await threads.call({ kind: 'publicKey', key }, secrets.now().pin, signal);
      if (!('candidates' in answer)) throw new ProviderError('unreachable', 'the thread returned an answer to another request');
      const proven = await provenKey(answer.candidates, (bytes) => sign(bytes, signal));
      if (proven !== undefined) return proven;
      throw new ProviderError(
        'refused',
        'the public key on the token does not belong to the private key with this label or id; replace it with the right one',
      );
    },
    sign,
    close: () => threads.close(),
  };
}
