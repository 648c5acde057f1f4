import { createHmac } from 'node:crypto';
import { secretFromSigningKey } from '../core/notification/signing-key.js';

/** The parts of one delivery attempt that are signed. */
export interface Signable {
  /** The event's id, the same for every attempt. */
  readonly id: string;
  /** The exact body. */
  readonly body: Buffer;
  /** The start of this attempt, in seconds since the epoch; receivers refuse old attempts. */
  readonly timestampSeconds: number;
  /** The notification's current key; null if it signs nothing. */
  readonly signingKey: string | null;
  /** Recently replaced keys, for receivers that do not have the current key yet. */
  readonly retiredKeys: readonly string[];
}

/**
 * The headers that identify a delivery and prove its sender. A key adds two signatures: `X-Signature`, over the body alone with the key's
 * text, for existing receivers; and `webhook-signature` of Standard Webhooks, which also prevents replays and has one entry per key, the
 * current key first.
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
