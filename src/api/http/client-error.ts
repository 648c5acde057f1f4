import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { backgroundTimers } from '../../core/work/timers.js';

/** How long a caller may read the answer and go on sending before its connection is destroyed. */
const lingerMs = 1000;

/** The statuses for the errors of Node's HTTP/1 parser, by error code; everything else is 400. */
const statusOfCode: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

const sentences: Readonly<Record<number, string>> = {
  400: 'the request is not well-formed HTTP',
  408: 'the request did not arrive in time',
  413: 'the chunk extensions of the body are too large',
  431: 'the headers of the request are too large',
};

/**
 * Answers a request that the HTTP/1 parser could not read with the error envelope, and closes the connection, because the start of the next
 * request is unknown. Sends nothing if an answer has begun already.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { requestId, mayAnswer }: { requestId: string; mayAnswer: boolean },
): void {
  // Bytes that the caller sends after its answer end up here again.
  if (socket.writableEnded && !socket.destroyed) return;
  if (!mayAnswer || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = statusOfCode[error.code ?? ''] ?? 400;
  const text = STATUS_CODES[status] ?? '';
  const body = JSON.stringify({ success: false, data: null, error: sentences[status], message: text });
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-request-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  );
  backgroundTimers.after(lingerMs, () => socket.destroy());
}
