import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent } from 'undici';
import type { Work } from '../core/ports/leases.js';
import { ConflictError } from '../core/ports/store/change.js';
import { noTelemetry, type Telemetry } from '../core/ports/telemetry.js';
import type { OutboxEvent } from '../core/records/notification.js';
import { onAbort, pause } from '../core/work/abort.js';
import { createForwardClock, monotonicMs } from '../core/work/clock.js';
import { repeat } from '../core/work/repeat.js';
import { type DeliverEventDeps, deliverEvent, type Settlement } from './deliver-event.js';
import { createDeliverySlots, maxPosts, type Runner } from './delivery-slots.js';
import { createGuardedConnector, type TargetGuardDeps } from './target-guard.js';

/** The dependencies of the delivery. */
export interface DeliveryDeps
  extends Omit<DeliverEventDeps, 'dispatcher' | 'tracer' | 'cut' | 'dueClock'>,
    Omit<TargetGuardDeps, 'timeoutMs'> {
  readonly telemetry?: Telemetry;
  /** Bounds the memory for the bodies of events that run or were read ahead. */
  readonly maxHeldBytes?: number;
}

/**
 * The notifications are dealt into this many slices, whose deliveries instances share. More would divide the work better, and fewer cost
 * less when an instance starts.
 */
const slices = 16;

/** Delivers the outbox at least once, in order among events with the same order key. */
export interface Delivery {
  /** The work on each slice of the notifications. Nothing is delivered before it begins. */
  readonly works: ReadonlyMap<string, Work>;
  /** Reports that an event was committed; returns at once. */
  wake(): void;
  /** Returns the number of pending events in the store, counted up to 100,000. */
  backlog(): Promise<number>;
  /** Starts no new attempt, and aborts the running ones when the deadline does. Aborted events are posted again after the next start. */
  stop(deadline: AbortSignal): Promise<void>;
}

/** The number of events of a notification read at once and posted as its slots become free. */
const readAhead = 64;
const defaultMaxHeldBytes = 64 * 1024 * 1024;
/** An event may be about as large as a request. */
const assumedEventBytes = 1024 * 1024;
/** The minimum time between two reads of the outbox: wakes and ended attempts in between share one read. */
const readGapMs = 5;
/** Counting more would block other reads. */
const maxBacklogCount = 100_000;
/** The pause after an error of the store. */
const storeRetryMs = 1000;

/** How an attempt is counted, by the status it left its event in. */
const outcomeNames = { pending: 'failed', delivered: 'delivered', dead: 'dead' } as const;

/** A notification with attempts that run or wait for a slot. */
interface Target extends Runner {
  /**
   * Events read ahead. Each stays the oldest of its order key until its attempt, since only an attempt or a deletion settles an event, and
   * the commit after the attempt detects a deletion.
   */
  ready: OutboxEvent[];
}

/** An attempt that runs. */
interface Running {
  readonly notificationId: string;
  /** Another instance has taken over the slice, so the outcome is not stored. */
  isTakenOver: boolean;
  ended: Promise<void>;
}

function bytesOf(events: readonly OutboxEvent[]): number {
  return events.reduce((sum, { body }) => sum + body.length, 0);
}

/** The slice of a notification. Instances of all versions must agree on it. */
function sliceOf(notificationId: string): string {
  return String(createHash('sha256').update(notificationId).digest().readUInt32BE(0) % slices);
}

