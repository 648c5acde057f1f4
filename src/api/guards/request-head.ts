import { DomainError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/records/principal.js';
import type { RequiredScope } from '../contract/method-plan.js';
import { bodyTooLarge, credentialsInvalid } from '../contract/shared-errors.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';

const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/** `name`, `name:port`, `1.2.3.4:port` or `[v6]:port`, of RFC 3986; no user info, no percent-encoding (no client sends it). */
const authorityPattern = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;

/** Returns the caller's `X-Request-Id` if it is one id of 1 to 128 plain characters, else a new id. */
export function requestIdOf(request: ApiRequest, newId: () => string): string {
  const [given, ...others] = headerValuesOf(request, 'x-request-id');
  return given !== undefined && others.length === 0 && requestIdPattern.test(given) ? given : newId();
}

/**
 * Throws `invalid` HOST_INVALID unless the request names exactly one well-formed host: `:authority` or `Host` on HTTP/2, `Host` on HTTP/1.
 * The service never builds a URL from it, but logs, proxies and later code may.
 */
export function checkHost(request: ApiRequest): void {
  const hosts = headerValuesOf(request, ':authority');
  if (hosts.length === 0) hosts.push(...headerValuesOf(request, 'host'));
  const [host] = hosts;
  if (host === undefined) throw hostInvalid('the Host header is missing');
  if (hosts.length > 1) throw hostInvalid('there is more than one Host header');
  const match = authorityPattern.exec(host);
  if (match === null || Number(match[1] ?? 0) > 65_535) throw hostInvalid('the Host header is not a host with an optional port');
}

function hostInvalid(sentence: string): DomainError {
  return new DomainError('invalid', 'HOST_INVALID', sentence);
}

/**
 * Throws `too_large` BODY_TOO_LARGE if the announced length is above the length of a body with `limit` bytes. Readers of bodies count the
 * bytes that arrive, too.
 */
export function checkBodySize(request: ApiRequest, limit: number, maxContentLength = limit): void {
  if (Number(request.headers['content-length'] ?? 0) > maxContentLength) throw bodyTooLarge(limit);
}

/** Returns the principal of a key; undefined if the key is unknown or expired. */
export type Authenticate = (token: string) => Principal | undefined;

/** RFC 6750: the scheme in any case, one or more spaces, a token of visible ASCII. */
const bearerPattern = /^bearer +([\x21-\x7e]{1,4096})$/i;

/**
 * Returns the caller. Throws `unauthenticated` CREDENTIALS_INVALID unless exactly one `Authorization` header holds a valid bearer key.
 * `onWrongKey` may throw another error.
 */
export function principalOf(request: ApiRequest, authenticate: Authenticate, onWrongKey: () => void): Principal {
  const values = headerValuesOf(request, 'authorization');
  const [value] = values;
  if (value === undefined) throw credentialsInvalid('the Authorization header is missing: send "Authorization: Bearer <key>"');
  if (values.length > 1) throw credentialsInvalid('there is more than one Authorization header');
  const token = bearerPattern.exec(value)?.[1];
  if (token === undefined) throw credentialsInvalid('the Authorization header must be "Bearer <key>"');
  const principal = authenticate(token);
  if (principal !== undefined) return principal;
  onWrongKey();
  throw credentialsInvalid('the key is not valid');
}

/**
 * Throws `forbidden` ADDRESS_NOT_ALLOWED unless the key may be used from the address. It says so, and not that the key is wrong: who holds
 * the key knows that it is one, and who gave it out learns which address a proxy passes on.
 */
export function checkAddress(principal: Principal, address: string | null): void {
  if (principal.addresses === null || (address !== null && principal.addresses.includes(address))) return;
  const shown = address ?? 'an unknown address';
  throw new DomainError('forbidden', 'ADDRESS_NOT_ALLOWED', `the key may not be used from ${shown}`, { metadata: { address: shown } });
}

/** Throws `forbidden` SCOPE_MISSING unless the key has the scope. Any valid key passes `authenticated`. */
export function checkScope(principal: Principal, required: Exclude<RequiredScope, 'public'>): void {
  if (required === 'authenticated' || principal.scopes.has(required)) return;
  throw new DomainError('forbidden', 'SCOPE_MISSING', `the key lacks the scope ${required}`, { metadata: { scope: required } });
}
