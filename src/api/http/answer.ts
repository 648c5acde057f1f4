import type { ServerResponse } from 'node:http';
import { DomainError } from '../../core/errors/errors.js';
import { onAbort } from '../../core/work/abort.js';
import { backgroundTimers } from '../../core/work/timers.js';
import type { ApiRequest, ApiResponse, Header } from './header.js';

/** How long a caller may go on sending a body that nothing reads, after its answer. */
const lingerMs = 1000;

export interface Answer {
  readonly status: number;
  readonly headers: readonly Header[];
  /** Null: none. */
  readonly body: string | Uint8Array | null;
}

/** The signatures that the responses of both HTTP versions share, but do not declare in common. */
export interface AnswerWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(chunk: string | Uint8Array): boolean;
}

/** Writes a whole answer; no body for HEAD. If an answer has begun already, only ends it. */
export function writeAnswer(request: ApiRequest, response: ApiResponse, { status, headers, body }: Answer): void {
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

/** True if the caller is gone. Only HTTP/1 reports that on the response itself. */
export function isGone(response: ApiResponse): boolean {
  return 'stream' in response ? response.stream?.destroyed !== false : response.destroyed;
}

/** Resolves when more can be written, or when the response is closed. */
export function writable(response: ApiResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
  });
}

/**
 * Ends a stream when the service begins to stop. A unary call runs to its end and does not listen for the shutdown: one listener per call
 * on a signal as old as the process makes garbage that only full collections free.
 */
export function endOnShutdown(shutdownSignal: AbortSignal, work: AbortController, response: ApiResponse): void {
  const stop = () => work.abort(new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the service is stopping'));
  response.once('close', onAbort(shutdownSignal, stop));
}

/**
 * Ends an answer that cannot be completed so that its caller sees a failure: HTTP/2 counts a stream that closes without an error as
 * complete.
 */
export function breakOff(response: ApiResponse): void {
  response.destroy(new Error('the response was interrupted'));
}

/**
 * Discards the unread rest of a body once the answer is written, so that the answer reaches its caller: a caller that is cut off while it
 * sends reports that instead. A caller that sends for too long is still cut off: its HTTP/2 stream, or its HTTP/1 connection.
 */
export function drainAfterAnswer(request: ApiRequest, response: ApiResponse): void {
  // On HTTP/2 the response's own `finish` comes only when the stream is closed, which waits for the end of the body.
  const out = 'stream' in request ? request.stream : response;
  out.on('finish', () => {
    if (request.complete) return;
    const cutOff = () => ('stream' in request ? request.stream.close() : request.destroy());
    request.once('close', backgroundTimers.after(lingerMs, cutOff));
    request.resume();
  });
}

/**
 * Closes the response to a pipelined request whose connection has ended before its turn came. Node reports the end of a connection only to
 * the response that is being written, so the others would wait for ever, with everything that is freed when a response closes.
 */
export function closeIfWaiting(response: ServerResponse): void {
  // Node gives a response its socket when its turn comes.
  if (response.socket !== null) return;
  response.destroy();
  response.emit('close');
}
