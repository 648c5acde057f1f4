import { generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Curve } from '../../src/core/ports/signer.js';
import { secp256k1 } from '../../src/crypto/secp256k1.js';
import { spkiOf } from './fake-aws-kms.js';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A server that answers as Google's token service and Cloud KMS do, with real keys, and verifies assertions and tokens. */
export interface FakeGoogleKms {
  readonly url: string;
  readonly clientEmail: string;
  readonly privateKeyId: string;
  /** PEM. */
  readonly privateKey: string;
  /** By path, without `/v1/`. */
  readonly keys: Map<string, FakeKey>;
  /** The service account is disabled. */
  isDisabled: boolean;
  /** The life of a token. */
  tokenSeconds: number;
  /** All tokens so far, valid or not. */
  readonly tokens: string[];
  /** Answers a request to KMS instead of it, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** Ends all tokens at once. */
  revokeTokens(): void;
  /** The number of requests whose path ends so. */
  asked(ending: string): number;
}

type Answer = readonly [status: number, body: object];

const { publicKey: accountKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

/** Starts it on a free port; it stops with the test. */
export async function startFakeGoogleKms(test: { after(release: () => void): void }): Promise<FakeGoogleKms> {
  const valid = new Map<string, number>();
  let signatures = 0;
  const receiver = await startHttpReceiver(test, (response, request) => {
    if (request.path !== '/token' && google.intercept?.(request, response) === true) return;
    const [status, body] = request.path === '/token' ? grant(request) : answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });

  function grant({ body, headers }: ReceivedRequest): Answer {
    const form = new URLSearchParams(body.toString());
    const isForm = headers['content-type'] === 'application/x-www-form-urlencoded';
    if (!isForm || form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      return [400, { error: 'unsupported_grant_type' }];
    if (google.isDisabled || !isAssertion(form.get('assertion') ?? '', google))
      return [400, { error: 'invalid_grant', error_description: `Invalid JWT: ${form.get('assertion')}` }];
    const token = `ya29.${randomBytes(32).toString('base64url')}`;
    google.tokens.push(token);
    valid.set(token, Date.now() + google.tokenSeconds * 1_000);
    return [200, { access_token: token, expires_in: google.tokenSeconds, token_type: 'Bearer' }];
  }

  function answerTo({ method, path = '', headers, body }: ReceivedRequest): Answer {
    const endsAtMs = valid.get(String(headers.authorization).replace(/^Bearer /, '')) ?? 0;
    if (endsAtMs <= Date.now()) return [401, { error: { code: 401, status: 'UNAUTHENTICATED' } }];
    const [, name = '', action = ''] = /^\/v1\/(.*?)(\/publicKey|:asymmetricSign)$/.exec(path) ?? [];
    const key = google.keys.get(decodeURIComponent(name));
    if (key === undefined) return [404, { error: { code: 404, message: `CryptoKeyVersion ${name} not found.`, status: 'NOT_FOUND' } }];
    if (method === 'GET' && action === '/publicKey') return readKey(key);
    return method === 'POST' && action === ':asymmetricSign' ? sign(key, JSON.parse(body.toString())) : [404, {}];
  }

  function sign(key: FakeKey, input: { digest?: { sha256?: string }; data?: string }): Answer {
    const isEd25519 = key.publicKey.curve === 'ed25519';
    const bytes = Buffer.from((isEd25519 ? input.data : input.digest?.sha256) ?? '', 'base64');
    if (Object.keys(input).length !== 1 || (isEd25519 ? bytes.length === 0 : bytes.length !== 32))
      return [400, { error: { code: 400, status: 'INVALID_ARGUMENT' } }];
    signatures += 1;
    const right = key.sign(bytes);
    const sent = isEd25519 ? right : secp256k1.signatureExport(signatures % 2 === 0 ? right : otherS(right));
    return [200, { signature: Buffer.from(sent).toString('base64') }];
  }

  const google: FakeGoogleKms = {
    url: receiver.url(''),
    clientEmail: 'relayer@project.iam.gserviceaccount.com',
    privateKeyId: randomBytes(20).toString('hex'),
    privateKey,
    keys: new Map(),
    isDisabled: false,
    tokenSeconds: 3_600,
    tokens: [],
    intercept: null,
    revokeTokens: () => valid.clear(),
    asked: (ending) => receiver.requests.filter(({ path }) => path?.endsWith(ending)).length,
  };
  return google;
}

/** The key that `googlePlace` names. */
export const googleKeyName = 'projects/project/locations/global/keyRings/ring/cryptoKeys/relayer/cryptoKeyVersions/1';

/** Adds the key that signers of the tests use, and returns it. */
export function addGoogleKey(google: FakeGoogleKms, curve: Curve): FakeKey {
  const key = fakeKey(curve);
  google.keys.set(googleKeyName, key);
  return key;
}

function readKey(key: FakeKey): Answer {
  const algorithm = key.publicKey.curve === 'ed25519' ? 'EC_SIGN_ED25519' : 'EC_SIGN_SECP256K1_SHA256';
  const pem = `-----BEGIN PUBLIC KEY-----\n${spkiOf(key).toString('base64')}\n-----END PUBLIC KEY-----\n`;
  return [200, { pem, algorithm }];
}

/** Verifies an assertion as Google documents it. */
function isAssertion(text: string, { url, clientEmail, privateKeyId }: FakeGoogleKms): boolean {
  const [header = '', claims = '', signature = ''] = text.split('.');
  if (!verify('sha256', Buffer.from(`${header}.${claims}`), accountKey, Buffer.from(signature, 'base64url'))) return false;
  const [{ alg, kid }, { iss, scope, aud, iat, exp }] = [header, claims].map((part) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()),
  ) as [Record<string, unknown>, Record<string, unknown>];
  const nowSeconds = Date.now() / 1_000;
  const isInTime = Math.abs(Number(iat) - nowSeconds) < 300 && Number(exp) > nowSeconds && Number(exp) - Number(iat) <= 3_600;
  const isOurs = alg === 'RS256' && kid === privateKeyId && iss === clientEmail && aud === `${url}/token`;
  return isOurs && isInTime && scope === 'https://www.googleapis.com/auth/cloudkms';
}