/** Makes the delivery. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { store, log, telemetry = noTelemetry, timeoutMs, maxHeldBytes = defaultMaxHeldBytes } = deps;
  const dueClock = createForwardClock(deps.clock, monotonicMs);
  const { meter, tracer } = telemetry;
  const dispatcher = new Agent({ connect: createGuardedConnector(deps), headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const closing = new AbortController();
  const cutting = new AbortController();
  // Each running attempt may listen to both.
  setMaxListeners(2 * maxPosts, closing.signal, cutting.signal);
  const eventDeps = { ...deps, dueClock, dispatcher, tracer, cut: cutting.signal };
  /** The slices whose notifications are delivered here. */
  const begun = new Set<string>();
  /** Running attempts by the id of their event. */
  const running = new Map<string, Running>();
  /** The notifications that have running or waiting attempts. */
  const targets = new Map<string, Target>();
  const slots = createDeliverySlots();
  /** The targets with events that wait for a slot; the first is served next. */
  const queue = new Set<Target>();
  /** The size of all bodies that run or were read ahead. */
  let heldBytes = 0;
  /** Until when receivers asked for a pause, in monotonic milliseconds. */
  const pausedUntilMs = new Map<string, number>();
  /** Events whose attempt ended since the current read of the outbox began: the read may show them as they were before. */
  const endedSinceRead = new Set<string>();
  /** Until an event is due, or a receiver's pause ends. */
  let nextReadInMs = Number.POSITIVE_INFINITY;
  const reading = repeat(startDue, () => nextReadInMs, {
    onError: (error) => log.error({ err: error }, 'cannot read the webhook outbox; will retry'),
    runsAtOnce: false,
    gapMs: readGapMs,
    backoffMs: { first: storeRetryMs, longest: storeRetryMs },
  });

  async function startDue(): Promise<void> {
    nextReadInMs = Number.POSITIVE_INFINITY;
    if (begun.size === 0) return;
    endedSinceRead.clear();
    const nowMs = dueClock.nowMs();
    endPauses();
    const pending = (await store.read.pendingTargets(nowMs)).filter(({ notificationId }) => begun.has(sliceOf(notificationId)));
    const dueTargets = pending.filter(({ notificationId, isDue }) => isDue && canTakeMore(notificationId));
    // One after the other, since each shows how much capacity the next one has.
    for (const { notificationId } of dueTargets) {
      const limit = capacityFor(notificationId);
      if (limit === 0) continue;
      const events = await store.read.dueEvents(notificationId, nowMs, limit + runningOf(notificationId));
      if (!begun.has(sliceOf(notificationId))) continue;
      const ready = events.filter(({ id }) => !running.has(id) && !endedSinceRead.has(id)).slice(0, limit);
      if (ready.length === 0) continue;
      const target = targets.get(notificationId) ?? { notificationId, running: 0, ready: [] };
      target.ready = ready;
      heldBytes += bytesOf(ready);
      targets.set(notificationId, target);
      queue.add(target);
    }
    serve();
    // Events that are due already run now, or when an attempt ends, which wakes this loop.
    const eventsMs = pending.flatMap(({ nextAtMs }) => (nextAtMs === undefined ? [] : [nextAtMs - dueClock.nowMs()]));
    const pausesMs = [...pausedUntilMs.values()].map((untilMs) => untilMs - monotonicMs());
    nextReadInMs = [...eventsMs, ...pausesMs].reduce((first, ms) => Math.min(first, ms), Number.POSITIVE_INFINITY);
  }

  function canTakeMore(notificationId: string): boolean {
    const target = targets.get(notificationId);
    return !pausedUntilMs.has(notificationId) && (target === undefined || (target.ready.length === 0 && slots.hasFree(target)));
  }

  function runningOf(notificationId: string): number {
    return targets.get(notificationId)?.running ?? 0;
  }

  /**
   * Returns how many events of a notification may be read now. Receivers that do not answer get one at a time and half of the memory, so
   * that theirs do not fill it.
   */
  function capacityFor(notificationId: string): number {
    const isAnswering = slots.isAnswering(notificationId);
    const freeBytes = (isAnswering ? maxHeldBytes : maxHeldBytes / 2) - heldBytes;
    if (freeBytes <= 0) return 0;
    return isAnswering ? Math.min(readAhead, Math.max(1, Math.floor(freeBytes / assumedEventBytes))) : 1;
  }

  function endPauses(): void {
    for (const [notificationId, untilMs] of pausedUntilMs) if (untilMs <= monotonicMs()) pausedUntilMs.delete(notificationId);
  }

  /** Starts events, one of each target in turn, while slots are free. */
  function serve(): void {
    const withoutSlot: Target[] = [];
    // A target that is added again while the loop runs comes up again.
    for (const target of queue) {
      queue.delete(target);
      if (closing.signal.aborted || target.ready.length === 0) continue;
      if (!slots.hasFree(target)) {
        withoutSlot.push(target);
        continue;
      }
      start(target.ready.shift() as OutboxEvent, target);
      queue.add(target);
    }
    for (const target of withoutSlot) queue.add(target);
  }

  function start(event: OutboxEvent, target: Target): void {
    slots.take(target);
    const { notificationId } = target;
    const attempt: Running = { notificationId, isTakenOver: false, ended: Promise.resolve() };
    running.set(event.id, attempt);
    attempt.ended = attemptAndSettle(event, target, attempt).finally(() => {
      slots.free(target);
      running.delete(event.id);
      heldBytes -= bytesOf([event]);
      endedSinceRead.add(event.id);
      serve();
      if (target.running === 0 && target.ready.length === 0) targets.delete(target.notificationId);
      reading.wake();
    });
  }

  /** The receiver asked not to be called: what was read ahead is read again after the pause. */
  function pauseTarget(target: Target, pauseMs: number): void {
    pausedUntilMs.set(target.notificationId, Math.max(pausedUntilMs.get(target.notificationId) ?? 0, monotonicMs() + pauseMs));
    forgetReady(target);
  }

  function forgetReady(target: Target): void {
    heldBytes -= bytesOf(target.ready);
    target.ready = [];
  }

  /**
   * Starts no further attempt of a slice and resolves when its running attempts have ended, because another instance may begin the same
   * events then. If another instance has begun them already (`isTakenOver`), the running attempts store no outcome and are not awaited:
   * this instance can store nothing until all its work has ended.
   */
  async function endSlice(slice: string, isTakenOver: boolean): Promise<void> {
    begun.delete(slice);
    for (const [notificationId, target] of targets) {
      if (sliceOf(notificationId) !== slice) continue;
      forgetReady(target);
      if (target.running === 0) targets.delete(notificationId);
    }
    const ofSlice = [...running.values()].filter(({ notificationId }) => sliceOf(notificationId) === slice);
    if (isTakenOver) for (const attempt of ofSlice) attempt.isTakenOver = true;
    else await Promise.all(ofSlice.map(({ ended }) => ended));
  }

  async function attemptAndSettle(event: OutboxEvent, target: Target, attempt: Running): Promise<void> {
    try {
      const settlement = await deliverEvent(eventDeps, event);
      if (settlement === undefined) return;
      slots.noteEnd(target, settlement.attempt?.httpStatus !== null);
      if (settlement.pauseMs > 0) pauseTarget(target, settlement.pauseMs);
      await settle(settlement, event, attempt);
      count(event, settlement);
    } catch (error) {
      log.error({ err: error, eventId: event.id }, 'cannot attempt a webhook delivery; will retry');
      await pause(storeRetryMs, closing.signal);
    }
  }

  function count(event: OutboxEvent, { event: { status }, attempt }: Settlement): void {
    const outcome = outcomeNames[status];
    meter.webhookTried(outcome, attempt === null ? null : attempt.durationMs / 1000);
    if (outcome === 'delivered') meter.webhookDelivered(Math.max(0, deps.clock.nowMs() - event.createdAtMs) / 1000);
  }

  /**
   * Retries until the outcome is stored: without it, the event would be posted again. If another instance takes over its slice first, or
   * the work on it ends, it is.
   */
  async function settle(
    { event, attempt, gone }: Settlement,
    { attempts: attemptsBefore, notificationId }: OutboxEvent,
    run: Running,
  ): Promise<void> {
    const changes = [
      // A redelivery that was requested during the attempt has begun a new schedule, which only a success may end.
      store.change.updateEvent(event, event.status === 'delivered' ? null : attemptsBefore),
      ...(attempt === null ? [] : [store.change.insertDeliveryAttempt(event.id, attempt)]),
      ...(gone === null ? [] : [store.change.markNotificationGone(gone, event.nextAttemptAtMs)]),
    ];
    while (!run.isTakenOver) {
      try {
        await store.commit(changes);
        return;
      } catch (error) {
        // The event was deleted with its notification, or is delivered again.
        if (error instanceof ConflictError) return;
        log.error({ err: error, eventId: event.id }, 'cannot store the outcome of a webhook delivery; will retry');
        if (closing.signal.aborted || !begun.has(sliceOf(notificationId))) return;
        await pause(storeRetryMs, closing.signal);
      }
    }
  }

  return {
    works: new Map(
      Array.from({ length: slices }, (_, index) => {
        const slice = String(index);
        const begin = async () => {
          begun.add(slice);
          reading.wake();
        };
        return [slice, { begin, end: (isTakenOver = false) => endSlice(slice, isTakenOver) }];
      }),
    ),
    wake: reading.wake,
    backlog: () => store.read.pendingEventCount(maxBacklogCount),
    async stop(deadline: AbortSignal): Promise<void> {
      closing.abort();
      onAbort(deadline, () => {
        cutting.abort();
        // Also ends requests that are still connecting.
        void dispatcher.destroy();
      });
      await reading.stop();
      await Promise.all([...running.values()].map(({ ended }) => ended));
      await dispatcher.destroy();
    },
  };
}
