import { cors } from '@connectrpc/connect';
import type { ApiRequest, Header } from './header.js';

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
const allowedHeaders = [...cors.allowedHeaders, 'Authorization', 'Idempotency-Key', 'X-Request-Id'].join(', ');
const exposedHeaders = [
  ...cors.exposedHeaders,
  'X-Request-Id',
  'X-Error-Reason',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Allow',
].join(', ');
/** Seconds that a browser may remember a preflight's answer; more than two hours no browser does. */
const preflightSeconds = '7200';

/** What browsers are told. */
export interface Cors {
  /** For every answer. Empty where no origin is allowed at all. */
  answerHeaders(request: ApiRequest): Header[];
  /** For the answer to OPTIONS, beside those. */
  preflightHeaders(request: ApiRequest): Header[];
}

/** Makes the rules of cross-origin use from the allowed origins (`https://app.example.org`), matched exactly. */
export function createCors(origins: ReadonlySet<string>): Cors {
  const isAllowed = (request: ApiRequest) => request.headers.origin !== undefined && origins.has(request.headers.origin);
  return {
    answerHeaders(request) {
      if (origins.size === 0) return [];
      // A cache must not give the answer for one origin to another.
      const headers: Header[] = [['vary', 'Origin']];
      if (isAllowed(request)) {
        headers.push(['access-control-allow-origin', request.headers.origin ?? ''], ['access-control-expose-headers', exposedHeaders]);
      }
      return headers;
    },
    preflightHeaders: (request) =>
      isAllowed(request)
        ? [
            ['access-control-allow-methods', allowedMethods],
            ['access-control-allow-headers', allowedHeaders],
            ['access-control-max-age', preflightSeconds],
          ]
        : [],
  };
}
