import { DomainError } from '../../core/errors.js';

/** The maximum size of a body in bytes. */
export const maxBodyBytes = 1_048_576;

/** The 413 for a body over the limit. */
export function bodyTooLarge(): DomainError {
  return new DomainError('too_large', 'BODY_TOO_LARGE', `the body is larger than the limit of ${maxBodyBytes} bytes`, {
    metadata: { limit_bytes: String(maxBodyBytes) },
  });
}

/** The 401 for a request without exactly one valid key. */
export function credentialsInvalid(sentence: string): DomainError {
  return new DomainError('unauthenticated', 'CREDENTIALS_INVALID', sentence);
}

/** The 401 for a key that was valid when the call began. */
export function keyEnded(): DomainError {
  return credentialsInvalid('the key was deleted or has expired');
}
