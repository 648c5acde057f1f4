import { generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Curve } from '../../src/core/records/network.js';
import { secp256k1 } from '../../src/crypto/secp256k1.js';
import { spkiOf } from './fake-aws-kms.js';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A server that answers as Google's token service and Cloud KMS do, with real keys, and verifies assertions and tokens. */
export interface FakeGoogleKms {
  readonly url: string;
  readonly clientEmail: string;
  /** The only one that it accepts. */
  privateKeyId: string;
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
  /** What each signature waits for; null: nothing. */
  pace: (() => Promise<unknown>) | null;
  /** The signatures per second that the quota allows, and as many at once; null: all. */
  perSecond: number | null;
  /** Signatures under way, the maximum that were under way at once, and how many were throttled. */
  readonly signatures: { running: number; most: number; throttled: number };
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
  let given = 0;
  const quota = { left: 0, atMs: Number.NEGATIVE_INFINITY };
  const signatures = { running: 0, most: 0, throttled: 0 };
  const receiver = await startHttpReceiver(test, (response, request) => {
    if (request.path !== '/token' && google.intercept?.(request, response) === true) return;
    const send = ([status, body]: Answer): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (request.path === '/token') send(grant(request));
    else if (!request.path?.endsWith(':asymmetricSign')) send(answerTo(request));
    else if (isOverQuota()) send([429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }]);
    else {
      signatures.running += 1;
      signatures.most = Math.max(signatures.most, signatures.running);
      void Promise.resolve(google.pace?.()).then(() => {
        signatures.running -= 1;
        send(answerTo(request));
      });
    }
  });

  function isOverQuota(): boolean {
    const { perSecond } = google;
    if (perSecond === null) return false;
    const nowMs = performance.now();
    quota.left = Math.min(perSecond, quota.left + ((nowMs - quota.atMs) * perSecond) / 1_000);
    quota.atMs = nowMs;
    if (quota.left >= 1) {
      quota.left -= 1;
      return false;
    }
    signatures.throttled += 1;
    return true;
  }

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
    given += 1;
    const right = key.sign(bytes);
    const sent = isEd25519 ? right : secp256k1.signatureExport(given % 2 === 0 ? right : otherS(right));
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
    pace: null,
    perSecond: null,
    signatures,
    intercept: null,
    revokeTokens: () => valid.clear(),
    asked: (ending) => receiver.requests.filter(({ path }) => path?.endsWith(ending)).length,
  };
  return google;
}

/** The key that `googlePlace` names. */
export const googleKeyName = 'projects/project/locations/global/keyRings/ring/cryptoKeys/relayer/cryptoKeyVersions/1';

/** Adds the key that signers of the tests use, and returns it. */
export function addGoogleKey(google: FakeGoogleKms, curve: Curve, key = fakeKey(curve)): FakeKey {
  google.keys.set(googleKeyName, key);
  return key;
}

/** Returns the configuration of a signer with the key: as the file has it, and the part of it that responses show. */
export function googleSignerOf({ url, clientEmail, privateKeyId, privateKey }: FakeGoogleKms): {
  readonly config: object;
  readonly shown: { readonly service_account: object };
  readonly secrets: Readonly<Record<string, string>>;
} {
  const service_account = { project_id: 'project', client_id: '1', token_uri: `${url}/token` };
  const shown = { service_account, key: { key_ring_id: 'ring', key_id: 'relayer', key_version: 1 }, endpoint: url };
  const secrets = { private_key_id: privateKeyId, private_key: privateKey, client_email: clientEmail };
  const references = Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, { type: 'plain', value }]));
  return { config: { ...shown, service_account: { ...service_account, ...references } }, shown, secrets };
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
