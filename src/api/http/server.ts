import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Log } from '../../core/ports/log.js';
import { breakOff } from './answer.js';
import { answerClientError } from './client-error.js';
import type { ApiRequest, ApiResponse } from './header.js';
import { closeAfterGoaway, endUnused, limitStream } from './http2-limits.js';

/** How long connections may take, in milliseconds. */
export interface ServerTimeouts {
  /** From connecting to the first bytes; with TLS, to the end of the handshake. */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its headers (HTTP/1). */
  readonly headersMs: number;
  /** From a request's first byte (HTTP/2: its headers) to the end of its body; and how long its answer may be left unread (HTTP/1: up to twice as long). */
  readonly requestMs: number;
  /** Between two requests (HTTP/1). Longer than load balancers keep theirs, so that it is they who close. */
  readonly keepAliveMs: number;
  /** Without any traffic (HTTP/2): the caller is asked whether it is still there, and has as long to answer. */
  readonly quietSessionMs: number;
  /** Without a new call, and quiet (HTTP/2): the caller is asked to open a new connection for its next one. */
  readonly idleSessionMs: number;
  /** How often headers and requests are looked at for being late. */
  readonly checkEveryMs: number;
}

const defaultTimeouts: ServerTimeouts = {
  firstByteMs: 10_000,
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  quietSessionMs: 10_000,
  idleSessionMs: 600_000,
  checkEveryMs: 1000,
};

/** How long a caller has to hang up after its HTTP/2 session was closed. */
const lingerMs = 1000;

/** The HTTP/2 preface begins `PRI * HTTP/2.0`; no HTTP/1 verb begins so. Three bytes tell, and every request has as many. */
const prefaceStart = Buffer.from('PRI');

const maxHeaderBytes = 16_384;
const maxConcurrentStreams = 250;

/** What a server is made from. */
export interface ServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Null: cleartext. */
  readonly tls: { readonly certPem: string; readonly keyPem: string } | null;
  /** Answers every request. */
  readonly handler: (request: ApiRequest, response: ApiResponse) => void;
  readonly newRequestId: () => string;
  readonly log: Log;
  /** How long running calls may go on after `stop`. */
  readonly shutdownDeadlineMs: number;
  /** Instead of the defaults. */
  readonly timeouts?: ServerTimeouts;
}

/** One address that answers HTTP/1.1 and HTTP/2. */
export interface ApiServer {
  /** Resolves with the address once connections are accepted; rejects where it cannot be had. */
  listen(): Promise<{ host: string; port: number }>;
  /** Accepts nothing more, tells callers to go, lets running calls end, and at the deadline ends them. Resolves when all is closed. */
  stop(): Promise<void>;
}

