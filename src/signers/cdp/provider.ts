import { randomBytes } from 'node:crypto';
import { bytesFromBase58 } from '../../core/text/base58.js';
import { addressOfPublicKey } from '../../crypto/evm-address.js';
import { secp256k1 } from '../../crypto/secp256k1.js';
import { createHttpClient, textAt } from '../hosted/http-client.js';
import { type KeyProvider, ProviderError, type ProviderLimits, type PublicKey } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';
import { envelopeOf, signatureAt } from './solana-envelope.js';
import { type CdpSecrets, createTokenMaker, type TokenMaker } from './tokens.js';

/** An account of the Coinbase Developer Platform, and the secrets that may sign with it. */
export interface CdpAccount {
  readonly apiKeyId: string;
  readonly secrets: LiveSecrets<CdpSecrets>;
  /** `https://api.cdp.coinbase.com/platform`, or a proxy of it. */
  readonly apiBaseUrl: string;
  /** `0x` and 40 hex digits, or a Solana address. */
  readonly address: string;
}

/**
 * Makes the provider of an account of CDP. On EVM networks it asks for signatures of digests, and on Solana of transactions without
 * signatures, from which it takes the signature; it uses nothing else of CDP's answer.
 */
export function createCdpProvider(account: CdpAccount, limits: ProviderLimits): KeyProvider {
  const { address, apiKeyId, secrets } = account;
  /** The tokens of the requests under way. */
  const tokens = new Set<string>();
  const http = createHttpClient({ limits, secrets: () => [...secrets.all(), ...tokens] });
  const base = account.apiBaseUrl.replace(/\/+$/, '');
  const isEvm = address.startsWith('0x');
  const accountPath = `/v2/${isEvm ? 'evm' : 'solana'}/accounts/${address}`;
  let made: { readonly from: object; readonly tokensFor: TokenMaker } | null = null;

  async function send(path: string, content: object | null, signal: AbortSignal): Promise<unknown> {
    const from = secrets.now();
    if (made?.from !== from) made = { from, tokensFor: createTokenMaker({ apiKeyId, secrets: from }) };
    const url = base + accountPath + path;
    const [method, body] = content === null ? (['GET', null] as const) : (['POST', JSON.stringify(content)] as const);
    const { bearer, wallet } = made.tokensFor(method, url, body);
    const used = [bearer, wallet].filter((token) => token !== null);
    for (const token of used) tokens.add(token);
    try {
      const headers = { authorization: `Bearer ${bearer}`, ...(wallet === null ? {} : { 'x-wallet-auth': wallet }) };
      return (await http.send({ method, url, headers, ...(body === null ? {} : { body }) }, signal)).json;
    } finally {
      for (const token of used) tokens.delete(token);
    }
  }

  async function signDigest(digest: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const answer = await send('/sign', { hash: `0x${Buffer.from(digest).toString('hex')}` }, signal);
    const [, signature] = /^0x([0-9a-fA-F]{128})[0-9a-fA-F]{2}$/.exec(textAt(answer, 'signature') ?? '') ?? [];
    if (signature === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
    return Buffer.from(signature, 'hex');
  }

  /** CDP signs a whole transaction, or the UTF-8 bytes of a text, and no other bytes. */
  async function signMessage(message: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const envelope = envelopeOf(message, bytesFromBase58(address, 32) ?? Buffer.of());
    const text = Buffer.from(message).toString('utf8');
    let signature: Uint8Array | null = null;
    if (envelope !== null) {
      const answer = await send('/sign/transaction', { transaction: Buffer.from(envelope.transaction).toString('base64') }, signal);
      signature = signatureAt(Buffer.from(textAt(answer, 'signedTransaction') ?? '', 'base64'), envelope.index);
    } else if (Buffer.from(text).equals(message)) {
      signature = bytesFromBase58(textAt(await send('/sign/message', { message: text }, signal), 'signature') ?? '', 64);
    } else throw new ProviderError('refused', 'CDP signs only Solana transactions and texts; these bytes are neither');
    if (signature === null) throw new ProviderError('unreachable', 'the answer has no signature');
    return signature;
  }

  return {
    name: 'CDP',
    account: `cdp ${base} ${apiKeyId}`,
    limits,
    form: 'fixed',
    sign: isEvm ? signDigest : signMessage,
    async publicKey(signal) {
      if (isEvm) return provenKey(address, (digest) => signDigest(digest, signal));
      const found = textAt(await send('', null, signal), 'address');
      if (found === undefined) throw new ProviderError('unreachable', 'the answer has no account');
      const bytes = bytesFromBase58(address, 32);
      if (found !== address || bytes === null) throw new ProviderError('refused', `CDP returned an account other than ${address}`);
      return { curve: 'ed25519', bytes };
    },
    close: () => http.close(),
  };
}

/** Returns the public key that signs for an address: CDP shows only the address. The signed digest is of no transaction. */
async function provenKey(address: string, sign: (digest: Uint8Array) => Promise<Uint8Array>): Promise<PublicKey> {
  const digest = randomBytes(32);
  const signature = await sign(digest);
  for (const recoveryId of [0, 1]) {
    try {
      const bytes = secp256k1.ecdsaRecover(signature, recoveryId, digest, false);
      if (addressOfPublicKey(bytes).toLowerCase() === address.toLowerCase()) return { curve: 'secp256k1', bytes };
    } catch {
      // This recovery id belongs to no key.
    }
  }
  throw new ProviderError('refused', `account_address ${address} is not the address of the key that signs`);
}
