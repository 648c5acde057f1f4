import type { OutboxEvent } from '../core/records/notification.js';
import { monotonicMs } from '../core/work/clock.js';
import { createDeliverySlots, type Runner } from './delivery-slots.js';

/** The number of events of a notification read at once and posted as its slots become free. */
const readAhead = 64;
/** An event may be about as large as a request. */
const assumedEventBytes = 1024 * 1024;

/** A notification with attempts that run or wait for a slot. */
export interface Target extends Runner {
  /**
   * Events read ahead. Each stays the oldest of its order key until its attempt, since only an attempt or a deletion settles an event, and
   * the commit after the attempt detects a deletion.
   */
  ready: OutboxEvent[];
}

/** The notifications that are delivered to now: their slots, the events that were read ahead for them, and their pauses. */
export interface DeliveryTargets {
  /** True if a read of the notification's events would give it something to do. */
  canTakeMore(notificationId: string): boolean;
  /**
   * Returns how many events of a notification may be read now. Receivers that do not answer get one at a time and half of the memory, so
   * that theirs do not fill it.
   */
  capacityFor(notificationId: string): number;
  /** The number of its running attempts. */
  runningOf(notificationId: string): number;
  /** Takes in events that were read ahead. */
  add(notificationId: string, ready: OutboxEvent[]): void;
  /** Starts events, one of each target in turn, while slots are free. */
  serve(start: (event: OutboxEvent, target: Target) => void): void;
  /** An attempt has ended without being settled further; call `dropIfIdle` when the next ones have started. */
  free(event: OutboxEvent, target: Target): void;
  dropIfIdle(target: Target): void;
  /** Records whether the receiver answered. */
  noteEnd(target: Target, isAnswered: boolean): void;
  /** The receiver asked not to be called: what was read ahead is read again after the pause. */
  pause(target: Target, pauseMs: number): void;
  /** Forgets the pauses that are over. */
  endPauses(): void;
  /** Until the next pause ends; Infinity: there is none. */
  nextPauseEndMs(): number;
  /** Forgets what was read ahead for these notifications. */
  forgetReady(isMeant: (notificationId: string) => boolean): void;
}

/** Creates the targets; there are none. `maxHeldBytes` bounds the memory for the bodies of events that run or were read ahead. */
export function createDeliveryTargets(maxHeldBytes: number): DeliveryTargets {
  const targets = new Map<string, Target>();
  const slots = createDeliverySlots();
  /** The targets with events that wait for a slot; the first is served next. */
  const queue = new Set<Target>();
  /** The size of all bodies that run or were read ahead. */
  let heldBytes = 0;
  /** Until when receivers asked for a pause, in monotonic milliseconds. */
  const pausedUntilMs = new Map<string, number>();

  function forgetReadyOf(target: Target): void {
    heldBytes -= bytesOf(target.ready);
    target.ready = [];
  }

  return {
    canTakeMore(notificationId) {
      const target = targets.get(notificationId);
      return !pausedUntilMs.has(notificationId) && (target === undefined || (target.ready.length === 0 && slots.hasFree(target)));
    },
    capacityFor(notificationId) {
      const isAnswering = slots.isAnswering(notificationId);
      const freeBytes = (isAnswering ? maxHeldBytes : maxHeldBytes / 2) - heldBytes;
      if (freeBytes <= 0) return 0;
      return isAnswering ? Math.min(readAhead, Math.max(1, Math.floor(freeBytes / assumedEventBytes))) : 1;
    },
    runningOf: (notificationId) => targets.get(notificationId)?.running ?? 0,
    add(notificationId, ready) {
      const target = targets.get(notificationId) ?? { notificationId, running: 0, ready: [] };
      target.ready = ready;
      heldBytes += bytesOf(ready);
      targets.set(notificationId, target);
      queue.add(target);
    },
    serve(start) {
      const withoutSlot: Target[] = [];
      // A target that is added again while the loop runs comes up again.
      for (const target of queue) {
        queue.delete(target);
        const { ready } = target;
        if (ready.length === 0) continue;
        if (!slots.hasFree(target)) {
          withoutSlot.push(target);
          continue;
        }
        slots.take(target);
        start(ready.shift() as OutboxEvent, target);
        queue.add(target);
      }
      for (const target of withoutSlot) queue.add(target);
    },
    free(event, target) {
      slots.free(target);
      heldBytes -= bytesOf([event]);
    },
    dropIfIdle(target) {
      if (target.running === 0 && target.ready.length === 0) targets.delete(target.notificationId);
    },
    noteEnd: slots.noteEnd,
    pause(target, pauseMs) {
      pausedUntilMs.set(target.notificationId, Math.max(pausedUntilMs.get(target.notificationId) ?? 0, monotonicMs() + pauseMs));
      forgetReadyOf(target);
    },
    endPauses() {
      for (const [notificationId, untilMs] of pausedUntilMs) if (untilMs <= monotonicMs()) pausedUntilMs.delete(notificationId);
    },
    nextPauseEndMs: () =>
      [...pausedUntilMs.values()].reduce((first, untilMs) => Math.min(first, untilMs - monotonicMs()), Number.POSITIVE_INFINITY),
    forgetReady(isMeant) {
      for (const [notificationId, target] of targets) {
        if (!isMeant(notificationId)) continue;
        forgetReadyOf(target);
        if (target.running === 0) targets.delete(notificationId);
      }
    },
  };
}

function bytesOf(events: readonly OutboxEvent[]): number {
  return events.reduce((sum, { body }) => sum + body.length, 0);
}
