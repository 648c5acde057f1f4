import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { computeAddress } from 'ethers';
import { addressFromPublicKey } from '../../src/chains/solana/address.js';
import { signatureText } from '../../src/chains/solana/sign.js';
import type { Curve } from '../../src/core/records/network.js';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A server that answers as the Coinbase Developer Platform does, with real keys, and verifies both tokens of each request. */
export interface FakeCdp {
  /** With the path of the API. */
  readonly url: string;
  readonly apiKeyId: string;
  /** The secrets of the only API keys that it accepts: an Ed25519 key in base64, and a P-256 key in PEM. */
  readonly apiKeySecrets: { readonly ed25519: string; readonly p256: string };
  walletSecret: string;
  /** By address. */
  readonly accounts: Map<string, FakeKey>;
  /** The API key was deleted. */
  isRevoked: boolean;
  /** Makes another wallet secret, the only one that it accepts from then on. */
  replaceWalletSecret(): void;
  /** A policy of the project rejects all signatures. */
  isDenied: boolean;
  /** All tokens that it received. */
  readonly tokens: string[];
  /** Answers a request instead of CDP, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** The number of requests whose path ends so. */
  asked(ending: string): number;
}

type Answer = readonly [status: number, body: object];
type Json = Readonly<Record<string, unknown>>;

const root = '/platform';

/** Starts it on a free port; it stops with the test. */
export async function startFakeCdp(test: { after(release: () => void): void }): Promise<FakeCdp> {
  const [edwards, ec] = [generateKeyPairSync('ed25519'), p256()];
  let wallet = p256();
  const used = new Set<string>();
  let signatures = 0;
  const receiver = await startHttpReceiver(test, (response, request) => {
    cdp.tokens.push(
      ...[request.headers.authorization?.replace(/^Bearer /, ''), request.headers['x-wallet-auth']]
        .flat()
        .filter((one) => one !== undefined),
    );
    if (cdp.intercept?.(request, response) === true) return;
    const [status, body] = answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });

  function answerTo(request: ReceivedRequest): Answer {
    const { method, path = '', headers, body } = request;
    if (cdp.isRevoked || !isBearer(request)) return failure(401, 'unauthorized', 'Unauthorized.');
    if (method === 'POST' && !isWallet(request)) return failure(401, 'unauthorized', 'Wallet authentication error.');
    const [, chain, address = '', action = ''] = /^\/platform\/v2\/(evm|solana)\/accounts\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const key = cdp.accounts.get(chain === 'evm' ? address.toLowerCase() : address);
    if (key === undefined) return failure(404, 'not_found', `Account ${address} not found`);
    if (method === 'GET') return action === '' ? [200, { address }] : failure(404, 'not_found', '');
    if (cdp.isDenied) return failure(403, 'policy_violation', 'The request violates a policy.');
    if (headers['content-type'] !== 'application/json') return failure(400, 'invalid_request', 'content type');
    const content = JSON.parse(body.toString()) as Json;
    if (chain === 'evm') return action === '/sign' ? signHash(key, content) : failure(404, 'not_found', '');
    if (action === '/sign/message') return [200, { signature: signatureText(key.sign(Buffer.from(String(content.message), 'utf8'))) }];
    return action === '/sign/transaction' ? signTransaction(key, content) : failure(404, 'not_found', '');
  }

  function signHash(key: FakeKey, { hash }: Json): Answer {
    if (!/^0x[0-9a-f]{64}$/.test(String(hash))) return failure(400, 'invalid_request', 'hash must be 0x and 64 hex digits');
    signatures += 1;
    const right = key.sign(Buffer.from(String(hash).slice(2), 'hex'));
    const sent = signatures % 2 === 0 ? right : otherS(right);
    return [200, { signature: `0x${Buffer.from(sent).toString('hex')}1b` }];
  }

  function signTransaction(key: FakeKey, { transaction }: Json): Answer {
    const bytes = Buffer.from(String(transaction), 'base64');
    const count = bytes[0] ?? 0;
    const message = bytes.subarray(1 + 64 * count);
    const start = ((message[0] ?? 0) & 0x80) === 0 ? 0 : 1;
    // Tests have less than 128 accounts, so that their number takes one byte.
    const accounts = message.subarray(start + 4);
    const index = Array.from({ length: count }, (_, at) => at).find((at) =>
      accounts.subarray(32 * at, 32 * at + 32).equals(key.publicKey.bytes),
    );
    if (count === 0 || count !== message[start] || index === undefined)
      return failure(400, 'malformed_transaction', 'Malformed transaction.');
    const signed = Buffer.from(bytes);
    signed.set(key.sign(message), 1 + 64 * index);
    return [200, { signedTransaction: signed.toString('base64') }];
  }

  /** Verifies the bearer token as Coinbase documents it. */
  function isBearer({ method, path, headers }: ReceivedRequest): boolean {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    const { header, claims } = partsOf(token);
    const key = header.alg === 'EdDSA' ? edwards.publicKey : ec.publicKey;
    if (!isSigned(token, String(header.alg), key) || header.kid !== cdp.apiKeyId || header.typ !== 'JWT') return false;
    if (!/^[0-9a-f]{32}$/.test(String(header.nonce)) || isUsed(String(header.nonce))) return false;
    const isOurs = claims.iss === 'cdp' && claims.sub === cdp.apiKeyId && isDeep(claims.aud, ['cdp_service']);
    const life = Number(claims.exp) - Number(claims.nbf);
    return (
      isOurs &&
      isDeep(claims.uris, [`${method} ${headers.host}${path}`]) &&
      isNow(claims) &&
      Number(claims.exp) * 1_000 > Date.now() &&
      life <= 120
    );
  }

  /** Verifies the wallet's token, which is also for the exact body. */
  function isWallet({ method, path, headers, body }: ReceivedRequest): boolean {
    const token = String(headers['x-wallet-auth']);
    const { header, claims } = partsOf(token);
    if (!isSigned(token, 'ES256', wallet.publicKey) || header.alg !== 'ES256' || header.typ !== 'JWT') return false;
    if (typeof claims.jti !== 'string' || isUsed(claims.jti) || !isNow(claims)) return false;
    const hash = createHash('sha256').update(body).digest('hex');
    return claims.reqHash === hash && isDeep(claims.uris, [`${method} ${headers.host}${path}`]);
  }

  function isUsed(text: string): boolean {
    if (used.has(text)) return true;
    used.add(text);
    return false;
  }

  function walletText(): string {
    return wallet.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  }

  const { d = '', x = '' } = edwards.privateKey.export({ format: 'jwk' });
  const cdp: FakeCdp = {
    url: receiver.url(root),
    apiKeyId: randomUUID(),
    apiKeySecrets: {
      ed25519: Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]).toString('base64'),
      p256: ec.privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    },
    walletSecret: walletText(),
    accounts: new Map(),
    isRevoked: false,
    replaceWalletSecret() {
      wallet = p256();
      cdp.walletSecret = walletText();
    },
    isDenied: false,
    tokens: [],
    intercept: null,
    asked: (ending) => receiver.requests.filter(({ path }) => path?.endsWith(ending)).length,
  };
  return cdp;
}

