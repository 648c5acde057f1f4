import { createPrivateKey, sign } from 'node:crypto';
import type { IssuedToken } from '../hosted/access-token.js';
import { type HttpClient, textAt, valueAt } from '../hosted/http-client.js';
import { askWithin, ProviderError } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';

/** The key file of a service account, as far as the service uses it. */
export interface ServiceAccount {
  readonly tokenUri: string;
  readonly secrets: LiveSecrets<ServiceAccountSecrets>;
}

/** The secret fields of a key file, by their names in the configuration. */
interface ServiceAccountSecrets {
  readonly 'service_account.client_email': string;
  readonly 'service_account.private_key_id': string;
  /** PEM of an RSA key; line breaks may be written as `\n`. */
  readonly 'service_account.private_key': string;
}

const scope = 'https://www.googleapis.com/auth/cloudkms';
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that Google accepts. */
const assertionSeconds = 3_600;
const obtainMs = 5_000;

/** Creates the token issuer of a service account. `secret` returns the last assertion, which errors must not contain. */
export function createTokenIssuer(
  account: ServiceAccount,
  http: HttpClient,
): { readonly issue: () => Promise<IssuedToken>; readonly secret: () => string } {
  let assertion = '';
  return {
    async issue() {
      assertion = assertionOf(account);
      const body = new URLSearchParams({ grant_type: grantType, assertion }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const request = { method: 'POST', url: account.tokenUri, headers, body } as const;
      const { json } = await askWithin(obtainMs, (signal) => http.send(request, signal));
      const text = textAt(json, 'access_token');
      const seconds = valueAt(json, 'expires_in');
      if (text === undefined || text === '') throw new ProviderError('unreachable', 'the token service returned no access token');
      return { text, lifeMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : 0 };
    },
    secret: () => assertion,
  };
}

/** A JWT by which the service account asks for a token. */
function assertionOf({ secrets, tokenUri }: ServiceAccount): string {
  const account = secrets.now();
  const { 'service_account.client_email': clientEmail, 'service_account.private_key_id': privateKeyId } = account;
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { iss: clientEmail, scope, aud: tokenUri, iat, exp: iat + assertionSeconds };
  const signed = [{ alg: 'RS256', typ: 'JWT', kid: privateKeyId }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${sign('sha256', Buffer.from(signed), rsaKeyFrom(account['service_account.private_key'])).toString('base64url')}`;
}

function rsaKeyFrom(pem: string) {
  try {
    const key = createPrivateKey(pem.replaceAll('\\n', '\n'));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The error of the library may quote the text.
  }
  throw new ProviderError('refused', 'service_account.private_key is not the PEM text of an RSA key');
}
