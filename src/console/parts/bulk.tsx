import { useEffect, useRef, useState } from 'preact/hooks';
import { type BulkProgress, noProgress, runBulk } from '../model/bulk.js';
import { failureOf } from '../model/failure.js';
import { sessionSignal } from '../service/session.js';
import { delay } from '../service/streams.js';
import { Button } from './button.js';

/** Failures that are shown one by one. With more of them, the first ones tell enough. */
const shownFailures = 20;

/** An action on many things, started by a button. */
export interface BulkAction {
  /** Undefined: it was not started. */
  readonly progress: BulkProgress | undefined;
  readonly start: (
    ids: AsyncIterable<string> | Iterable<string>,
    act: (id: string, signal: AbortSignal) => Promise<unknown>,
  ) => Promise<void>;
  readonly stop: () => void;
  readonly clear: () => void;
}

/** Returns the state of an action on many things. It ends with the view. */
export function useBulk(): BulkAction {
  const [progress, setProgress] = useState<BulkProgress | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  return {
    progress,
    start: async (ids, act) => {
      running.current?.abort();
      const stopped = new AbortController();
      running.current = stopped;
      const signal = AbortSignal.any([stopped.signal, sessionSignal()]);
      setProgress(noProgress);
      await runBulk({
        ids,
        act: (id) => act(id, signal),
        waitMs: (error) => {
          const { reason, metadata } = failureOf(error);
          return reason === 'RATE_LIMITED' ? Math.min(10_000, Number(metadata.retry_after_ms ?? 1_000) || 1_000) : null;
        },
        wait: (ms) => delay(ms, signal),
        onProgress: setProgress,
        signal,
      });
    },
    stop: () => running.current?.abort(),
    clear: () => setProgress(undefined),
  };
}

/** Shows how far an action on many things is, and what failed. */
export function BulkReport({
  bulk,
  total,
  doing,
  done,
}: {
  readonly bulk: BulkAction;
  /** How many there are. Undefined: not known. */
  readonly total?: number | undefined;
  /** The verb while it runs, such as `Redelivering`. */
  readonly doing: string;
  /** The verb afterwards, such as `Redelivered`. */
  readonly done: string;
}) {
  const { progress } = bulk;
  if (progress === undefined) return null;
  const { finished, failures, isRunning, wasStopped } = progress;
  const succeeded = finished - failures.filter(({ id }) => id !== '').length;
  return (
    <div class={`note ${failures.length > 0 ? 'warn' : 'quiet'} bulk`}>
      <div class="note-body">
        <p role="status">
          {isRunning ? `${doing} ${finished}${total === undefined ? '' : ` of ${total}`}…` : `${done} ${succeeded}.`}
          {!isRunning && failures.length > 0 && ` Failed: ${failures.length}.`}
          {!isRunning && wasStopped && ' Stopped before the end.'}
        </p>
        {isRunning && <progress aria-label={doing} {...(total === undefined ? {} : { value: finished, max: Math.max(1, total) })} />}
        {failures.length > 0 && (
          <ul>
            {failures.slice(0, shownFailures).map(({ id, error }) => (
              <li key={id}>
                {id !== '' && (
                  <>
                    <code>{id}</code>:{' '}
                  </>
                )}
                {failureOf(error).sentence}
              </li>
            ))}
            {failures.length > shownFailures && <li>and {failures.length - shownFailures} more</li>}
          </ul>
        )}
      </div>
      <Button onClick={isRunning ? bulk.stop : bulk.clear} text={isRunning ? 'Stop' : 'Close'} />
    </div>
  );
}
