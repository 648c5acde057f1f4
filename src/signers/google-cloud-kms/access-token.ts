import { createPrivateKey, sign } from 'node:crypto';
import type { DurationClock } from '../../core/ports/clock.js';
import { type HttpClient, textAt, valueAt } from '../hosted/http-client.js';
import { ProviderError } from '../hosted/key-provider.js';

/** The key file of a service account, as far as the service uses it. */
export interface ServiceAccount {
  readonly tokenUri: string;
  /** Secret. */
  readonly clientEmail: string;
  /** Secret. */
  readonly privateKeyId: string;
  /** PEM of an RSA key; line breaks may be written as `\n`. Secret. */
  readonly privateKey: string;
}

/** The access token of a service account. It is shared by all calls, and replaced before it ends. */
export interface AccessToken {
  /** Returns the token. Throws `ProviderError`. */
  now(): Promise<string>;
  /** Takes note that the API does not accept this token. */
  refused(token: string): void;
  /** The token in use and the last assertion, which errors must not contain. */
  secrets(): readonly string[];
}

const scope = 'https://www.googleapis.com/auth/cloudkms';
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that Google accepts. */
const assertionSeconds = 3_600;
/** A token is replaced after this part of its life. */
const renewedAfter = 5 / 6;
const obtainMs = 5_000;

/** Makes the access token of a service account. */
export function createAccessToken(account: ServiceAccount, http: HttpClient, clock: Pick<DurationClock, 'elapsedMs'>): AccessToken {
  let token: { readonly text: string; readonly renewAtMs: number } | null = null;
  let obtaining: Promise<string> | null = null;
  let assertion = '';

  async function obtain(): Promise<string> {
    assertion = assertionOf(account);
    const body = new URLSearchParams({ grant_type: grantType, assertion }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    // Not bound to the signal of one caller, since all callers share it.
    const { json } = await http.send({ method: 'POST', url: account.tokenUri, headers, body }, AbortSignal.timeout(obtainMs));
    const text = textAt(json, 'access_token');
    const seconds = valueAt(json, 'expires_in');
    if (text === undefined || text === '') throw new ProviderError('unreachable', 'the answer to the assertion has no access token');
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : 0;
    token = { text, renewAtMs: clock.elapsedMs() + lifeMs * renewedAfter };
    return text;
  }

  return {
    async now() {
      if (token !== null && clock.elapsedMs() < token.renewAtMs) return token.text;
      obtaining ??= obtain().finally(() => {
        obtaining = null;
      });
      return obtaining;
    },
    refused(text) {
      if (token?.text === text) token = null;
    },
    secrets: () => [token?.text ?? '', assertion],
  };
}

/** A JWT by which the service account asks for a token. */
function assertionOf({ clientEmail, privateKeyId, privateKey, tokenUri }: ServiceAccount): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { iss: clientEmail, scope, aud: tokenUri, iat, exp: iat + assertionSeconds };
  const signed = [{ alg: 'RS256', typ: 'JWT', kid: privateKeyId }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${sign('sha256', Buffer.from(signed), rsaKeyFrom(privateKey)).toString('base64url')}`;
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
