import type { DurationClock } from '../../src/core/work/clock.js';
import type { Timers } from '../../src/core/work/timers.js';

/** Time that passes only from event to event. */
export interface VirtualTime extends Timers {
  /** Milliseconds since the start. */
  elapsedMs(): number;
  /** The time of the next event; null: there is none. */
  nextAtMs(): number | null;
  /** Moves to the next event and runs it. */
  runNext(): void;
  /** Lets time pass up to this moment without an event. */
  advanceTo(ms: number): void;
}

/** The wall clock of a service whose machine keeps virtual time, with an error that can be set. */
export interface SkewedClock extends DurationClock {
  skew(ms: number): void;
}

interface Event {
  readonly atMs: number;
  readonly serial: number;
  task: (() => void) | null;
}

const startMs = Date.UTC(2030, 0, 1);

/** Makes time that stands at 0. Events at the same moment run in the order in which they were made. */
export function createVirtualTime(): VirtualTime {
  const heap: Event[] = [];
  let nowMs = 0;
  let serial = 0;

  const isEarlier = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.serial < b.serial);

  function push(event: Event): void {
    let at = heap.push(event) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isEarlier(event, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = event;
  }

  function pop(): Event | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || first === last) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      const child = one !== undefined && other !== undefined && isEarlier(other, one) ? other : one;
      if (child === undefined || !isEarlier(child, last)) break;
      heap[at] = child;
      at = child === one ? left : left + 1;
    }
    heap[at] = last;
    return first;
  }

  function dropCanceled(): void {
    while (heap[0]?.task === null) pop();
  }

  return {
    elapsedMs: () => nowMs,
    after(ms, task) {
      const event: Event = { atMs: nowMs + Math.max(0, Math.ceil(ms)), serial: ++serial, task };
      push(event);
      return () => {
        event.task = null;
      };
    },
    nextAtMs() {
      dropCanceled();
      return heap[0]?.atMs ?? null;
    },
    runNext() {
      dropCanceled();
      const event = pop();
      if (event?.task == null) return;
      nowMs = event.atMs;
      event.task();
    },
    advanceTo(ms) {
      nowMs = Math.max(nowMs, ms);
    },
  };
}

/** The wall clock begins on a fixed day, so that records do not depend on the day of the run. */
export function createSkewedClock(time: Pick<VirtualTime, 'elapsedMs'>): SkewedClock {
  let errorMs = 0;
  return {
    nowMs: () => startMs + time.elapsedMs() + errorMs,
    elapsedMs: time.elapsedMs,
    skew(ms) {
      errorMs = ms;
    },
  };
}

/** The true time of day, which block timestamps show. */
export function trueTimeMs(time: Pick<VirtualTime, 'elapsedMs'>): number {
  return startMs + time.elapsedMs();
}
