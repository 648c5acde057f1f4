import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { backgroundTimers } from '../../core/work/timers.js';
import { createTurnBudget } from '../../core/work/turn-budget.js';
import { closeIfWaiting } from './answer.js';
import { maxHeaderBytes, type ServerTimeouts } from './server-limits.js';

/** Unanswered requests of a connection from which on no more of its bytes are read. */
const maxWaiting = 64;
/**
 * Unanswered requests of a connection that close it; as many calls as an HTTP/2 connection may have. One read can bring more than a
 * thousand pipelined requests.
 */
const maxPipelined = 250;

/** The calls of the connections that speak HTTP/1.1. */
export interface Http1Calls {
  /** Connections are accepted from now on: late headers and requests are looked for. */
  begin(): void;
  /** Serves a connection. */
  take(socket: Socket): void;
  /** Asks callers to leave: each connection ends with the calls that it has. */
  leave(): void;
  /** Looks for late requests no more. */
  end(): void;
}

/** What serves them. */
export interface Http1CallsDeps {
  readonly timeouts: ServerTimeouts;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly newRequestId: () => string;
  /** From its abort on, connections end with the answers that they have, so that `leave` closes none that is about to be used. */
  readonly leaving: AbortSignal;
}

/** Creates the calls; there is no connection. */
export function createHttp1Calls({ timeouts, handle, newRequestId, leaving }: Http1CallsDeps): Http1Calls {
  let isLeaving = false;
  /** The unfinished answers of each connection. Node does not report a closed connection to answers that wait behind another one. */
  const unfinished = new Map<Socket, Set<ServerResponse>>();
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // The host guard answers instead, in the caller's protocol.
    requireHostHeader: false,
  });
  // How long nothing may move on a connection. Node restarts the timer with each request; a timer of each answer would be a second one.
  server.timeout = timeouts.requestMs;
  server.on('timeout', (socket) => {
    const responses = unfinished.get(socket);
    const isIdle = responses === undefined || responses.size === 0;
    // A stream that waits for news is as quiet, but has nothing unread.
    if (isIdle || [...responses].some(({ writableLength }) => writableLength > 0)) socket.destroy();
  });
  const isTurnOver = createTurnBudget();
  // Each call has an immediate of its own, so that the microtasks of one run before the next begins.
  function beginInTurn(request: IncomingMessage, response: ServerResponse): void {
    if (request.socket.destroyed) return;
    if (isTurnOver()) setImmediate(beginInTurn, request, response);
    else handle(request, response);
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const responses = unfinished.get(socket);
    if (responses === undefined || socket.destroyed) return;
    responses.add(response);
    if (responses.size > maxPipelined) {
      socket.destroy();
      return;
    }
    if (responses.size === maxWaiting) socket.pause();
    response.on('close', () => {
      responses.delete(response);
      if (isLeaving && responses.size === 0) socket.destroySoon();
      else if (responses.size === maxWaiting - 1) socket.resume();
    });
    if (leaving.aborted || isLeaving) response.setHeader('connection', 'close');
    if (responses.size > 1) setImmediate(beginInTurn, request, response);
    else beginInTurn(request, response);
  };
  server.on('request', onRequest);
  // An unknown `Expect` header is no reason to reject a request.
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error, socket) => {
    const responses = unfinished.get(socket as Socket) ?? [];
    const mayAnswer = ![...responses].some((response) => response.socket === socket && response.headersSent);
    answerClientError(error, socket as Socket, { requestId: newRequestId(), mayAnswer });
  });

  return {
    // The server never listens itself, and Node looks for late headers and requests only after this event.
    begin: () => void server.emit('listening'),
    take(socket) {
      const responses = new Set<ServerResponse>();
      unfinished.set(socket, responses);
      // One listener, however many requests are pipelined: Node warns about more than ten on one connection.
      socket.once('close', () => {
        unfinished.delete(socket);
        for (const response of [...responses]) closeIfWaiting(response);
      });
      server.emit('connection', socket);
    },
    leave() {
      isLeaving = true;
      for (const [socket, responses] of unfinished) {
        for (const response of responses) if (!response.headersSent) response.setHeader('connection', 'close');
        if (responses.size === 0) socket.destroy();
      }
    },
    end: () => void server.close(),
  };
}

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
function answerClientError(
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
