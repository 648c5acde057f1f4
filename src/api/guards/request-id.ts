import { type ApiRequest, headerValuesOf } from '../http/header.js';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own `X-Request-Id` where it is one id of 1 to 128 plain characters, else a new one. */
export function requestIdOf(request: ApiRequest, newId: () => string): string {
  const [given, ...others] = headerValuesOf(request, 'x-request-id');
  return given !== undefined && others.length === 0 && acceptable.test(given) ? given : newId();
}
