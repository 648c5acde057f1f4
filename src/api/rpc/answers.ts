import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { type AnswerWriter, isGone, writable } from '../http/answer.js';
import type { ApiResponse, Header } from '../http/header.js';
import { encodeGrpcMessagePlainly } from './protocol-error.js';

const nothing = new Uint8Array(0);

/**
 * Writes the answer of a unary call. Reads it to its end first, so that head, body and trailers leave in one packet; connect-node writes
 * and awaits each part. Writes nothing if the caller has left.
 */
export async function writeUnaryAnswer(answer: UniversalServerResponse, response: ApiResponse, requestId: string | null): Promise<void> {
  const body = answer.body === undefined ? nothing : await wholeOf(answer.body);
  if (isGone(response) || response.headersSent) return;
  const { header } = answer;
  if (answer.trailer !== undefined && body.length === 0) {
    const headers = [...new Headers(header), ...completedTrailers(answer.trailer, requestId)];
    return writeTrailersOnly(response, { status: answer.status, headers });
  }
  (response as AnswerWriter).writeHead(answer.status, Object.fromEntries(header instanceof Headers ? header : new Headers(header)));
  // The status of gRPC is known only after the body.
  if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(completedTrailers(answer.trailer, requestId)));
  response.end(body);
}

/**
 * Writes the answer of a failed call. gRPC clients retry only a response that is nothing but trailers: the only block of headers on HTTP/2,
 * where `writeHead` would be followed by a frame of data.
 */
export function writeTrailersOnly(
  response: ApiResponse,
  { status, headers }: { readonly status: number; readonly headers: readonly Header[] },
): void {
  response.statusCode = status;
  for (const [name, value] of headers) response.setHeader(name, value);
  response.end();
}

/** There is nearly always one chunk. */
async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only = nothing] = all;
  return all.length > 1 ? Buffer.concat(all) : only;
}

/**
 * Writes the answer of a stream as it comes. Ends its source if the caller leaves, even while a write waits for that caller; connect-node's
 * writer would then wait forever, with the call's timer and its subscription to changes.
 */
export async function writeStream(answer: UniversalServerResponse, response: ApiResponse, requestId: string | null): Promise<void> {
  const { status, header, trailer } = answer;
  (response as AnswerWriter).writeHead(status, Object.fromEntries(new Headers(header)));
  for await (const chunk of answer.body ?? []) {
    // Leaving the loop ends the source.
    if (isGone(response)) return;
    if (!(response as AnswerWriter).write(chunk)) await writable(response);
  }
  // Connect sets the status only after the body has ended.
  if (trailer !== undefined) response.addTrailers(Object.fromEntries(completedTrailers(new Headers(trailer), requestId)));
  response.end();
}

/** Ends the source of an answer without a reader: it has yielded its first bytes, and waits. */
export function discard({ body }: UniversalServerResponse): void {
  body?.[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
}

/** Encodes the message of a failure plainly and adds the request id: an error that a client catches has trailers, but no headers. */
export function completedTrailers(trailers: Headers, requestId: string | null): Headers {
  if (requestId !== null && trailers.get('grpc-status') !== '0') trailers.set('x-request-id', requestId);
  return encodeGrpcMessagePlainly(trailers);
}
