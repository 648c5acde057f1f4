import { DomainError } from '../../core/errors.js';
import type { ApiRequest } from '../http/header.js';

/** The largest body that is read, in bytes. */
export const maxBodyBytes = 1_048_576;

/** Throws `too_large` BODY_TOO_LARGE where the announced length is over the limit, before any of it is read. Who reads a body counts as well. */
export function checkBodySize(request: ApiRequest): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw bodyTooLarge();
}

/** What a caller is told whose body is over the limit. */
export function bodyTooLarge(): DomainError {
  return new DomainError('too_large', 'BODY_TOO_LARGE', `the body is over ${maxBodyBytes} bytes`);
}
