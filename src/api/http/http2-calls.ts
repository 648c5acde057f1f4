import { constants, createServer, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Log } from '../../core/work/log.js';
import { backgroundTimers, systemTimers } from '../../core/work/timers.js';
import type { ApiRequest, ApiResponse } from './header.js';
import { closeAfterGoaway, createCallQueue, endUnused, limitStream } from './http2-limits.js';
import { maxHeaderBytes, type ServerTimeouts } from './server-limits.js';

const maxConcurrentStreams = 250;

/** How long calls are taken that a caller began before it read that it should leave. */
const noticeMs = 100;
/** The highest number of a stream: no call of a session is refused. */
const lastStream = 2 ** 31 - 1;
/** How long a caller has to close the connection after its session was closed. */
const lingerMs = 1000;

/** The calls of the connections that speak HTTP/2. */
export interface Http2Calls {
  /** Serves a connection. */
  take(socket: Socket): void;
  /** Asks callers to leave: each session ends with the calls that it has. */
  leave(): void;
  /** Cuts all calls off. */
  cut(): void;
}

/** What serves them. */
export interface Http2CallsDeps {
  readonly timeouts: ServerTimeouts;
  readonly handle: (request: ApiRequest, response: ApiResponse) => void;
  readonly log: Log;
}

/** Creates the calls; there is no connection. */
export function createHttp2Calls({ timeouts, handle, log }: Http2CallsDeps): Http2Calls {
  let isLeaving = false;
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({
    maxHeaderListPairs: 128,
    settings: { maxConcurrentStreams, maxHeaderListSize: maxHeaderBytes },
  });
  const calls = createCallQueue((request, response) => {
    limitStream(request, timeouts.requestMs);
    handle(request, response);
  });
  server.on('request', calls.addCall);
  server.on('session', (session) => {
    closeAfterGoaway(session);
    sessions.add(session);
    calls.addSession(session);
    session.once('close', () => sessions.delete(session));
    endUnused(session, timeouts.quietSessionMs, timeouts.idleSessionMs);
    if (isLeaving) session.close();
  });
  server.on('sessionError', (error) => log.debug({ err: error }, 'an HTTP/2 connection failed'));

  return {
    take(socket) {
      // A closed session has sent everything and waits for the caller to close the connection, which some never do.
      socket.once('finish', () => backgroundTimers.after(lingerMs, () => socket.destroy()));
      server.emit('connection', socket);
    },
    leave() {
      isLeaving = true;
      // A GOAWAY that names the last call alone would refuse calls under way to here.
      for (const session of sessions) if (!session.destroyed) session.goaway(constants.NGHTTP2_NO_ERROR, lastStream);
      systemTimers.after(noticeMs, () => {
        for (const session of sessions) session.close();
      });
    },
    cut() {
      for (const session of sessions) session.destroy();
    },
  };
}
