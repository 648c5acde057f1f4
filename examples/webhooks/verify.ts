import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Deliveries that were signed longer ago, or are from the future, may be someone's recording of an earlier one. */
const replayWindowSeconds = 5 * 60;

/**
 * Verifies a delivery and returns its event; throws when it is not genuine. `body` are the exact bytes that came: parse them only after this.
 * `signingKey` is the text that the notification was given.
 */
export function verifyWebhook(signingKey: string, headers: IncomingHttpHeaders, body: Buffer, nowMs: number = Date.now()): unknown {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') throw new Error('not signed');
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw new Error('the timestamp is no number');
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > replayWindowSeconds) throw new Error('outside of the replay window');

  const secret = signingKey.startsWith('whsec_') ? Buffer.from(signingKey.slice('whsec_'.length), 'base64') : Buffer.from(signingKey);
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  // While a key is being replaced there is one signature for each key: one that matches is enough.
  const isGenuine = signatures.split(' ').some((entry) => {
    const given = Buffer.from(entry.startsWith('v1,') ? entry.slice('v1,'.length) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isGenuine) throw new Error('no signature matches');
  return JSON.parse(body.toString('utf8'));
}
