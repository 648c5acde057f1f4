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
}

/**
 * The headers by which a receiver knows a delivery and its sender. With a key twofold: `X-Signature` over the body alone, under the key's text,
 * which existing receivers verify; and `webhook-signature` of Standard Webhooks, which also guards against replay.
 */
export function signatureHeaders({ id, body, timestampSeconds, signingKey }: Signable): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestampSeconds}` };
  if (signingKey === null) return headers;
  const standard = createHmac('sha256', secretFromSigningKey(signingKey))
    .update(`${id}.${timestampSeconds}.`)
    .update(body)
    .digest('base64');
  return {
    ...headers,
    'x-signature': createHmac('sha256', signingKey).update(body).digest('base64'),
    'webhook-signature': `v1,${standard}`,
  };
}
