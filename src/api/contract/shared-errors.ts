import { maxValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors/errors.js';

/** The maximum size of a body in bytes. */
export const maxBodyBytes = 1_048_576;

/** The maximum size of a body in bytes for methods without a rate limit: they need no more, and nothing else bounds their cost. */
export const maxUnlimitedBodyBytes = 65_536;

/** The 413 for a body over the limit. */
export function bodyTooLarge(limit = maxBodyBytes): DomainError {
  return new DomainError('too_large', 'BODY_TOO_LARGE', `the body is larger than the limit of ${limit} bytes`, {
    metadata: { limit_bytes: String(limit) },
  });
}

/** The 400 for a body with too many values. */
export function tooManyValues(): DomainError {
  return new DomainError('invalid', 'BODY_MALFORMED', `the body has more than ${maxValues} values`);
}

/** The 401 for a request without exactly one valid key. */
export function credentialsInvalid(sentence: string): DomainError {
  return new DomainError('unauthenticated', 'CREDENTIALS_INVALID', sentence);
}

/** The error for a key that was valid when the call began: 401, or the reason why the service can check no key. */
export function keyEnded(ended: AbortSignal): DomainError {
  return ended.reason instanceof DomainError ? ended.reason : credentialsInvalid('the key was revoked or has expired');
}
