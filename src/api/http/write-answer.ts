import type { ApiRequest, ApiResponse, Header } from './header.js';

/** Writes a whole answer; no body for HEAD. Only ends the answer where one has begun. */
export function writeAnswer(
  request: ApiRequest,
  response: ApiResponse,
  { status, headers, body }: { readonly status: number; readonly headers: readonly Header[]; readonly body: string | Uint8Array | null },
): void {
  if (!response.headersSent) {
    response.statusCode = status;
    for (const [name, value] of headers) response.setHeader(name, value);
    if (body !== null) response.setHeader('content-length', Buffer.byteLength(body));
    if (body !== null && request.method !== 'HEAD') {
      response.end(body);
      return;
    }
  }
  response.end();
}

/** Ends an answer that cannot be completed, so that its caller takes it for a failure: HTTP/2 would count a stream closed without an error as whole. */
export function breakOff(response: ApiResponse): void {
  response.destroy(new Error('the answer broke off'));
}
