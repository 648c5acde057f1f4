import { onAbort } from '../../core/work/abort.js';
import { repeat } from '../../core/work/repeat.js';
import type { Timers } from '../../core/work/timers.js';
import { createNewsBag, type NewsBag } from './news-channel.js';
import type { Observer } from './postgres-observer.js';

/** Changes that come closer to one another than this are sent together. */
const messageGapMs = 10;

/** Tells the other instances what this one has changed. */
export interface NewsSender extends Omit<NewsBag, 'take'> {
  /** Sends what was added, without a connection later. Returns at once. */
  send(): void;
}

/** The parts that make a sender. */
export interface NewsSenderDeps {
  /** The number of this instance. */
  me(): number;
  /** Null: there is no connection now. */
  observer(): Observer | null;
  readonly timers: Timers;
  /** Nothing is sent any more once it is aborted. */
  readonly closing: AbortSignal;
}

/** Creates a sender. It sends one message at a time: what changes meanwhile comes with the next one. */
export function createNewsSender({ me, observer, timers, closing }: NewsSenderDeps): NewsSender {
  const bag = createNewsBag();

  async function sendOnce(): Promise<void> {
    const current = observer();
    const text = current === null ? null : bag.take(me());
    if (text !== null) await current?.tell(text);
  }

  // After a failure, the next round sends everything, if need be on another connection.
  const sending = repeat(sendOnce, Number.POSITIVE_INFINITY, { onError: bag.addAll, runsAtOnce: false, gapMs: messageGapMs, timers });
  onAbort(closing, () => void sending.stop());

  return { addChanges: bag.addChanges, addLeases: bag.addLeases, addAll: bag.addAll, send: sending.wake };
}
