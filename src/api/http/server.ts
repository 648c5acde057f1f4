import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket, Server as TlsServer } from 'node:tls';
import { type Meter, noMeter } from '../../core/ports/telemetry.js';
import type { Log } from '../../core/work/log.js';
import { backgroundTimers } from '../../core/work/timers.js';
import { breakOff } from './answer.js';
import type { Certificate } from './certificate-files.js';
import { type ConnectionLimits, createConnectionLimit } from './connection-limit.js';
import type { ApiRequest, ApiResponse } from './header.js';
import { createHttp1Calls } from './http1-calls.js';
import { createHttp2Calls } from './http2-calls.js';
import type { ServerTimeouts } from './server-limits.js';

const defaultTimeouts: ServerTimeouts = {
  firstByteMs: 10_000,
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  quietSessionMs: 10_000,
  idleSessionMs: 600_000,
  checkEveryMs: 1000,
};

/** The first bytes of the HTTP/2 preface `PRI * HTTP/2.0`. No HTTP/1 verb begins so, and every request has three bytes. */
const prefaceStart = Buffer.from('PRI');

/**
 * Connections that may wait to be accepted; the kernel may allow fewer. Beyond it the kernel drops what a client sends, and that client
 * waits for 20 seconds and more: Node's default of 511 is a few milliseconds of opening and resetting connections.
 */
const acceptQueue = 4_096;

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
  readonly meter?: Meter;
  /** Aborts when callers should connect elsewhere, before `stop`. Default: never. */
  readonly leaving?: AbortSignal;
  /** How long running calls may go on after `stop`. */
  readonly shutdownDeadlineMs: number;
  /** Replaces the defaults. */
  readonly timeouts?: ServerTimeouts;
  /** Absent: no limit. */
  readonly connectionLimits?: ConnectionLimits;
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
  meter = noMeter,
  leaving = new AbortController().signal,
  shutdownDeadlineMs,
  timeouts = defaultTimeouts,
  connectionLimits,
}: ServerOptions): ApiServer {
  let stopping = false;
  /** All open connections. */
  const sockets = new Set<Socket>();
  /** Connections whose HTTP version is not yet known. */
  const undecided = new Set<Socket>();
  // The last line of defence: nothing that a caller sends may end the process.
  const handle = (request: ApiRequest, response: ApiResponse) => {
    try {
      handler(request, response);
    } catch (error) {
      log.error({ err: error }, 'a request handler failed');
      breakOff(response);
    }
  };
  const http1 = createHttp1Calls({ timeouts, handle, newRequestId, leaving });
  const http2 = createHttp2Calls({ timeouts, handle, log });

  function takeOver(socket: Socket, version: 1 | 2): void {
    undecided.delete(socket);
    if (stopping) {
      socket.destroy();
      return;
    }
    (version === 1 ? http1 : http2).take(socket);
  }

  const acceptor =
    tls === null ? createTcpServer({ noDelay: true, keepAlive: true }) : createTlsAcceptor(tls, timeouts.firstByteMs, takeOver);
  const admit = connectionLimits === undefined ? () => true : createConnectionLimit(connectionLimits, { log, meter });
  acceptor.on('connection', (socket) => {
    if (!admit(socket)) {
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
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
        http1.begin();
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
    http1.leave();
    http2.leave();
    for (const socket of undecided) socket.destroy();
    const stopDeadline = backgroundTimers.after(shutdownDeadlineMs, () => {
      log.warn({ connections: sockets.size }, 'shutdown deadline reached; closing open connections');
      http2.cut();
      for (const socket of sockets) socket.destroy();
    });
    await closed;
    stopDeadline();
    http1.end();
  }

  function useCertificate(certificate: Certificate): void {
    if (acceptor instanceof TlsServer) acceptor.setSecureContext(secureContext(certificate));
  }

  return { listen, stop, useCertificate };
}

/** TLS 1.3, and of TLS 1.2 what has forward secrecy and authenticated encryption. */
const ciphers = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((name) => [`ECDHE-ECDSA-${name}`, `ECDHE-RSA-${name}`]),
].join(':');

/** A new certificate takes all of it again: Node keeps nothing of the context before. */
function secureContext({ certPem, keyPem }: Certificate): SecureContextOptions {
  return { cert: certPem, key: keyPem, minVersion: 'TLSv1.2', ciphers, honorCipherOrder: true };
}

/** Creates the acceptor of TLS connections. It passes each on with the version that ALPN agreed on; callers without ALPN get HTTP/1. */
function createTlsAcceptor(certificate: Certificate, handshakeTimeout: number, takeOver: (socket: Socket, version: 1 | 2) => void): Server {
  const server = createTlsServer({
    ...secureContext(certificate),
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
