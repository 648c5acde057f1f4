import { cors } from '@connectrpc/connect';
import type { ApiRequest, Header } from './header.js';

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
const allowedHeaders = [
  ...cors.allowedHeaders,
  'Authorization',
  'Baggage',
  'Idempotency-Key',
  'If-Match',
  'Last-Event-ID',
  'Prefer',
  'Traceparent',
  'Tracestate',
  'X-Request-Id',
].join(', ');
const exposedHeaders = [
  ...cors.exposedHeaders,
  'X-Request-Id',
  'X-Error-Reason',
  'Idempotency-Replayed',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Allow',
].join(', ');
/** How long browsers may cache a preflight answer, in seconds; none caches longer than two hours. */
const preflightSeconds = '7200';

/** The headers of cross-origin resource sharing. */
export interface Cors {
  /** The headers of every answer; empty if no origin is allowed at all. */
  answerHeaders(request: ApiRequest): Header[];
  /** The additional headers of the answer to OPTIONS. */
  preflightHeaders(request: ApiRequest): Header[];
}

/** Creates the CORS rules for these origins (`https://app.example.org`), which must match exactly. */
export function createCors(origins: ReadonlySet<string>): Cors {
  const isAllowed = (request: ApiRequest) => request.headers.origin !== undefined && origins.has(request.headers.origin);
  return {
    answerHeaders(request) {
      if (origins.size === 0) return [];
      // A cache must not serve the answer for one origin to another.
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
