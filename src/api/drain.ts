import type { ApiRequest, ApiResponse } from './header.js';

/**
 * Gets rid of what nobody read of a body once the answer is out. HTTP/2 tells the caller to stop sending; on HTTP/1 the next request comes
 * behind the body, so it is read and forgotten, as long as a request may take.
 */
export function drainAfterAnswer(request: ApiRequest, response: ApiResponse): void {
  if ('stream' in request) {
    const { stream } = request;
    // Comes when the body is out, and after Node's own listener has sent the trailers; `finish` would come before them.
    stream.once('wantTrailers', () => {
      if (!request.complete) stream.close();
    });
    return;
  }
  response.once('finish', () => {
    if (!request.complete) request.resume();
  });
}
