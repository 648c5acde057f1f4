import { DomainError } from '../../core/errors/errors.js';
import { bodyTooLarge } from '../contract/shared-errors.js';
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
