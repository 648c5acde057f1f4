import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';

/**
 * Applies HTTP/1's limits to an HTTP/2 request: resets the stream if its body has not arrived `limitMs` after its headers, or if its answer
 * stays unread for as long.
 */
export function limitStream({ stream }: Http2ServerRequest, limitMs: number): void {
  // The caller reset it before it was handled.
  if (stream.destroyed) return;
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  if (!stream.endAfterHeaders) {
    const timer = setTimeout(() => stream.state.remoteClose !== 1 && cancel(), limitMs).unref();
    stream.once('close', () => clearTimeout(timer));
  }
  // No byte moved in either direction. A stream that waits for news is as quiet, but has nothing unread.
  stream.on('timeout', () => stream.writableLength > 0 && cancel());
  stream.setTimeout(limitMs);
}

/**
 * Closes a session that has begun no stream for `idleMs`, and destroys a dead one: after `quietMs` without traffic it sends a PING and
 * waits as long again for the answer. Node keeps a session open that ended by an error of its caller, and then misses that the caller hangs
 * up: one bad frame would hold a socket for good.
 */
export function endUnused(session: ServerHttp2Session, quietMs: number, idleMs: number): void {
  let usedAtMs = performance.now();
  session.on('stream', () => {
    usedAtMs = performance.now();
  });
  session.setTimeout(quietMs);
  session.on('timeout', () => {
    if (performance.now() - usedAtMs >= idleMs) session.close();
    const timer = setTimeout(() => session.destroy(), quietMs).unref();
    session.ping(() => {
      clearTimeout(timer);
      // Node does not count an answered PING as traffic.
      session.setTimeout(quietMs);
    });
  });
}

/**
 * Makes a session close only after its GOAWAY is written, and never while it reads.
 *
 * Node closes it at once when the caller sends GOAWAY. It then rejects a request behind that in the same packet while still reading, which
 * frees memory in use (nodejs/node#64113): two frames from anyone, without a key, would end the process. Requests that arrive before our
 * own GOAWAY is written are served; HTTP/2 ignores later ones.
 */
export function closeAfterGoaway(session: ServerHttp2Session): void {
  const close = session.close.bind(session);
  session.close = (callback) => {
    setImmediate(() => {
      if (!session.destroyed) session.goaway();
      // Node writes submitted frames at the start of the next turn's immediates.
      setImmediate(() => close(callback));
    });
  };
}
