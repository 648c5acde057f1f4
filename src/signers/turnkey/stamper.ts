import { createECDH, createPrivateKey, ECDH, type KeyObject, sign } from 'node:crypto';
import { ProviderError } from '../hosted/key-provider.js';

/** Returns the stamp of a request's body: the value of the header `X-Stamp`. */
export type Stamper = (body: string) => string;

/** Makes the stamper of an API key, both halves in hex. Throws `ProviderError` if it is not a key pair. */
export function createStamper(apiPublicKey: string, apiPrivateKey: string): Stamper {
  const { key, publicKey } = keyFrom(apiPrivateKey);
  if (compressed(apiPublicKey) !== publicKey)
    throw new ProviderError(
      'refused',
      'api_private_key is not the private key of api_public_key; both must be the hex digits of a P-256 key',
    );
  return (body) => {
    const signature = sign('sha256', Buffer.from(body), key).toString('hex');
    return Buffer.from(JSON.stringify({ publicKey, scheme: 'SIGNATURE_SCHEME_TK_API_P256', signature })).toString('base64url');
  };
}

function keyFrom(text: string): { readonly key: KeyObject; readonly publicKey: string } {
  const d = Buffer.from(text.replace(/^0x/, ''), 'hex');
  if (!/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) throw new ProviderError('refused', 'api_private_key must be 64 hex digits');
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(d);
  } catch {
    throw new ProviderError('refused', 'api_private_key is not a private key of P-256');
  }
  const point = pair.getPublicKey();
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')] as const;
  const jwk = { kty: 'EC', crv: 'P-256', d: d.toString('base64url'), x, y };
  return { key: createPrivateKey({ key: jwk, format: 'jwk' }), publicKey: pair.getPublicKey('hex', 'compressed') };
}

/** Undefined: it is not a public key. */
function compressed(publicKey: string): string | undefined {
  try {
    return String(ECDH.convertKey(publicKey.replace(/^0x/, ''), 'prime256v1', 'hex', 'hex', 'compressed'));
  } catch {
    return undefined;
  }
}
