import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** The same by the `standardwebhooks` package: verifies a delivery and returns its event; throws when it is not genuine. */
export function verifyWebhook(signingKey: string, headers: IncomingHttpHeaders, body: Buffer): unknown {
  // A key without `whsec_` is used as it is written, not as base64.
  const webhook = signingKey.startsWith('whsec_') ? new Webhook(signingKey) : new Webhook(signingKey, { format: 'raw' });
  return webhook.verify(body.toString('utf8'), headers as Record<string, string>);
}
