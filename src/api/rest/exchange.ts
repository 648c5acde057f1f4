import type { OutgoingHttpHeaders } from 'node:http';
import type { DomainError } from '../../core/errors/errors.js';
import type { Call } from '../contract/call.js';
import { errorTable } from '../contract/error-table.js';
import type { ApiRequest, ApiResponse, Header } from '../http/header.js';

/** A REST request and its response. */
export interface RestExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly call: Call;
  /** Without the question mark; empty if there is none. */
  readonly query: string;
  /** True for HEAD: the answer to GET without its body. */
  readonly headOnly: boolean;
  /** Headers that the answer carries in addition to its content's headers. */
  readonly headers: readonly Header[];
  /** Takes one more rate-limit token. Throws `rate_limited` RATE_LIMITED if there is none. */
  takeToken(): void;
  /** Writes the audit line of a call that is refused before it begins. */
  noteRefusal(failure: DomainError): void;
}

/** Both HTTP versions take a flat list of headers, but only one declares it in its types. */
interface HeadWriter {
  writeHead(status: number, headers: readonly string[] | OutgoingHttpHeaders): unknown;
}

/** Writes a JSON answer with one `writeHead` and one `end`, so that head and body leave in one packet. */
export function writeJson(exchange: RestExchange, status: number, text: string, headers: readonly Header[]): void {
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

/** Answers with the error envelope. */
export function writeError(exchange: RestExchange, error: DomainError): void {
  exchange.call.failure = error;
  const headers: Header[] = [];
  if (error.retryAfterMs !== undefined) headers.push(['retry-after', String(Math.ceil(error.retryAfterMs / 1_000))]);
  headers.push(['x-error-reason', error.reason]);
  if (error.kind === 'unauthenticated' && !exchange.headers.some(([name]) => name === 'www-authenticate'))
    headers.push(['www-authenticate', 'Bearer']);
  writeJson(exchange, errorTable[error.kind].httpStatus, errorText(error, exchange.call), headers);
}

/** The envelope of an error: a sentence for people, a fixed text for programs, and the metadata if there is any. */
function errorText(error: DomainError, { warnings, traceId }: Call): string {
  const message = error.fixedText ?? errorTable[error.kind].text;
  const logs = warnings.map(({ level, message: warning }) => ({ level, message: warning }));
  const traces = traceId === null ? [] : [traceId];
  const metadataText = logs.length + traces.length === 0 ? '' : `,"metadata":${JSON.stringify({ logs, traces })}`;
  return `{"success":false,"data":null,"error":${JSON.stringify(error.message)},"message":${JSON.stringify(message)}${metadataText}}`;
}
