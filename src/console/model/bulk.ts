/** The state of an action on many things, one after the other. */
export interface BulkProgress {
  /** How many are done or failed. */
  readonly finished: number;
  readonly failures: readonly { readonly id: string; readonly error: unknown }[];
  /** True: it is still running. */
  readonly isRunning: boolean;
  /** True: it was stopped before the end. */
  readonly wasStopped: boolean;
}

/** The state before the first one. */
export const noProgress: BulkProgress = { finished: 0, failures: [], isRunning: true, wasStopped: false };

/** How many calls run at the same time: enough to be quick, and few enough to leave the rate limit to other callers. */
const parallel = 4;

/** A call may be limited this many times before it counts as failed. */
const maxWaits = 10;

/** An action on many things. */
export interface Bulk {
  /** The ids, as they become known. An error of it ends the action. */
  readonly ids: AsyncIterable<string> | Iterable<string>;
  readonly act: (id: string) => Promise<unknown>;
  /** Returns how long to wait before the same call can succeed; null: it has failed. */
  readonly waitMs: (error: unknown) => number | null;
  readonly wait: (ms: number) => Promise<void>;
  readonly onProgress: (progress: BulkProgress) => void;
  readonly signal: AbortSignal;
}

/**
 * Does something to many things. A single failure does not end it: the others go on, and the failures are reported at the end. Returns the
 * final state.
 */
export async function runBulk({ ids, act, waitMs, wait, onProgress, signal }: Bulk): Promise<BulkProgress> {
  let progress = noProgress;
  const update = (change: Partial<BulkProgress>) => {
    progress = { ...progress, ...change };
    onProgress(progress);
  };
  const running = new Set<Promise<void>>();
  try {
    for await (const id of ids) {
      if (signal.aborted) break;
      const one: Promise<void> = actOn(id).finally(() => running.delete(one));
      running.add(one);
      if (running.size >= parallel) await Promise.race(running);
      if (signal.aborted) break;
    }
  } catch (error) {
    if (!signal.aborted) update({ failures: [...progress.failures, { id: '', error }] });
  }
  await Promise.all(running);
  update({ isRunning: false, wasStopped: signal.aborted });
  return progress;

  async function actOn(id: string): Promise<void> {
    for (let waits = 0; ; waits++) {
      try {
        await act(id);
        update({ finished: progress.finished + 1 });
        return;
      } catch (error) {
        const ms = waits < maxWaits ? waitMs(error) : null;
        if (ms === null || signal.aborted) {
          update({ finished: progress.finished + 1, failures: [...progress.failures, { id, error }] });
          return;
        }
        await wait(ms);
        if (signal.aborted) return;
      }
    }
  }
}
