import { type KeyProvider, ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';
import { openModuleThreads } from './module-threads.js';
import type { KeyPlace } from './thread-messages.js';

/** A key of an HSM. */
export interface Pkcs11Key extends KeyPlace {
  /** The file of the module: a shared library of the HSM's vendor. */
  readonly modulePath: string;
  readonly secrets: LiveSecrets<{ readonly pin: string }>;
}

/** Makes the provider of a key that a PKCS #11 module offers. */
export function createPkcs11Provider({ modulePath, secrets, ...key }: Pkcs11Key, configured: Partial<ProviderLimits> = {}): KeyProvider {
  const threads = openModuleThreads(modulePath, configured);
  return {
    name: 'the HSM',
    account: `pkcs11 ${modulePath}`,
    limits: threads.limits,
    form: 'fixed',
    async publicKey(signal) {
      const answer = await threads.call({ kind: 'publicKey', key }, secrets.now().pin, signal);
      if (!('curve' in answer)) throw new ProviderError('unreachable', 'the thread returned an answer to another request');
      return { curve: answer.curve, bytes: answer.bytes };
    },
    async sign(bytes, signal) {
      const answer = await threads.call({ kind: 'sign', key, bytes }, secrets.now().pin, signal);
      if (!('bytes' in answer)) throw new ProviderError('unreachable', 'the thread returned an answer to another request');
      return answer.bytes;
    },
    close: () => threads.close(),
  };
}
