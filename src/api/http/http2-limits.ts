import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { backgroundTimers } from '../../core/work/timers.js';
import { createTurnBudget } from '../../core/work/turn-budget.js';

/**
 * Applies HTTP/1's limits to an HTTP/2 request: resets the stream if its body has not arrived `limitMs` after its headers, or if its answer
 * stays unread for as long.
 */
export function limitStream({ stream }: Http2ServerRequest, limitMs: number): void {
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
/** A call that has arrived; null once it has begun or was reset, which frees its stream. */
interface Arrival {
  call: { readonly request: Http2ServerRequest; readonly response: Http2ServerResponse } | null;
}

/**
 * Creates the queue of the calls of all HTTP/2 sessions. `begin` gets each call in the turn after its arrival.
 *
 * A caller that opens calls only to reset them (CVE-2023-44487) pays nothing for them, and hundreds can arrive in one read. A call that was
 * reset by the end of its read is never begun, and its session is destroyed after some tens. A caller may reset a call after the answer has
 * begun: clients do so with calls that were refused, and with streams that they have read enough of.
 */
export function createCallQueue(begin: (request: Http2ServerRequest, response: Http2ServerResponse) => void): {
  /** Call it when the session begins. */
  addSession(session: ServerHttp2Session): void;
  /** Call it while the session reads the call. */
  addCall(request: Http2ServerRequest, response: Http2ServerResponse): void;
} {
  const isTurnOver = createTurnBudget();
  const sessions = new WeakMap<Http2Session, { readonly resets: RapidResets; newest: Arrival }>();

  // Each call has an immediate of its own, so that the microtasks of one run before the next begins.
  function beginInTurn(resets: RapidResets, arrival: Arrival): void {
    dropIfReset(resets, arrival);
    if (arrival.call === null || resets.areTooMany()) return;
    if (isTurnOver()) {
      setImmediate(beginInTurn, resets, arrival);
      return;
    }
    const { request, response } = arrival.call;
    arrival.call = null;
    resets.watch(request.stream);
    begin(request, response);
  }

  return {
    addSession(session) {
      sessions.set(session, { resets: countRapidResets(session), newest: { call: null } });
    },
    addCall(request, response) {
      const session = request.stream.session === undefined ? undefined : sessions.get(request.stream.session);
      if (session === undefined) return;
      // Hundreds of dead streams, held until the end of the read, would cost the collector of garbage more than all else.
      dropIfReset(session.resets, session.newest);
      session.newest = { call: { request, response } };
      if (!session.resets.areTooMany()) setImmediate(beginInTurn, session.resets, session.newest);
    },
  };
}

function dropIfReset(resets: RapidResets, arrival: Arrival): void {
  const stream = arrival.call?.request.stream;
  if (stream?.closed !== true) return;
  arrival.call = null;
  // Node destroys a stream that was reset with an error, but keeps one that was reset with NO_ERROR.
  stream.destroy();
  resets.add();
}

/** The rapid resets of a session, which destroy it. */
interface RapidResets {
  add(): void;
  /** True once the session is destroyed or about to be. */
  areTooMany(): boolean;
  /** Counts the call that begins now if it ends by a rapid reset; if it completes, the count starts again at zero. */
  watch(stream: ServerHttp2Stream): void;
}

function countRapidResets(session: ServerHttp2Session): RapidResets {
  let count = 0;

  function add(): void {
    count += 1;
    // Not while the session reads: that would free memory in use.
    if (count === maxRapidResets) setImmediate(() => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }

  return {
    add,
    areTooMany: () => session.destroyed || count >= maxRapidResets,
    watch(stream) {
      const begunAtMs = performance.now();
      endWhenClosed(stream);
      stream.once('close', () => {
        const isCompleted = stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted && stream.writableFinished;
        if (isCompleted && count < maxRapidResets) count = 0;
        else if (!isCompleted && !stream.headersSent && performance.now() - begunAtMs < rapidMs) add();
      });
    },
  };
}

/**
 * Destroys a stream as soon as it is closed. Node does so itself if it was reset with an error; after NO_ERROR it waits until the body was
 * read and the answer was written, which can be never. It reports such an end by no event of its own, but it removes the listeners of
 * `timeout`.
 */
function endWhenClosed(stream: ServerHttp2Stream): void {
  stream.on('timeout', () => undefined);
  // Node is still closing the stream.
  stream.on('removeListener', (event) => event === 'timeout' && stream.closed && process.nextTick(() => stream.destroy()));
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
