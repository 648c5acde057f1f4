import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A webhook outside this window may be a recorded one. */
const replayWindowSeconds = 5 * 60;

/**
 * Verifies a webhook and returns its event. Throws if it is not genuine. `body` is the exact bytes received: parse them only after this.
 * `signingKey` is the notification's `signing_key`.
 */
export function verifyWebhook(signingKey: string, headers: IncomingHttpHeaders, body: Buffer, nowMs: number = Date.now()): unknown {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') throw new Error('not signed');
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw new Error('the timestamp is not a number');
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > replayWindowSeconds) throw new Error('outside the replay window');

  const secret = signingKey.startsWith('whsec_') ? Buffer.from(signingKey.slice('whsec_'.length), 'base64') : Buffer.from(signingKey);
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  // During a key rotation there is one signature for each key. One match is enough.
  const isGenuine = signatures.split(' ').some((entry) => {
    const given = Buffer.from(entry.startsWith('v1,') ? entry.slice('v1,'.length) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isGenuine) throw new Error('no signature matches');
  return JSON.parse(body.toString('utf8'));
}
