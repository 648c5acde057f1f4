import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';

/** How long a caller has to answer a PING when it is in doubt whether it reads at all. */
const pingMs = 10_000;

/**
 * Holds a request of HTTP/2 to what HTTP/1 has of its own: its body must have arrived `limitMs` after its headers, and its answer must not be
 * left unread for as long. Otherwise its stream is reset; and where the caller reads nothing whatever, its connection is closed.
 */
export function limitStream({ stream }: Http2ServerRequest, limitMs: number): void {
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  if (!stream.endAfterHeaders) {
    const timer = setTimeout(() => stream.state.remoteClose !== 1 && cancel(), limitMs).unref();
    stream.once('close', () => clearTimeout(timer));
  }
  // Nothing went either way. A stream that waits for something to tell is as quiet, but has nothing unread.
  stream.setTimeout(limitMs, () => {
    if (stream.writableLength === 0) return;
    const { session } = stream;
    cancel();
    if (session === undefined || session.destroyed) return;
    const timer = setTimeout(() => session.destroy(), pingMs).unref();
    session.ping(() => clearTimeout(timer));
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
