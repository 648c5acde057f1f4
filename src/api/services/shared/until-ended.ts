import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { DomainError } from '../../../core/errors/errors.js';
import { onAbort } from '../../../core/work/abort.js';
import { principalOf } from '../../contract/call.js';
import { keyEnded } from '../../contract/shared-errors.js';

/**
 * Serves a watch until its caller leaves, the caller's key ends, the deadline passes or the service stops. Returns only if the watch is
 * over by itself: otherwise it throws, because a regular end would mean that there is nothing more to come. `whenStopping` says what to do
 * then.
 */
export async function* untilEnded<T>(
  context: HandlerContext,
  whenStopping: string,
  watch: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void, void> {
  const { ended } = principalOf(context);
  const end = new AbortController();
  const signals = ended === null ? [context.signal] : [context.signal, ended];
  const leaves = signals.map((signal) => onAbort(signal, () => end.abort()));
  try {
    yield* watch(end.signal);
  } finally {
    for (const leave of leaves) leave();
  }
  if (ended?.aborted) throw keyEnded(ended);
  const { aborted, reason } = context.signal;
  if (aborted && reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) throw reason;
  if (aborted) throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', `the service is stopping; ${whenStopping}`);
}
