import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { ApiResponse } from '../http/header.js';
import { encodeGrpcMessagePlainly } from './protocol-error.js';

const nothing = new Uint8Array(0);

/** What the responses of both HTTP versions have, and their types do not say together. */
interface HeadWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
}

/**
 * Writes the answer of a call with one response message. It is read to its end first, so that head, body and trailers leave together;
 * connect-node's own way writes and waits for each part. Writes nothing where the caller has left by then.
 */
export async function writeUnaryAnswer(answer: UniversalServerResponse, response: ApiResponse, caller: AbortSignal): Promise<void> {
  const body = answer.body === undefined ? nothing : await wholeOf(answer.body);
  if (caller.aborted) return;
  const { header } = answer;
  (response as HeadWriter).writeHead(answer.status, Object.fromEntries(header instanceof Headers ? header : new Headers(header)));
  // gRPC's status, known only now.
  if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(encodeGrpcMessagePlainly(answer.trailer)));
  response.end(body);
}

/** Nearly always one chunk. */
async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only = nothing] = all;
  return all.length > 1 ? Buffer.concat(all) : only;
}
