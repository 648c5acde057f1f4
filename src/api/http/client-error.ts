import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

/** How long a caller has to read the answer, and may go on sending, before its connection is destroyed. */
const lingerMs = 1000;

/** Statuses of what Node's HTTP/1 parser refuses, by its error codes; everything else is a 400. */
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
 * Answers what the HTTP/1 parser could not read with the error envelope, and closes the connection: there is no request to answer, and no
 * telling where the next one begins. Says nothing where an answer is already on its way.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { requestId, mayAnswer }: { requestId: string; mayAnswer: boolean },
): void {
  // What a caller goes on sending after its answer comes here again.
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
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
