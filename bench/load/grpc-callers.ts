import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { OpenCallers } from './job.js';

/** Real clients put many calls on few connections. */
const sessionCount = 4;

/** Callers of a unary method over gRPC on cleartext HTTP/2, by node:http2. */
export const openGrpcCallers: OpenCallers = async ({ port, request, callers }, onAnswer, onFailure) => {
  const sessions = await Promise.all(
    Array.from({ length: sessionCount }, async () => {
      const session = connect(`http://127.0.0.1:${port}`);
      session.on('error', (error) => onFailure(error.message));
      await once(session, 'connect');
      return session;
    }),
  );
  const headers = { ':method': 'POST', ':path': request.path, te: 'trailers', ...request.headers };
  const body = enveloped(request.body);
  let running = 0;
  let stopped: (() => void) | null = null;

  function call(session: ClientHttp2Session): void {
    const startedAtMs = performance.now();
    let status: unknown;
    const stream = session.request(headers);
    // A trailers-only answer has its status among the headers.
    stream.on('response', (answer) => {
      status = answer['grpc-status'];
    });
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status'];
    });
    stream.on('error', (error) => onFailure(error.message));
    stream.on('close', () => {
      if (status !== '0') onFailure(`grpc-status ${status}`);
      onAnswer(performance.now() - startedAtMs);
      if (stopped === null) {
        call(session);
        return;
      }
      running -= 1;
      if (running === 0) stopped();
    });
    stream.resume();
    stream.end(body);
  }

  return {
    start() {
      for (; running < callers; running += 1) call(sessions[running % sessionCount] as ClientHttp2Session);
    },
    async stop() {
      await new Promise<void>((resolve) => {
        stopped = resolve;
      });
      for (const session of sessions) session.destroy();
    },
  };
};

/** The message behind gRPC's five bytes: not compressed, its length. */
function enveloped(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
