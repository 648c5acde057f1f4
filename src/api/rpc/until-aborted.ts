import { onAbort } from '../../core/work/abort.js';

/**
 * Yields the items until the signal aborts, then throws the signal's reason, even if the source is silent. It asks the source to end, but
 * does not wait for that.
 */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]();
  // One listener for the whole stream. Racing each item against one promise would keep every item until that promise settles.
  let interrupt: () => void = () => undefined;
  const leave = onAbort(signal, () => interrupt());
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        interrupt = () => reject(signal.reason);
        if (signal.aborted) interrupt();
        else source.next().then(resolve, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    leave();
    // A source that waits ends later, or never.
    source.return?.().catch(() => undefined);
  }
}
