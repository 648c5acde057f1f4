import { pause } from '../../core/work/abort.js';
import { secp256k1 } from '../../crypto/secp256k1.js';
import { createHttpClient, type HttpClient, textAt } from '../hosted/http-client.js';
import { type KeyProvider, ProviderError, type ProviderLimits, type PublicKey } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';
import { provenKey } from '../hosted/signature.js';
import { createStamper, type Stamper } from './stamper.js';

/** A key of Turnkey, and the API key that may sign with it. */
export interface TurnkeyKey {
  readonly apiBaseUrl: string;
  /** Hex of a P-256 key. */
  readonly apiPublicKey: string;
  /** `api_private_key` is hex. */
  readonly secrets: LiveSecrets<{ readonly api_private_key: string }>;
  readonly organizationId: string;
  /** The id of a private key, or the address of a wallet's account. */
  readonly privateKeyId: string;
  /** Hex: 65 or 33 bytes of a secp256k1 key, 32 bytes of an ed25519 key. */
  readonly publicKey: string;
}

/** Between two looks at an activity that is still under way. */
const lookAgainMs = 100;
const prefix = { activity: 'ACTIVITY_STATUS_', sign: '/public/v1/submit/sign_raw_payload', get: '/public/v1/query/get_activity' };

/** Makes the provider of a key of Turnkey. */
export function createTurnkeyProvider(key: TurnkeyKey, limits: ProviderLimits): KeyProvider {
  const http = createHttpClient({ limits, secrets: key.secrets.all });
  let made: { readonly from: object; readonly stamper: Stamper } | null = null;

  async function post(path: string, content: object, signal: AbortSignal): Promise<unknown> {
    const from = key.secrets.now();
    if (made?.from !== from) made = { from, stamper: createStamper(key.apiPublicKey, from.api_private_key) };
    return send(http, key.apiBaseUrl.replace(/\/+$/, '') + path, JSON.stringify(content), made.stamper, signal);
  }

  async function sign(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const isDigest = publicKeyFromHex(key.publicKey).curve === 'secp256k1';
    const parameters = {
      signWith: key.privateKeyId,
      payload: Buffer.from(bytes).toString('hex'),
      encoding: 'PAYLOAD_ENCODING_HEXADECIMAL',
      hashFunction: isDigest ? 'HASH_FUNCTION_NO_OP' : 'HASH_FUNCTION_NOT_APPLICABLE',
    };
    const { organizationId } = key;
    const activity = { type: 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2', timestampMs: String(Date.now()), organizationId, parameters };
    let answer = await post(prefix.sign, activity, signal);
    while (isUnderWay(answer)) {
      await pause(lookAgainMs, signal);
      signal.throwIfAborted();
      answer = await post(prefix.get, { organizationId, activityId: textAt(answer, 'activity', 'id') }, signal);
    }
    return signatureFrom(answer, http.shown);
  }

  return {
    name: 'Turnkey',
    account: `turnkey ${key.apiBaseUrl} ${key.organizationId}`,
    limits,
    form: 'fixed',
    sign,
    async publicKey(signal) {
      const publicKey = publicKeyFromHex(key.publicKey);
      // Only a signature proves it for every kind of id.
      if ((await provenKey([publicKey], (bytes) => sign(bytes, signal))) === undefined)
        throw new ProviderError('refused', `public_key ${key.publicKey} is not the public key of ${key.privateKeyId}`);
      return publicKey;
    },
    close: () => http.close(),
  };
}

/** The stamp signs the exact bytes of the body. */
async function send(http: HttpClient, url: string, body: string, stamper: Stamper, signal: AbortSignal): Promise<unknown> {
  return (await http.send({ method: 'POST', url, headers: { 'x-stamp': stamper(body) }, body }, signal)).json;
}

function statusOf(answer: unknown): string {
  return textAt(answer, 'activity', 'status')?.replace(prefix.activity, '') ?? '';
}

function isUnderWay(answer: unknown): boolean {
  return ['CREATED', 'PENDING'].includes(statusOf(answer)) && textAt(answer, 'activity', 'id') !== undefined;
}

function signatureFrom(answer: unknown, shown: HttpClient['shown']): Uint8Array {
  const status = statusOf(answer);
  if (status === 'CONSENSUS_NEEDED')
    throw new ProviderError('refused', 'a policy requires more users to approve the signature; allow the API user to sign alone');
  if (status === 'FAILED' || status === 'REJECTED') {
    const why = textAt(answer, 'activity', 'failure', 'message') ?? 'without a reason';
    throw new ProviderError('refused', `the activity is ${status}: ${shown(why)}`);
  }
  const result = ['activity', 'result', 'signRawPayloadResult'];
  const [r, s] = ['r', 's'].map((part) => /^(?:0x)?([0-9a-fA-F]{1,64})$/.exec(textAt(answer, ...result, part) ?? '')?.[1]);
  if (r === undefined || s === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
  return Buffer.from(r.padStart(64, '0') + s.padStart(64, '0'), 'hex');
}

/** Reads the configured public key. Throws `ProviderError`. */
function publicKeyFromHex(text: string): PublicKey {
  const bytes = Buffer.from(text.replace(/^0x/, ''), 'hex');
  if (bytes.length * 2 === text.replace(/^0x/, '').length) {
    if (bytes.length === 32) return { curve: 'ed25519', bytes };
    if ((bytes.length === 33 || bytes.length === 65) && secp256k1.publicKeyVerify(bytes))
      return { curve: 'secp256k1', bytes: secp256k1.publicKeyConvert(bytes, false) };
  }
  throw new ProviderError(
    'refused',
    `public_key is ${text}; must be the hex digits of a secp256k1 key (33 or 65 bytes) or an ed25519 key (32 bytes)`,
  );
}
