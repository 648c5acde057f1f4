import { DomainError, invalidField } from '../errors/errors.js';
import { httpUrlFrom } from '../text/http-url.js';
import { isMasked, whyMaskedRefused } from '../text/masked-url.js';
import { isReservedHost } from '../text/reserved-host.js';
import { syntaxes } from '../text/text-syntax.js';

const { maxLength, description: schemes } = syntaxes.webhook_url;

/**
 * Checks a caller's webhook URL: http or https, at most 2048 characters, no user info, and unless `allowPrivateTargets` no reserved host.
 * It resolves no name: the delivery checks the address when it connects, because DNS answers change.
 *
 * Throws `FIELD_INVALID` or `WEBHOOK_TARGET_REFUSED` for `url`. The text never contains the URL, because its path or query is often a
 * secret.
 */
export function checkWebhookTarget(text: string, allowPrivateTargets: boolean): void {
  if (text === '') throw invalidField('url', 'is required');
  if (text.length > maxLength) throw invalidField('url', `must be at most ${maxLength} characters`);
  // The URL parser drops some of these silently, so the URL shown would differ from the one used.
  if (/[\s\p{Cc}]/u.test(text)) throw invalidField('url', 'must not contain white space or control characters');
  const url = httpUrlFrom(text);
  if (url === null) throw invalidField('url', hasOtherScheme(text) ? schemes : 'must be an absolute URL with a host');
  if (url.username !== '' || url.password !== '') throw invalidField('url', 'must not contain a user name or password');
  if (isMasked(text)) throw invalidField('url', whyMaskedRefused);
  if (!allowPrivateTargets && isReservedHost(url.hostname)) throw targetRefused();
}

function hasOtherScheme(text: string): boolean {
  return /^(?!https?:)[a-z][a-z0-9+.-]*:/i.test(text);
}

function targetRefused(): DomainError {
  const description = 'must not point to a private, loopback, link-local, metadata or otherwise reserved host';
  return new DomainError('invalid', 'WEBHOOK_TARGET_REFUSED', `url ${description}`, { fields: [{ field: 'url', description }] });
}
