import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request over either HTTP version. */
export type ApiRequest = IncomingMessage | Http2ServerRequest;

/** A response over either HTTP version. */
export type ApiResponse = ServerResponse | Http2ServerResponse;

/** A header of an answer; lower-case name, as HTTP/2 asks. */
export type Header = readonly [name: string, value: string];

/**
 * All values that the caller sent for a header, in order. `request.headers` keeps only the first of some headers and joins others, so a
 * header that must come once is counted here. `name` is lower case.
 */
export function headerValuesOf(request: ApiRequest, name: string): string[] {
  // Most that are asked for are not there, and going through all headers costs more than this.
  if (request.headers[name] === undefined) return [];
  const raw = request.rawHeaders;
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const rawName = raw[index];
    if (rawName !== undefined && rawName.length === name.length && rawName.toLowerCase() === name) values.push(raw[index + 1] ?? '');
  }
  return values;
}
