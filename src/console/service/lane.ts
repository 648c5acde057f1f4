import { type ReadonlySignal, signal } from '@preact/signals';
import type { Lane } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { type Failure, failureOf, isAborted } from '../model/failure.js';
import { type LaneSpan, slotsAtOnce, spanOf } from '../model/lane.js';
import { mergeSlots, type Slots } from '../model/slots.js';
import { relayers, transactions } from './clients.js';
import { sessionSignal } from './session.js';
import { delay, follow } from './streams.js';

/** How long the page waits after an answer before it asks again. */
const pollMs = 1_000;
/** The same after a call that failed: the service may be busy, or the relayer gone. */
const failedPollMs = 5_000;
/** How long it collects changes and scrolling before it asks at once. */
const collectMs = 120;
/** An answer must come within this time. */
const timeoutMs = 10_000;

/** The numbers that the operator looks at. */
interface Wanted {
  readonly from: bigint;
  readonly count: number;
}

/** A lane that is kept up to date. */
export interface FollowedLane {
  /** The newest answer; its slots are in `slots`. Null: none yet. */
  readonly lane: ReadonlySignal<Lane | null>;
  readonly slots: ReadonlySignal<Slots>;
  /** Null: not known yet, or the lane has no numbers. */
  readonly span: ReadonlySignal<LaneSpan | null>;
  /** Why the newest call failed. Undefined: it did not. */
  readonly failure: ReadonlySignal<Failure | undefined>;
  /** Says which numbers the operator looks at: these are loaded, and kept up to date. */
  readonly want: (from: bigint, count: number) => void;
  readonly stop: () => void;
}

/** Keeps a lane up to date: asks once a second, and at once when a transaction of the relayer changes. */
export function followLane(relayerId: string): FollowedLane {
  const lane = signal<Lane | null>(null);
  const slots = signal<Slots>(new Map());
  const span = signal<LaneSpan | null>(null);
  const failure = signal<Failure | undefined>(undefined);
  const stopped = new AbortController();
  let wanted: Wanted | null = null;
  /** Ends the present wait. */
  let wake = new AbortController();
  let collecting: ReturnType<typeof setTimeout> | undefined;
  let resumeToken: string | undefined;

  const askSoon = () => {
    collecting ??= setTimeout(() => {
      collecting = undefined;
      wake.abort();
    }, collectMs);
  };
  const stopWatching = follow({
    open: (signal) => transactions.watchTransactions({ relayerId, ...(resumeToken === undefined ? {} : { resumeToken }) }, { signal }),
    onMessage: ({ event, resumeToken: token }) => {
      resumeToken = token;
      if (event.case === 'transaction') askSoon();
    },
    onExpired: () => {
      resumeToken = undefined;
    },
  });
  sessionSignal().addEventListener('abort', () => stopped.abort(), { signal: stopped.signal });
  void keepAsking();

  async function keepAsking(): Promise<void> {
    while (!stopped.signal.aborted) {
      wake = new AbortController();
      const { signal } = wake;
      if (!document.hidden) await ask();
      await delay(failure.peek() === undefined ? pollMs : failedPollMs, AbortSignal.any([signal, stopped.signal]));
    }
  }

  async function ask(): Promise<void> {
    const { from, count } = wanted ?? {};
    const options = { signal: stopped.signal, timeoutMs };
    try {
      const [first, head] = await Promise.all([
        relayers.getLane({ relayerId, ...(from === undefined ? {} : { fromNumber: from.toString(), limit: count }) }, options),
        // The verdict needs the slot at the chain's number, wherever the operator looks.
        isHeadOutside() ? relayers.getLane({ relayerId, fromNumber: lane.peek()?.chainNumber ?? '0', limit: 1 }, options) : null,
      ]);
      if (first.lane === undefined || stopped.signal.aborted) return;
      const loaded = [...first.lane.slots, ...(head?.lane?.slots ?? [])];
      slots.value = mergeSlots(slots.peek(), loaded, from ?? BigInt(first.lane.chainNumber ?? '0'));
      const next = spanOf(first.lane, span.peek());
      const before = span.peek();
      if (next?.from !== before?.from || next?.to !== before?.to) span.value = next;
      lane.value = first.lane;
      failure.value = undefined;
    } catch (error) {
      if (!stopped.signal.aborted && !isAborted(error)) failure.value = failureOf(error);
    }
  }

  function isHeadOutside(): boolean {
    const chain = lane.peek()?.chainNumber;
    if (wanted === null || chain === undefined) return false;
    return BigInt(chain) < wanted.from || BigInt(chain) >= wanted.from + BigInt(wanted.count);
  }

  return {
    lane,
    slots,
    span,
    failure,
    want: (from, count) => {
      const limited = Math.min(slotsAtOnce, Math.max(1, count));
      if (wanted?.from === from && wanted.count === limited) return;
      wanted = { from, count: limited };
      for (let number = from; number < from + BigInt(limited); number += 1n) {
        if (slots.peek().has(number)) continue;
        askSoon();
        break;
      }
    },
    stop: () => {
      clearTimeout(collecting);
      stopWatching();
      stopped.abort();
    },
  };
}
