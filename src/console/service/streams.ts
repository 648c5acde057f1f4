import { Code, ConnectError } from '@connectrpc/connect';
import { computed, signal } from '@preact/signals';
import { failureOf, isKeyRejected } from '../model/failure.js';
import { serviceTimeMs } from './clock.js';
import { endRejectedSession, sessionSignal } from './session.js';

/** Delays between attempts to open a stream again: the first one is short, because most interruptions are. */
const firstDelayMs = 500;
const maxDelayMs = 15_000;
/**
 * The service sends something at least every 20 seconds. After this long without a message, the connection is dead although neither side
 * closed it.
 */
const silenceMs = 45_000;
/**
 * A page in the background gives up its streams after this long: browsers allow only six connections to one origin, for all tabs together.
 */
const hiddenMs = 10_000;

/** The state of one stream, in the words that the page shows. */
export type StreamState = 'connecting' | 'live' | 'reconnecting';

/** A stream that the page keeps open. */
interface Stream {
  readonly state: StreamState;
  /** When its last message arrived, by the clock of the service. Null: none did. */
  readonly heardAtMs: number | null;
}

const streams = signal<ReadonlyMap<object, Stream>>(new Map());

/** The state of all open streams together: the worst of them. Null: none is open. */
export const streamState = computed<StreamState | null>(() => {
  const all = [...streams.value.values()].map(({ state }) => state);
  return (['reconnecting', 'connecting', 'live'] as const).find((state) => all.includes(state)) ?? null;
});

/** The time of the page's oldest data among the streams that are interrupted. Null: they have sent none, or none is interrupted. */
export const staleSinceMs = computed<number | null>(() => {
  const interrupted = [...streams.value.values()].filter(({ state }) => state === 'reconnecting');
  const times = interrupted.map(({ heardAtMs }) => heardAtMs).filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
});

/** A stream to keep open. */
export interface Followed<Message> {
  /** Opens it. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Message>;
  /** Called for each message. */
  readonly onMessage: (message: Message) => void;
  /**
   * Called when the service has ended the stream without an error. True: nothing more will come, so it stays closed. Absent: it is opened
   * again.
   */
  readonly isDone?: () => boolean;
  /** Called if the service no longer knows the resume token with which the stream was opened. */
  readonly onExpired?: () => void;
  /** Called before each attempt to open it, so that its reader can begin again. */
  readonly onOpen?: () => void;
  /** Called if the service refuses it for a reason that no retry changes. It is not opened again. */
  readonly onRefused?: (error: unknown) => void;
}

/** Errors of the service after which opening the stream again can help; every other one is final. */
const passing = new Set([Code.Unavailable, Code.ResourceExhausted, Code.Internal, Code.DeadlineExceeded]);

/** Keeps a stream open, with growing delays between attempts, until the returned function is called or the session ends. */
export function follow<Message>({ open, onMessage, onOpen, isDone, onExpired, onRefused }: Followed<Message>): () => void {
  const key = {};
  const stopped = new AbortController();
  sessionSignal().addEventListener('abort', () => stopped.abort(), { signal: stopped.signal });
  let heardAtMs: number | null = null;
  const setState = (state: StreamState | null): void => {
    const next = new Map(streams.peek());
    if (state === null) next.delete(key);
    else next.set(key, { state, heardAtMs });
    streams.value = next;
  };
  setState('connecting');
  stopped.signal.addEventListener('abort', () => setState(null));
  void keepOpen();
  return () => stopped.abort();

  async function keepOpen(): Promise<void> {
    let delayMs = firstDelayMs;
    while (!stopped.signal.aborted) {
      await untilVisible(stopped.signal);
      if (stopped.signal.aborted) return;
      const attempt = attemptWithin(stopped.signal);
      try {
        onOpen?.();
        for await (const message of open(attempt.signal)) {
          if (stopped.signal.aborted) return;
          attempt.heard();
          delayMs = firstDelayMs;
          heardAtMs = serviceTimeMs();
          setState('live');
          onMessage(message);
        }
        if (isDone?.() === true) {
          setState(null);
          return;
        }
      } catch (error) {
        if (stopped.signal.aborted) return;
        const { reason } = failureOf(error);
        if (isKeyRejected(error)) {
          endRejectedSession();
          return;
        }
        if (reason === 'RESUME_TOKEN_EXPIRED') onExpired?.();
        else if (reason !== null && !passing.has(ConnectError.from(error).code)) {
          setState(null);
          onRefused?.(error);
          return;
        }
      } finally {
        attempt.end();
      }
      if (stopped.signal.aborted) return;
      setState('reconnecting');
      if (!document.hidden) await delay(delayMs * (0.75 + Math.random() / 2), stopped.signal);
      delayMs = Math.min(maxDelayMs, delayMs * 2);
    }
  }
}

/** A signal for one attempt: it aborts with the stream, after silence, and while the page is hidden for long. */
function attemptWithin(outer: AbortSignal): { readonly signal: AbortSignal; readonly heard: () => void; readonly end: () => void } {
  const inner = new AbortController();
  const abort = () => inner.abort();
  let silence = setTimeout(abort, silenceMs);
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const onVisibility = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(abort, hiddenMs);
  };
  outer.addEventListener('abort', abort);
  document.addEventListener('visibilitychange', onVisibility);
  return {
    signal: inner.signal,
    heard: () => {
      clearTimeout(silence);
      silence = setTimeout(abort, silenceMs);
    },
    end: () => {
      clearTimeout(silence);
      clearTimeout(hidden);
      outer.removeEventListener('abort', abort);
      document.removeEventListener('visibilitychange', onVisibility);
      inner.abort();
    },
  };
}

/** Resolves when the page is visible, or the signal aborts. */
function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', check);
      signal.removeEventListener('abort', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    signal.addEventListener('abort', check);
  });
}

/** Resolves after a time, or when the signal aborts. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
