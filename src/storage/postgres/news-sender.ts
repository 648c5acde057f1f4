import type { Pause } from '../../core/work/abort.js';
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
  readonly pause: Pause;
  /** Nothing is sent any more once it is aborted. */
  readonly closing: AbortSignal;
}

/** Creates a sender. It sends one message at a time: what changes meanwhile comes with the next one. */
export function createNewsSender({ me, observer, pause, closing }: NewsSenderDeps): NewsSender {
  const bag = createNewsBag();
  let isSending = false;

  function send(): void {
    const current = observer();
    if (isSending || current === null || closing.aborted) return;
    const text = bag.take(me());
    if (text === null) return;
    isSending = true;
    current
      .tell(text)
      // The next round sends everything, if need be on another connection.
      .catch(() => bag.addAll())
      .then(() => pause(messageGapMs, closing))
      .finally(() => {
        isSending = false;
        send();
      });
  }

  return { addChanges: bag.addChanges, addLeases: bag.addLeases, addAll: bag.addAll, send };
}
