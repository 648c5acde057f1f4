import type { OutgoingHttpHeaders } from 'node:http';
import type { DomainError } from '../../core/errors.js';
import { errorTable } from '../contract/error-table.js';
import type { Header } from '../http/header.js';
import { errorText } from './envelope.js';
import type { RestExchange } from './exchange.js';

/** Both HTTP versions take a flat list of headers, which their types say only of one. */
interface HeadWriter {
  writeHead(status: number, headers: readonly string[] | OutgoingHttpHeaders): unknown;
}

/** Writes a JSON answer with one `writeHead` and one `end`, so that head and body leave together. */
export function writeAnswer(exchange: RestExchange, status: number, text: string, headers: readonly Header[]): void {
  const { response } = exchange;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const flat = ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(text))];
  for (const [name, value] of exchange.headers) flat.push(name, value);
  for (const [name, value] of headers) flat.push(name, value);
  (response as HeadWriter).writeHead(status, flat);
  if (exchange.headOnly) response.end();
  else response.end(text);
}

/** Writes the error envelope. */
export function writeError(exchange: RestExchange, error: DomainError): void {
  exchange.call.failure = error;
  const headers: Header[] = [['x-error-reason', error.reason]];
  if (error.kind === 'unauthenticated' && !exchange.headers.some(([name]) => name === 'www-authenticate'))
    headers.push(['www-authenticate', 'Bearer']);
  writeAnswer(exchange, errorTable[error.kind].httpStatus, errorText(error, exchange.call), headers);
}
