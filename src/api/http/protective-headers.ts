import type { TLSSocket } from 'node:tls';
import type { ApiRequest, Header } from './header.js';

const noSniff: Header = ['x-content-type-options', 'nosniff'];
/** A browser that was here once uses TLS for a year. */
const strictTransport: Header = ['strict-transport-security', 'max-age=31536000'];
/** An answer to a key is for its holder alone: no cache on the way keeps it. */
export const noStore: Header = ['cache-control', 'no-store'];

/** Returns the headers of every answer that keep browsers from misusing it. */
export function protectiveHeaders(request: ApiRequest): readonly Header[] {
  return isEncrypted(request) ? [noSniff, strictTransport] : [noSniff];
}

function isEncrypted(request: ApiRequest): boolean {
  if ('stream' in request) return request.stream.session?.encrypted === true;
  return (request.socket as Partial<TLSSocket>).encrypted === true;
}
