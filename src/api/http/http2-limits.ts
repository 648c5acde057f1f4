import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import { backgroundTimers } from '../../core/work/timers.js';

/**
 * Applies HTTP/1's limits to an HTTP/2 request: resets the stream if its body has not arrived `limitMs` after its headers, or if its answer
 * stays unread for as long.
 */
export function limitStream({ stream }: Http2ServerRequest, limitMs: number): void {
  // The caller reset it before it was handled.
  if (stream.destroyed) return;
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  if (!stream.endAfterHeaders) {
    stream.once(
      'close',
      backgroundTimers.after(limitMs, () => stream.state.remoteClose !== 1 && cancel()),
    );
  }
  // No byte moved in either direction. A stream that waits for news is as quiet, but has nothing unread.
  stream.on('timeout', () => stream.writableLength > 0 && cancel());
  stream.setTimeout(limitMs);
}

/** How soon after its start a reset counts as rapid. */
const rapidMs = 1000;
/** After this many rapid resets in a row, no call completed in between, the session is destroyed. */
const maxRapidResets = 50;

/**
 * Creates the check of a session's calls: true if the call should be handled. A caller that opens calls only to reset them
 * (CVE-2023-44487) pays nothing for them, so its session is destroyed after some tens. Hundreds more may be read by then, and even an answer
 * that refuses them costs more than the rest together: they are left alone. A caller that has waited for an answer may reset the call: clients
 * do so with calls that were refused, and with streams that they have read enough of.
 */
export function limitResets(session: ServerHttp2Session): (request: Http2ServerRequest) => boolean {
  let rapidResets = 0;
  return ({ stream }) => {
    if (stream.destroyed || rapidResets >= maxRapidResets) return false;
    const startedAtMs = performance.now();
    let isFirstTurn = true;
    setImmediate(() => {
      isFirstTurn = false;
    });
    stream.once('close', () => {
      const isAnswered = stream.headersSent && !isFirstTurn;
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) rapidResets = 0;
      else if (!isAnswered && performance.now() - startedAtMs < rapidMs) rapidResets += 1;
      // Not while the session reads: that would free memory in use.
      if (rapidResets === maxRapidResets) setImmediate(() => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
    });
    return true;
  };
}

/**
 * Closes a session that has begun no stream for `idleMs`, and destroys a dead one: after `quietMs` without traffic it sends a PING and
 * waits as long again for the answer. Node keeps a session open that ended by an error of its caller, and then misses that the caller hangs
 * up: one bad frame would hold a socket forever.
 */
export function endUnused(session: ServerHttp2Session, quietMs: number, idleMs: number): void {
  let usedAtMs = performance.now();
  session.on('stream', () => {
    usedAtMs = performance.now();
  });
  session.setTimeout(quietMs);
  session.on('timeout', () => {
    if (performance.now() - usedAtMs >= idleMs) session.close();
    const stopTimer = backgroundTimers.after(quietMs, () => session.destroy());
    session.ping(() => {
      stopTimer();
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
