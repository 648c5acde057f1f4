import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { ProviderError } from '../hosted/key-provider.js';

/** The API key and the wallet secret of a CDP project. */
export interface CdpAccess {
  readonly apiKeyId: string;
  readonly secrets: CdpSecrets;
}

/** The secrets of a project, by their names in the configuration. */
export interface CdpSecrets {
  /** Base64 of an Ed25519 key (seed and public key), or PEM of a P-256 key; line breaks may be written as `\n`. */
  readonly api_key_secret: string;
  /** Base64 of the PKCS #8 form of a P-256 key. */
  readonly wallet_secret: string;
}

/** The tokens of one request. */
export interface CdpTokens {
  readonly bearer: string;
  /** Only requests with a body have it. */
  readonly wallet: string | null;
}

/** Makes the tokens of a request: both are valid for its method, host and path only, and the wallet's for the exact body. */
export type TokenMaker = (method: string, url: string, body: string | null) => CdpTokens;

type Algorithm = 'EdDSA' | 'ES256';

/** The life of a bearer token, which Coinbase's own clients use. */
const lifeSeconds = 120;

/** Creates the token maker. Throws `ProviderError` if a secret is not a key. */
export function createTokenMaker({ apiKeyId, secrets }: CdpAccess): TokenMaker {
  const apiKey = apiKeyFrom(secrets.api_key_secret);
  const walletKey = walletKeyFrom(secrets.wallet_secret);
  return (method, url, body) => {
    const { host, pathname } = new URL(url);
    const uris = [`${method} ${host}${pathname}`];
    const iat = Math.floor(Date.now() / 1_000);
    const bearer = jwt(
      apiKey,
      { kid: apiKeyId, nonce: uniqueText() },
      {
        sub: apiKeyId,
        iss: 'cdp',
        aud: ['cdp_service'],
        uris,
        iat,
        nbf: iat,
        exp: iat + lifeSeconds,
      },
    );
    if (body === null) return { bearer, wallet: null };
    // CDP hashes the body with sorted keys. The bodies here have one key.
    const reqHash = createHash('sha256').update(body).digest('hex');
    return { bearer, wallet: jwt(walletKey, {}, { uris, reqHash, iat, nbf: iat, jti: uniqueText() }) };
  };
}

interface SigningKey {
  readonly alg: Algorithm;
  readonly key: KeyObject;
}

function jwt({ alg, key }: SigningKey, header: object, claims: object): string {
  const signed = [{ alg, typ: 'JWT', ...header }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature =
    alg === 'EdDSA' ? sign(null, Buffer.from(signed), key) : sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function uniqueText(): string {
  return randomBytes(16).toString('hex');
}

function apiKeyFrom(secret: string): SigningKey {
  const found = secret.startsWith('-----BEGIN') ? p256From(() => createPrivateKey(secret.replaceAll('\\n', '\n'))) : ed25519From(secret);
  if (found !== undefined) return found;
  throw new ProviderError('refused', 'api_key_secret must be base64 of an Ed25519 key (64 bytes), or the PEM text of a P-256 key');
}

function walletKeyFrom(secret: string): SigningKey {
  const found = p256From(() => createPrivateKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'pkcs8' }));
  if (found !== undefined) return found;
  throw new ProviderError('refused', 'wallet_secret must be base64 of a P-256 key in the form of PKCS #8');
}

/** The errors of the library may quote the text. */
function p256From(read: () => KeyObject): SigningKey | undefined {
  try {
    const key = read();
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? { alg: 'ES256', key } : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined if the text is no key, or its halves do not belong together. */
function ed25519From(secret: string): SigningKey | undefined {
  const bytes = Buffer.from(secret, 'base64');
  if (bytes.length !== 64) return undefined;
  const [d, x] = [bytes.subarray(0, 32).toString('base64url'), bytes.subarray(32).toString('base64url')] as const;
  try {
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
    return createPublicKey(key).export({ format: 'jwk' }).x === x ? { alg: 'EdDSA', key } : undefined;
  } catch {
    // Node.js 26 compares the halves itself.
    return undefined;
  }
}
