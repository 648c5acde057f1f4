import { bodyTooLarge, maxBodyBytes } from '../contract/shared-errors.js';
import type { ApiRequest } from '../http/header.js';

/** Throws `too_large` BODY_TOO_LARGE where the announced length is over the limit, before any of it is read. Who reads a body counts as well. */
export function checkBodySize(request: ApiRequest): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw bodyTooLarge();
}