/** Makes the server. Cleartext connections are told apart by their first bytes, TLS ones by ALPN; the same two HTTP servers take both. */
export function createServer({
  host,
  port,
  tls,
  handler,
  newRequestId,
  log,
  shutdownDeadlineMs,
  timeouts = defaultTimeouts,
}: ServerOptions): ApiServer {
  let stopping = false;
  /** All that are open, whatever they speak. */
  const sockets = new Set<Socket>();
  /** Those that have not said yet what they speak. */
  const undecided = new Set<Socket>();
  /** The unfinished answers of each HTTP/1 connection. Those that wait for one before them are never told that their connection is gone. */
  const http1Responses = new Map<Socket, Set<ServerResponse>>();
  const sessions = new Set<ServerHttp2Session>();

  const http1 = createHttp1Server({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // The host guard answers instead, in the caller's protocol.
    requireHostHeader: false,
  });
  // The last line: nothing that a caller sends may end the process.
  const handle = (request: ApiRequest, response: ApiResponse) => {
    try {
      handler(request, response);
    } catch (error) {
      log.error({ err: error }, 'the handler of a request threw');
      breakOff(response);
    }
  };
  const onHttp1Request = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const responses = http1Responses.get(socket);
    responses?.add(response);
    response.once('close', () => {
      responses?.delete(response);
      if (stopping) socket.destroySoon();
    });
    if (stopping) response.setHeader('connection', 'close');
    // Nothing went either way. A stream that waits for something to tell is as quiet, but has nothing unread.
    response.setTimeout(timeouts.requestMs, () => response.writableLength > 0 && socket.destroy());
    handle(request, response);
  };
  http1.on('request', onHttp1Request);
  // An expectation that is not known is no reason to refuse: the request stands for itself.
  http1.on('checkExpectation', onHttp1Request);
  http1.on('clientError', (error, socket) => {
    const responses = http1Responses.get(socket as Socket) ?? [];
    const mayAnswer = ![...responses].some((response) => response.socket === socket && response.headersSent);
    answerClientError(error, socket as Socket, { requestId: newRequestId(), mayAnswer });
  });

  const http2 = createHttp2Server({
    maxHeaderListPairs: 128,
    settings: { maxConcurrentStreams, maxHeaderListSize: maxHeaderBytes },
  });
  http2.on('request', (request, response) => {
    limitStream(request, timeouts.requestMs);
    handle(request, response);
  });
  http2.on('session', (session) => {
    closeAfterGoaway(session);
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    endUnused(session, timeouts.quietSessionMs, timeouts.idleSessionMs);
    if (stopping) session.close();
  });
  http2.on('sessionError', (error) => log.debug({ err: error }, 'an HTTP/2 connection failed'));

  function takeOver(socket: Socket, version: 1 | 2): void {
    undecided.delete(socket);
    if (stopping) {
      socket.destroy();
      return;
    }
    if (version === 1) {
      http1Responses.set(socket, new Set());
      socket.once('close', () => http1Responses.delete(socket));
    }
    // A closed session has said all and waits for the caller to hang up, which some never do.
    else socket.once('finish', () => setTimeout(() => socket.destroy(), lingerMs).unref());
    (version === 1 ? http1 : http2).emit('connection', socket);
  }

  const acceptor =
    tls === null ? createTcpServer({ noDelay: true, keepAlive: true }) : createTlsAcceptor(tls, timeouts.firstByteMs, takeOver);
  acceptor.on('connection', (socket) => {
    track(sockets, socket);
    // A reset is the caller's business; without a listener it would end the process.
    socket.on('error', () => undefined);
    if (tls !== null) return;
    track(undecided, socket);
    sniffHttpVersion(socket, timeouts.firstByteMs, (version) => takeOver(socket, version));
  });

  function listen(): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      acceptor.once('error', reject);
      acceptor.listen(port, host, () => {
        acceptor.off('error', reject);
        acceptor.on('error', (error) => log.error({ err: error }, 'accepting connections failed'));
        // It never listens itself, and would not look after late headers and requests otherwise.
        http1.emit('listening');
        const address = acceptor.address();
        resolve(typeof address === 'object' && address !== null ? { host: address.address, port: address.port } : { host, port });
      });
    });
  }

  async function stop(): Promise<void> {
    stopping = true;
    const closed = new Promise<void>((resolve) => {
      acceptor.close(() => resolve());
    });
    for (const [socket, responses] of http1Responses) {
      for (const response of responses) if (!response.headersSent) response.setHeader('connection', 'close');
      if (responses.size === 0) socket.destroy();
    }
    for (const session of sessions) session.close();
    for (const socket of undecided) socket.destroy();
    const deadline = setTimeout(() => {
      log.warn({ connections: sockets.size }, 'shutdown deadline reached; open connections are cut off');
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    }, shutdownDeadlineMs);
    await closed;
    clearTimeout(deadline);
    http1.close();
  }

  return { listen, stop };
}

/** Accepts TLS connections and hands them over, with the version that was agreed on; callers without ALPN speak HTTP/1. */
function createTlsAcceptor(
  { certPem, keyPem }: { readonly certPem: string; readonly keyPem: string },
  handshakeTimeout: number,
  takeOver: (socket: Socket, version: 1 | 2) => void,
): Server {
  const server = createTlsServer({
    cert: certPem,
    key: keyPem,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout,
    noDelay: true,
    keepAlive: true,
  });
  // Node only tells of a handshake that failed or takes too long; without this its connection would stay.
  server.on('tlsClientError', (_, socket) => socket.destroy());
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => undefined);
    takeOver(socket, socket.alpnProtocol === 'h2' ? 2 : 1);
  });
  return server;
}

function track(set: Set<Socket>, socket: Socket): void {
  set.add(socket);
  socket.once('close', () => set.delete(socket));
}

/**
 * Tells by its first bytes which HTTP a connection speaks, and leaves all bytes to be read by whoever takes it over. A connection that does
 * not send three bytes within `timeoutMs` is destroyed. `onDecided` may be called never, and is called once at most.
 */
function sniffHttpVersion(socket: Socket, timeoutMs: number, onDecided: (version: 1 | 2) => void): void {
  let received: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const onClose = () => clearTimeout(timer);
  const onData = (chunk: Buffer) => {
    received = received.byteLength === 0 ? chunk : Buffer.concat([received, chunk]);
    if (received.byteLength < prefaceStart.byteLength) return;
    clearTimeout(timer);
    socket.off('data', onData);
    socket.off('close', onClose);
    socket.pause();
    socket.unshift(received);
    const version = received.subarray(0, prefaceStart.byteLength).equals(prefaceStart) ? 2 : 1;
    onDecided(version);
    // An HTTP/2 session takes over the descriptor and reads by itself; resuming would take bytes away from it.
    if (version === 1) socket.resume();
  };
  socket.on('data', onData);
  socket.once('close', onClose);
}
