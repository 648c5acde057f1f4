import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';

/**
 * Holds a request of HTTP/2 to what HTTP/1 has of its own: its body must have arrived `limitMs` after its headers, and its answer must not be
 * left unread for as long. Otherwise its stream is reset.
 */
export function limitStream({ stream }: Http2ServerRequest, limitMs: number): void {
  // It was reset before anybody looked at it.
  if (stream.destroyed) return;
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  if (!stream.endAfterHeaders) {
    const timer = setTimeout(() => stream.state.remoteClose !== 1 && cancel(), limitMs).unref();
    stream.once('close', () => clearTimeout(timer));
  }
  // Nothing went either way. A stream that waits for something to tell is as quiet, but has nothing unread.
  stream.on('timeout', () => stream.writableLength > 0 && cancel());
  stream.setTimeout(limitMs);
}

/**
 * Closes a session that has begun no stream for `idleMs`, and destroys one that is dead: after `quietMs` without traffic it is asked by a PING,
 * and has as long to answer. Node leaves a session open that was ended for an error of its caller, and then does not notice that the
 * caller hangs up: one bad frame would hold a socket for good.
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
      // An answered PING is no traffic to Node.
      session.setTimeout(quietMs);
    });
  });
}

/**
 * Makes a session close only when its GOAWAY is out, and never in the middle of reading.
 *
 * Node closes it at once when the caller sends GOAWAY. A request behind that in the same packet is then refused while it is being read, and
 * the refusal frees what is still in use (nodejs/node#64113): two frames of anyone, without a key, would end the process. Requests that
 * come before our own GOAWAY is out are served; HTTP/2 itself ignores those that come after it.
 */
export function closeAfterGoaway(session: ServerHttp2Session): void {
  const close = session.close.bind(session);
  session.close = (callback) => {
    setImmediate(() => {
      if (!session.destroyed) session.goaway();
      // What was submitted is written at the beginning of the next turn's immediates.
      setImmediate(() => close(callback));
    });
  };
}
