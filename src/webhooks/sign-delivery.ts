import { createHmac } from 'node:crypto';
import { secretFromSigningKey } from '../core/notification/signing-key.js';

/** What is signed: one try of one event. */
export interface Signable {
  /** The event's id, the same at every try. */
  readonly id: string;
  /** The exact body. */
  readonly body: Buffer;
  /** When this try begins, in seconds since the epoch; receivers refuse old ones. */
  readonly timestampSeconds: number;
  /** The notification's present key; null: nothing is signed. */
  readonly signingKey: string | null;
  /** Keys that were replaced lately: receivers that have not learned of the present one verify with them. */
  readonly retiredKeys: readonly string[];
}

/**
 * The headers by which a receiver knows a delivery and its sender. With a key twofold: `X-Signature` over the body alone, under the key's text,
 * which existing receivers verify; and `webhook-signature` of Standard Webhooks, which also guards against replay and has one entry for each key, the
 * present one's first.
 */
export function signatureHeaders({ id, body, timestampSeconds, signingKey, retiredKeys }: Signable): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestampSeconds}` };
  if (signingKey === null) return headers;
  const signed = [`${id}.${timestampSeconds}.`, body];
  const entries = [signingKey, ...retiredKeys].map((key) => `v1,${hmacBase64(secretFromSigningKey(key), signed)}`);
  return {
    ...headers,
    'x-signature': hmacBase64(signingKey, [body]),
    'webhook-signature': entries.join(' '),
  };
}

function hmacBase64(secret: string | Buffer, parts: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('base64');
}
