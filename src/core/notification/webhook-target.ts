import { DomainError, invalidField } from '../errors.js';
import { isReservedHost } from './reserved-host.js';

const maxLength = 2048;

/**
 * Checks the address that a caller set for a webhook: http or https, at most 2048 characters, no user info, and, unless `allowPrivateTargets`, no
 * host that is reserved by its spelling. Nothing is resolved: that is judged when it is dialled, since DNS may change its mind.
 *
 * Throws `FIELD_INVALID` or `WEBHOOK_TARGET_REFUSED`, naming `url` and never echoing it: paths and queries of webhooks are often secrets.
 */
export function checkWebhookTarget(text: string, allowPrivateTargets: boolean): void {
  if (text === '') throw invalidField('url', 'is required');
  if (text.length > maxLength) throw invalidField('url', `must be at most ${maxLength} characters`);
  // The URL parser would drop some of these without a word, so that what is shown would not be what is dialled.
  if (/[\s\p{Cc}]/u.test(text)) throw invalidField('url', 'must not contain white space or control characters');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw invalidField('url', 'must be an absolute URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalidField('url', 'must be http or https');
  if (url.username !== '' || url.password !== '') throw invalidField('url', 'must not contain user info');
  if (!allowPrivateTargets && isReservedHost(url.hostname)) throw targetRefused();
}

function targetRefused(): DomainError {
  const description = 'must not point to a private, loopback, link-local, metadata or otherwise reserved host';
  return new DomainError('invalid', 'WEBHOOK_TARGET_REFUSED', `url ${description}`, { fields: [{ field: 'url', description }] });
}
