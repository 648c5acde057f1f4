import { createECDH, createPublicKey, ECDH, randomUUID, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Curve } from '../../src/core/records/network.js';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A server that answers as Turnkey does, with real keys, and verifies the stamp of each request. */
export interface FakeTurnkey {
  readonly url: string;
  readonly organizationId: string;
  /** Hex. */
  readonly apiPublicKey: string;
  readonly apiPrivateKey: string;
  /** By id. */
  readonly keys: Map<string, FakeKey>;
  /** The API user was removed. */
  isRevoked: boolean;
  /** What an activity is at first; if `PENDING`, the second look finds it completed. */
  firstStatus: 'COMPLETED' | 'PENDING' | 'CONSENSUS_NEEDED' | 'FAILED';
  /** Answers a request instead of Turnkey, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** The number of requests whose path ends so. */
  asked(ending: string): number;
}

type Answer = readonly [status: number, body: object];

interface Activity {
  readonly id: string;
  readonly result: object;
  looks: number;
}

/** Starts it on a free port; it stops with the test. */
export async function startFakeTurnkey(test: { after(release: () => void): void }): Promise<FakeTurnkey> {
  const activities = new Map<string, Activity>();
  const receiver = await startHttpReceiver(test, (response, request) => {
    if (turnkey.intercept?.(request, response) === true) return;
    const [status, body] = answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const api = createECDH('prime256v1');
  api.generateKeys();

  function answerTo({ method, path, headers, body: bytes }: ReceivedRequest): Answer {
    if (turnkey.isRevoked || method !== 'POST' || !isStamped(String(headers['x-stamp']), bytes, turnkey.apiPublicKey))
      return [401, { code: 16, message: 'no valid authentication signature found for request' }];
    const body = JSON.parse(bytes.toString());
    if (body.organizationId !== turnkey.organizationId) return [404, { code: 5, message: 'no organization found' }];
    if (path === '/public/v1/query/get_activity') return look(activities.get(body.activityId));
    if (path !== '/public/v1/submit/sign_raw_payload' || body.type !== 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2')
      return [404, { code: 5, message: 'Not Found' }];
    // A stamped request is valid for a while only.
    if (typeof body.timestampMs !== 'string' || Math.abs(Date.now() - Number(body.timestampMs)) > 60_000)
      return [400, { code: 3, message: 'timestampMs is too old' }];
    return sign(body.parameters);
  }

  function sign({ signWith, payload, encoding, hashFunction }: Record<string, string>): Answer {
    const key = turnkey.keys.get(signWith ?? '');
    if (key === undefined) return [404, { code: 5, message: `Could not find any resource to sign with: ${signWith}` }];
    const right = key.publicKey.curve === 'ed25519' ? 'HASH_FUNCTION_NOT_APPLICABLE' : 'HASH_FUNCTION_NO_OP';
    const bytes = Buffer.from(payload ?? '', 'hex');
    if (encoding !== 'PAYLOAD_ENCODING_HEXADECIMAL' || hashFunction !== right || bytes.length === 0)
      return [400, { code: 3, message: 'invalid hash function' }];
    const fixed = key.sign(bytes);
    const sent = Buffer.from(key.publicKey.curve === 'ed25519' || activities.size % 2 === 0 ? fixed : otherS(fixed)).toString('hex');
    const result = { signRawPayloadResult: { r: sent.slice(0, 64), s: sent.slice(64), v: '00' } };
    const activity = { id: randomUUID(), result, looks: 0 };
    activities.set(activity.id, activity);
    return look(activity);
  }

  function look(activity: Activity | undefined): Answer {
    if (activity === undefined) return [404, { code: 5, message: 'no activity found' }];
    activity.looks += 1;
    const status = turnkey.firstStatus === 'PENDING' && activity.looks > 1 ? 'COMPLETED' : turnkey.firstStatus;
    const { id, result } = activity;
    const more = status === 'COMPLETED' ? { result } : status === 'FAILED' ? { failure: { code: 7, message: 'policy denied' } } : {};
    return [200, { activity: { id, organizationId: turnkey.organizationId, status: `ACTIVITY_STATUS_${status}`, ...more } }];
  }

  const turnkey: FakeTurnkey = {
    url: receiver.url(''),
    organizationId: randomUUID(),
    apiPublicKey: api.getPublicKey('hex', 'compressed'),
    apiPrivateKey: api.getPrivateKey('hex').padStart(64, '0'),
    keys: new Map(),
    isRevoked: false,
    firstStatus: 'COMPLETED',
    intercept: null,
    asked: (ending) => receiver.requests.filter(({ path }) => path?.endsWith(ending)).length,
  };
  return turnkey;
}

/** Adds a key, and returns it with the fields of a signer's configuration that are not secret. */
export function addTurnkeyKey(
  turnkey: FakeTurnkey,
  curve: Curve,
  key = fakeKey(curve),
): { readonly key: FakeKey; readonly config: Readonly<Record<string, string>> } {
  const private_key_id = randomUUID();
  turnkey.keys.set(private_key_id, key);
  const { url: api_base_url, organizationId: organization_id, apiPublicKey: api_public_key } = turnkey;
  const public_key = Buffer.from(key.publicKey.bytes).toString('hex');
  return { key, config: { api_base_url, organization_id, api_public_key, private_key_id, public_key } };
}

/** Verifies a stamp as Turnkey documents it: ECDSA with P-256 and SHA-256 over the exact body. */
function isStamped(stamp: string, body: Buffer, apiPublicKey: string): boolean {
  try {
    const { publicKey, scheme, signature } = JSON.parse(Buffer.from(stamp, 'base64url').toString());
    if (publicKey !== apiPublicKey || scheme !== 'SIGNATURE_SCHEME_TK_API_P256' || stamp.includes('=')) return false;
    const point = ECDH.convertKey(publicKey, 'prime256v1', 'hex', undefined, 'uncompressed') as Buffer;
    const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')] as const;
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    return verify('sha256', body, key, Buffer.from(signature, 'hex'));
  } catch {
    return false;
  }
}
