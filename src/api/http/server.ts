import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, Server as TlsServer } from 'node:tls';
import type { Log } from '../../core/work/log.js';
import { backgroundTimers } from '../../core/work/timers.js';
import { breakOff, closeIfWaiting } from './answer.js';
import type { Certificate } from './certificate-files.js';
import { answerClientError } from './client-error.js';
import type { ApiRequest, ApiResponse } from './header.js';
import { closeAfterGoaway, createCallQueue, endUnused, limitStream } from './http2-limits.js';

/** The time limits of connections, in milliseconds. */
export interface ServerTimeouts {
  /** From the connection to its first bytes; with TLS, to the end of the handshake. */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its headers (HTTP/1). */
  readonly headersMs: number;
  /**
   * From a request's first byte (HTTP/2: its headers) to the end of its body. Also how long its answer may stay unread (HTTP/1: up to twice
   * as long).
   */
  readonly requestMs: number;
  /** Between two requests (HTTP/1). Longer than load balancers keep theirs, so that balancers close first. */
  readonly keepAliveMs: number;
  /** Without any traffic (HTTP/2): then the server sends a PING and waits as long again for the answer. */
  readonly quietSessionMs: number;
  /** Without a new call (HTTP/2): then the server closes the session, so that the caller opens a new connection for its next call. */
  readonly idleSessionMs: number;
  /** How often the server looks for late headers and requests. */
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

/** How long a caller has to close the connection after its HTTP/2 session was closed. */
const lingerMs = 1000;

/** The first bytes of the HTTP/2 preface `PRI * HTTP/2.0`. No HTTP/1 verb begins so, and every request has three bytes. */
const prefaceStart = Buffer.from('PRI');

/**
 * Connections that may wait to be accepted; the kernel may allow fewer. Beyond it the kernel drops what a client sends, and that client
 * waits for 20 seconds and more: Node's default of 511 is a few milliseconds of opening and resetting connections.
 */
const acceptQueue = 4_096;
const maxHeaderBytes = 16_384;
const maxConcurrentStreams = 250;

export interface ServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: cleartext. */
  readonly tls: Certificate | null;
  /** Answers every request. */
  readonly handler: (request: ApiRequest, response: ApiResponse) => void;
  readonly newRequestId: () => string;
  readonly log: Log;
  /** How long running calls may go on after `stop`. */
  readonly shutdownDeadlineMs: number;
  /** Replaces the defaults. */
  readonly timeouts?: ServerTimeouts;
}

/** One address that answers both HTTP/1.1 and HTTP/2. */
export interface ApiServer {
  /** Resolves with the address once connections are accepted. Rejects if the address cannot be bound. */
  listen(): Promise<{ host: string; port: number }>;
  /**
   * Stops accepting connections, asks callers to leave, and lets running calls end until the deadline, when it cuts them off. Resolves when
   * everything is closed.
   */
  stop(): Promise<void>;
  /** New TLS connections get this certificate. */
  useCertificate(certificate: Certificate): void;
}

