import { systemTimers, type Timers } from './timers.js';

/** Thrown when something took too long. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Runs a task when the signal aborts, at once if it has aborted. Returns the function that takes the task back, without which a signal that
 * lives on keeps it.
 */
export function onAbort(signal: AbortSignal, task: () => void): () => void {
  if (signal.aborted) {
    task();
    return () => undefined;
  }
  signal.addEventListener('abort', task, { once: true });
  return () => signal.removeEventListener('abort', task);
}

/** Settles as the work does, or rejects with the signal's reason if that aborts first. Leaves nothing at a signal that lives on. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = onAbort(signal, () => reject(signal.reason));
    work.finally(leave).then(resolve, reject);
  });
}

/** Resolves after `ms`, or as soon as the signal aborts. Never throws. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Makes pauses by these timers. */
export function createPause(timers: Timers): Pause {
  return (ms, signal) =>
    new Promise((resolve) => {
      const stop = timers.after(ms, () => {
        leave();
        resolve();
      });
      const leave =
        signal === undefined
          ? () => undefined
          : onAbort(signal, () => {
              stop();
              resolve();
            });
    });
}

/** A pause by the runtime's timers. It keeps the process, since a caller waits for its end. */
export const pause: Pause = createPause(systemTimers);

/** A time limit of work that takes a signal. */
export interface Deadline {
  /** Aborts with the deadline's reason when the time is over, and with the reason of the outer signal when that aborts. */
  readonly signal: AbortSignal;
  /** Takes the deadline back: the work has ended. */
  clear(): void;
}

/** How a deadline behaves. */
export interface DeadlineOptions {
  /** Aborts the deadline too. */
  readonly outer?: AbortSignal | undefined;
  /** Makes the reason of the abort when the time is over. Default: a `TimeoutError` that states the limit. */
  readonly reason?: () => Error;
  /** Default: the runtime's timers. */
  readonly timers?: Timers;
}

/** Starts a deadline. */
export function startDeadline(ms: number, { outer, reason, timers = systemTimers }: DeadlineOptions = {}): Deadline {
  const controller = new AbortController();
  const stop = timers.after(ms, () => controller.abort(reason?.() ?? new TimeoutError(`no answer within ${ms / 1_000} s`)));
  const leave = outer === undefined ? undefined : onAbort(outer, () => controller.abort(outer.reason));
  return {
    signal: controller.signal,
    clear() {
      stop();
      leave?.();
    },
  };
}

/** Runs a task under a deadline, and rejects with its reason if it passes, even if the task takes no note of the signal. */
export async function within<T>(ms: number, task: (signal: AbortSignal) => Promise<T>, options?: DeadlineOptions): Promise<T> {
  const deadline = startDeadline(ms, options);
  try {
    deadline.signal.throwIfAborted();
    return await orAborted(task(deadline.signal), deadline.signal);
  } finally {
    deadline.clear();
  }
}

/** Settles as the work does, or resolves to `late` if that takes longer than `ms`. The work goes on. */
export function inTime<T, L>(work: Promise<T>, ms: number, late: L, timers: Timers = systemTimers): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const stop = timers.after(Math.max(0, ms), () => resolve(late));
    work.finally(stop).then(resolve, reject);
  });
}

/** Resolves to true as soon as the work has ended, with or without success, and to false if that takes longer than `ms`. */
export function endsWithin(work: Promise<unknown>, ms: number, timers?: Timers): Promise<boolean> {
  const ended = () => true;
  return inTime(work.then(ended, ended), ms, false, timers);
}