/** Adds an account, and returns its key and its address. */
export function addCdpAccount(cdp: FakeCdp, curve: Curve, key = fakeKey(curve)): { readonly key: FakeKey; readonly address: string } {
  const { bytes } = key.publicKey;
  const address = curve === 'ed25519' ? addressFromPublicKey(bytes) : computeAddress(`0x${Buffer.from(bytes).toString('hex')}`);
  cdp.accounts.set(curve === 'ed25519' ? address : address.toLowerCase(), key);
  return { key, address };
}

function failure(status: number, errorType: string, errorMessage: string): Answer {
  return [status, { errorType, errorMessage, correlationId: randomUUID() }];
}

function p256() {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
}

function partsOf(token: string): { readonly header: Json; readonly claims: Json } {
  const [header, claims] = token.split('.').map((part) => jsonOf(part));
  return { header: header ?? {}, claims: claims ?? {} };
}

function jsonOf(part: string): Json {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
  } catch {
    return {};
  }
}

function isSigned(token: string, alg: string, key: KeyObject): boolean {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const bytes = Buffer.from(`${header}.${claims}`);
  const right = Buffer.from(signature, 'base64url');
  const publicKey = createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' });
  return alg === 'EdDSA'
    ? verify(null, bytes, publicKey, right)
    : verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, right);
}

function isDeep(found: unknown, wanted: readonly string[]): boolean {
  return JSON.stringify(found) === JSON.stringify(wanted);
}

function isNow({ iat, nbf }: Json): boolean {
  const nowSeconds = Date.now() / 1_000;
  return Number(nbf) <= nowSeconds && Math.abs(Number(iat) - nowSeconds) < 60;
}
