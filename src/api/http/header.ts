import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request over either HTTP version. */
export type ApiRequest = IncomingMessage | Http2ServerRequest;

/** A response over either HTTP version. */
export type ApiResponse = ServerResponse | Http2ServerResponse;

/** A response header; the name is lower case, as HTTP/2 requires. */
export type Header = readonly [name: string, value: string];

/**
 * Returns all values that the caller sent for a header, in order. `request.headers` keeps only the first of some headers and joins others,
 * so headers that must come once are counted here. `name` is lower case.
 */
export function headerValuesOf(request: ApiRequest, name: string): string[] {
  // Most of these headers are absent, and scanning all headers costs more than this check.
  if (request.headers[name] === undefined) return [];
  const raw = request.rawHeaders;
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const rawName = raw[index];
    if (rawName !== undefined && rawName.length === name.length && rawName.toLowerCase() === name) values.push(raw[index + 1] ?? '');
  }
  return values;
}

/**
 * Returns the headers as sent, without HTTP/2's pseudo-headers. Repeated ones are joined, so that two content types together are an
 * unsupported one.
 */
export function headersOf(request: ApiRequest): Headers {
  const headers = new Headers();
  const raw = request.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!name.startsWith(':')) headers.append(name, raw[index + 1] ?? '');
  }
  return headers;
}
