import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** Verifies a webhook with the package `standardwebhooks` and returns its event. Throws if it is not genuine. */
export function verifyWebhook(signingKey: string, headers: IncomingHttpHeaders, body: Buffer): unknown {
  // A key without `whsec_` is plain bytes, not base64.
  const webhook = signingKey.startsWith('whsec_') ? new Webhook(signingKey) : new Webhook(signingKey, { format: 'raw' });
  return webhook.verify(body.toString('utf8'), headers as Record<string, string>);
}
