import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { type ApiRequest, headersOf } from '../http/header.js';
import { base64Bytes, binaryWebType, textWebType } from './protocol-error.js';
import type { RpcHead } from './request-checks.js';

/*
 * `application/grpc-web-text` is gRPC-Web in base64, which browsers can read while it arrives. Connect serves only the binary form, so the
 * adapter translates: the request's headers here and its body in `bodyOf`, and the whole response.
 */

/** Returns the headers as Connect should see them: the binary content type, and a deadline that it can read in a timer. */
export function headersForConnect(request: ApiRequest, { isText, protocol, deadlineMs }: RpcHead): Headers {
  const headers = headersOf(request);
  if (isText) headers.set('content-type', (headers.get('content-type') ?? '').toLowerCase().replace(textWebType, binaryWebType));
  if (deadlineMs !== null) {
    // The caller's may be above the limit.
    if (protocol.startsWith('grpc')) headers.set('grpc-timeout', `${Math.ceil(deadlineMs)}m`);
    else headers.set('connect-timeout-ms', String(deadlineMs));
  }
  return headers;
}

/** Returns the answer in base64. Each chunk is padded, so that a caller can decode all that it has received. */
export function asText(answer: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(answer.header);
  header.set('content-type', (header.get('content-type') ?? '').replace(binaryWebType, textWebType));
  return answer.body === undefined ? { ...answer, header } : { ...answer, header, body: encodedText(answer.body) };
}

async function* encodedText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield base64Bytes(chunk);
}
