import type { ApiRequest, ApiResponse } from './header.js';

/** How long a caller may go on sending a body that nobody reads, after its answer. */
const lingerMs = 1000;

/**
 * Throws away what nobody read of a body once the answer is out, so that the answer reaches its caller: callers that are cut off while they
 * send report that instead. Who goes on for too long is cut off all the same: its HTTP/2 stream, or its HTTP/1 connection.
 */
export function drainAfterAnswer(request: ApiRequest, response: ApiResponse): void {
  // On HTTP/2 the response's own `finish` comes only when the stream is closed, which it is not before the body ends.
  const out = 'stream' in request ? request.stream : response;
  out.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => ('stream' in request ? request.stream.close() : request.destroy()), lingerMs).unref();
    request.once('close', () => clearTimeout(timer));
    request.resume();
  });
}