/**
 * Creates the server. The first bytes of a cleartext connection decide its HTTP version, and ALPN decides it for a TLS connection; the same
 * two HTTP servers serve both.
 */
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
  /** All open connections. */
  const sockets = new Set<Socket>();
  /** Connections whose HTTP version is not yet known. */
  const undecided = new Set<Socket>();
  /** The unfinished answers of each HTTP/1 connection. Node does not report a closed connection to answers that wait behind another one. */
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
  // How long nothing may move on a connection. Node restarts the timer with each request; a timer of each answer would be a second one.
  http1.timeout = timeouts.requestMs;
  http1.on('timeout', (socket) => {
    const responses = http1Responses.get(socket);
    const isIdle = responses === undefined || responses.size === 0;
    // A stream that waits for news is as quiet, but has nothing unread.
    if (isIdle || [...responses].some(({ writableLength }) => writableLength > 0)) socket.destroy();
  });
  // The last line of defence: nothing that a caller sends may end the process.
  const handle = (request: ApiRequest, response: ApiResponse) => {
    try {
      handler(request, response);
    } catch (error) {
      log.error({ err: error }, 'a request handler failed');
      breakOff(response);
    }
  };
  const onHttp1Request = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const responses = http1Responses.get(socket);
    responses?.add(response);
    response.on('close', () => {
      responses?.delete(response);
      if (stopping) socket.destroySoon();
    });
    if (stopping) response.setHeader('connection', 'close');
    handle(request, response);
  };
  http1.on('request', onHttp1Request);
  // An unknown `Expect` header is no reason to reject a request.
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
  const calls = createCallQueue((request, response) => {
    limitStream(request, timeouts.requestMs);
    handle(request, response);
  });
  http2.on('request', calls.addCall);
  http2.on('session', (session) => {
    closeAfterGoaway(session);
    sessions.add(session);
    calls.addSession(session);
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
      const responses = new Set<ServerResponse>();
      http1Responses.set(socket, responses);
      // One listener, however many requests are pipelined: Node warns about more than ten on one connection.
      socket.once('close', () => {
        http1Responses.delete(socket);
        for (const response of [...responses]) closeIfWaiting(response);
      });
    }
    // A closed session has sent everything and waits for the caller to close the connection, which some never do.
    else socket.once('finish', () => backgroundTimers.after(lingerMs, () => socket.destroy()));
    (version === 1 ? http1 : http2).emit('connection', socket);
  }

  const acceptor =
    tls === null ? createTcpServer({ noDelay: true, keepAlive: true }) : createTlsAcceptor(tls, timeouts.firstByteMs, takeOver);
  acceptor.on('connection', (socket) => {
    track(sockets, socket);
    // Callers may reset their connections; without a listener that would end the process.
    socket.on('error', () => undefined);
    if (tls !== null) return;
    track(undecided, socket);
    sniffHttpVersion(socket, timeouts.firstByteMs, (version) => takeOver(socket, version));
  });

  function listen(): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      acceptor.once('error', reject);
      acceptor.listen({ port, host, backlog: acceptQueue }, () => {
        acceptor.off('error', reject);
        acceptor.on('error', (error) => log.error({ err: error }, 'accepting connections failed'));
        // `http1` never listens itself, and Node checks for late headers and requests only after this event.
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
    const stopDeadline = backgroundTimers.after(shutdownDeadlineMs, () => {
      log.warn({ connections: sockets.size }, 'shutdown deadline reached; closing open connections');
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    });
    await closed;
    stopDeadline();
    http1.close();
  }

  function useCertificate({ certPem, keyPem }: Certificate): void {
    if (acceptor instanceof TlsServer) acceptor.setSecureContext({ cert: certPem, key: keyPem });
  }

  return { listen, stop, useCertificate };
}

/** Creates the acceptor of TLS connections. It passes each on with the version that ALPN agreed on; callers without ALPN get HTTP/1. */
function createTlsAcceptor(
  { certPem, keyPem }: Certificate,
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
  // Node only reports a failed or slow handshake; without this its connection would stay open.
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
 * Detects the HTTP version of a connection by its first bytes, and leaves them to be read again. Destroys a connection that does not send
 * three bytes within `timeoutMs`. Calls `onDecided` at most once.
 */
function sniffHttpVersion(socket: Socket, timeoutMs: number, onDecided: (version: 1 | 2) => void): void {
  let received: Buffer = Buffer.alloc(0);
  let lastLook: NodeJS.Immediate | undefined;
  // After a stall of the process, timers run before the bytes that arrived meanwhile are read.
  const stopTimer = backgroundTimers.after(timeoutMs, () => {
    lastLook = setImmediate(() => socket.destroy());
  });
  const stopWaiting = () => {
    stopTimer();
    clearImmediate(lastLook);
  };
  const onData = (chunk: Buffer) => {
    received = received.byteLength === 0 ? chunk : Buffer.concat([received, chunk]);
    if (received.byteLength < prefaceStart.byteLength) return;
    stopWaiting();
    socket.off('data', onData);
    socket.off('close', stopWaiting);
    socket.pause();
    socket.unshift(received);
    const version = received.subarray(0, prefaceStart.byteLength).equals(prefaceStart) ? 2 : 1;
    onDecided(version);
    // An HTTP/2 session reads from the descriptor by itself; resuming here would take bytes away from it.
    if (version === 1) socket.resume();
  };
  socket.on('data', onData);
  socket.once('close', stopWaiting);
}
