import { allNews, type Message, type News } from '../../core/ports/news.js';
import type { Observer } from '../../core/ports/shared-database.js';
import { onAbort } from '../../core/work/abort.js';
import { repeat } from '../../core/work/repeat.js';
import type { Timers } from '../../core/work/timers.js';

/** Changes that come closer to one another than this are sent together. */
const messageGapMs = 10;

/** Tells the other instances what this one has changed. */
export interface NewsSender {
  add(news: News): void;
  /** Adds that instances or leases have changed. */
  addLeases(): void;
  /** Sends what was added, without a connection later. Returns at once. */
  send(): void;
}

/** The parts that make a sender. */
export interface NewsSenderDeps {
  /** The number of this instance. */
  me(): number;
  /** Null: there is no connection now. */
  observer(): Pick<Observer, 'tell'> | null;
  readonly timers: Timers;
  /** Nothing is sent any more once it is aborted. */
  readonly closing: AbortSignal;
}

/** Creates a sender. It sends one message at a time: what changes meanwhile comes with the next one. */
export function createNewsSender({ me, observer, timers, closing }: NewsSenderDeps): NewsSender {
  let relayers: Set<string> | 'all' = new Set();
  let hasEvents = false;
  let hasDefinitions = false;
  let hasLeases = false;

  function add(news: News): void {
    if (news.relayers === 'all') relayers = 'all';
    else if (relayers !== 'all') for (const id of news.relayers) relayers.add(id);
    hasEvents ||= news.hasEvents;
    hasDefinitions ||= news.hasDefinitions;
  }

  /** Takes the message of what was added; null: nothing was. */
  function take(): Message | null {
    if (!hasEvents && !hasDefinitions && !hasLeases && relayers !== 'all' && relayers.size === 0) return null;
    const message = { from: me(), news: { relayers, hasEvents, hasDefinitions }, hasLeases };
    relayers = new Set();
    hasEvents = hasDefinitions = hasLeases = false;
    return message;
  }

  async function sendOnce(): Promise<void> {
    const current = observer();
    const message = current === null ? null : take();
    if (message !== null) await current?.tell(message);
  }

  const onError = (): void => add(allNews);
  // After a failure, the next round sends everything, if need be on another connection.
  const sending = repeat(sendOnce, Number.POSITIVE_INFINITY, { onError, runsAtOnce: false, gapMs: messageGapMs, timers });
  onAbort(closing, () => void sending.stop());

  return {
    add,
    addLeases() {
      hasLeases = true;
    },
    send: sending.wake,
  };
}
