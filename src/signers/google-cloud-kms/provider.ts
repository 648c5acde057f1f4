import type { Curve } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
import { createAccessToken } from '../hosted/access-token.js';
import { createHttpClient, textAt } from '../hosted/http-client.js';
import { type KeyProvider, ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import { publicKeyFromSpki } from '../hosted/spki.js';
import { createTokenIssuer, type ServiceAccount } from './token-issuer.js';

/** A version of a key of Google Cloud KMS, and the service account that may sign with it. */
export interface GoogleKey {
  readonly account: ServiceAccount;
  /** `https://cloudkms.googleapis.com`, or another address of the same API. */
  readonly endpoint: string;
  readonly projectId: string;
  readonly location: string;
  readonly keyRingId: string;
  readonly keyId: string;
  readonly keyVersion: number;
}

/** Makes the provider of a key of Google Cloud KMS. */
export function createGoogleKmsProvider(key: GoogleKey, clock: Pick<DurationClock, 'elapsedMs'>, limits: ProviderLimits): KeyProvider {
  const { account, endpoint, projectId } = key;
  const http = createHttpClient({
    limits,
    secrets: () => [...account.secrets.all(), issuer.secret(), ...token.secrets()],
  });
  const issuer = createTokenIssuer(account, http);
  const token = createAccessToken(issuer.issue, clock);
  const url = `${endpoint.replace(/\/+$/, '')}/v1/${pathOf(key)}`;
  let curve: Curve | null = null;

  function send(path: string, body: object | null, signal: AbortSignal): Promise<unknown> {
    return token.use(async (text) => {
      const wanted = { url: url + path, headers: { authorization: `Bearer ${text}` } };
      const request =
        body === null ? { ...wanted, method: 'GET' as const } : { ...wanted, method: 'POST' as const, body: JSON.stringify(body) };
      return (await http.send(request, signal)).json;
    });
  }

  async function readKey(signal: AbortSignal) {
    const pem = textAt(await send('/publicKey', null, signal), 'pem');
    if (pem === undefined) throw new ProviderError('unreachable', 'the answer has no public key');
    const found = publicKeyFromSpki(pem);
    curve = found.curve;
    return found;
  }

  return {
    name: 'Google Cloud KMS',
    account: `google_cloud_kms ${endpoint} ${projectId}`,
    limits,
    form: 'der',
    publicKey: readKey,
    async sign(bytes, signal) {
      // Unknown after a start without Google.
      curve ??= (await readKey(signal)).curve;
      const base64 = Buffer.from(bytes).toString('base64');
      // The field is named after the hash that the key is for. The digest may be of another hash of 32 bytes.
      const input = curve === 'secp256k1' ? { digest: { sha256: base64 } } : { data: base64 };
      const signature = textAt(await send(':asymmetricSign', input, signal), 'signature');
      if (signature === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
      return Buffer.from(signature, 'base64');
    },
    close: () => http.close(),
  };
}

function pathOf({ projectId, location, keyRingId, keyId, keyVersion }: GoogleKey): string {
  const parts = { projects: projectId, locations: location, keyRings: keyRingId, cryptoKeys: keyId, cryptoKeyVersions: String(keyVersion) };
  return Object.entries(parts)
    .map(([kind, id]) => `${kind}/${encodeURIComponent(id)}`)
    .join('/');
}
