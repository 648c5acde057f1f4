import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent } from 'undici';
import type { Work } from '../core/ports/leases.js';
import { ConflictError } from '../core/ports/store/change.js';
import { type Meter, noTelemetry, type Telemetry } from '../core/ports/telemetry.js';
import type { OutboxEvent } from '../core/records/notification.js';
import { onAbort, pause } from '../core/work/abort.js';
import { createForwardClock, monotonicMs } from '../core/work/clock.js';
import { repeat } from '../core/work/repeat.js';
import { type DeliverEventDeps, deliverEvent, type Settlement } from './deliver-event.js';
import { maxPosts } from './delivery-slots.js';
import { createDeliveryTargets, type Target } from './delivery-targets.js';
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

const defaultMaxHeldBytes = 64 * 1024 * 1024;
/** The minimum time between two reads of the outbox: wakes and ended attempts in between share one read. */
const readGapMs = 5;
/** Counting more would block other reads. */
const maxBacklogCount = 100_000;
/** The pause after an error of the store. */
const storeRetryMs = 1000;

/** How an attempt is counted, by the status it left its event in. */
const outcomeNames = { pending: 'failed', delivered: 'delivered', dead: 'dead' } as const;

/** An attempt that runs. */
interface Running {
  readonly notificationId: string;
  /** Another instance has taken over the slice, so the outcome is not stored. */
  isTakenOver: boolean;
  ended: Promise<void>;
}

/** The slice of a notification. Instances of all versions must agree on it. */
function sliceOf(notificationId: string): string {
  return String(createHash('sha256').update(notificationId).digest().readUInt32BE(0) % slices);
}

function count(meter: Meter, { createdAtMs }: OutboxEvent, { event: { status }, attempt }: Settlement, nowMs: number): void {
  const outcome = outcomeNames[status];
  meter.webhookTried(outcome, attempt === null ? null : attempt.durationMs / 1000);
  if (outcome === 'delivered') meter.webhookDelivered(Math.max(0, nowMs - createdAtMs) / 1000);
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
  const targets = createDeliveryTargets(maxHeldBytes);
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
    targets.endPauses();
    const pending = (await store.read.pendingTargets(nowMs)).filter(({ notificationId }) => begun.has(sliceOf(notificationId)));
    const dueTargets = pending.filter(({ notificationId, isDue }) => isDue && targets.canTakeMore(notificationId));
    // One after the other, since each shows how much capacity the next one has.
    for (const { notificationId } of dueTargets) {
      const limit = targets.capacityFor(notificationId);
      if (limit === 0) continue;
      const events = await store.read.dueEvents(notificationId, nowMs, limit + targets.runningOf(notificationId));
      if (!begun.has(sliceOf(notificationId))) continue;
      const ready = events.filter(({ id }) => !running.has(id) && !endedSinceRead.has(id)).slice(0, limit);
      if (ready.length > 0) targets.add(notificationId, ready);
    }
    serve();
    // Events that are due already run now, or when an attempt ends, which wakes this loop.
    const eventsMs = pending.flatMap(({ nextAtMs }) => (nextAtMs === undefined ? [] : [nextAtMs - dueClock.nowMs()]));
    nextReadInMs = eventsMs.reduce((first, ms) => Math.min(first, ms), targets.nextPauseEndMs());
  }

  function serve(): void {
    if (!closing.signal.aborted) targets.serve(start);
  }

  function start(event: OutboxEvent, target: Target): void {
    const { notificationId } = target;
    const attempt: Running = { notificationId, isTakenOver: false, ended: Promise.resolve() };
    running.set(event.id, attempt);
    attempt.ended = attemptAndSettle(event, target, attempt).finally(() => {
      targets.free(event, target);
      running.delete(event.id);
      endedSinceRead.add(event.id);
      serve();
      targets.dropIfIdle(target);
      reading.wake();
    });
  }

  /**
   * Starts no further attempt of a slice and resolves when its running attempts have ended, because another instance may begin the same
   * events then. If another instance has begun them already (`isTakenOver`), the running attempts store no outcome and are not awaited:
   * this instance can store nothing until all its work has ended.
   */
  async function endSlice(slice: string, isTakenOver: boolean): Promise<void> {
    begun.delete(slice);
    targets.forgetReady((notificationId) => sliceOf(notificationId) === slice);
    const ofSlice = [...running.values()].filter(({ notificationId }) => sliceOf(notificationId) === slice);
    if (isTakenOver) for (const attempt of ofSlice) attempt.isTakenOver = true;
    else await Promise.all(ofSlice.map(({ ended }) => ended));
  }

  async function attemptAndSettle(event: OutboxEvent, target: Target, attempt: Running): Promise<void> {
    try {
      const settlement = await deliverEvent(eventDeps, event);
      if (settlement === undefined) return;
      targets.noteEnd(target, settlement.attempt?.httpStatus !== null);
      if (settlement.pauseMs > 0) targets.pause(target, settlement.pauseMs);
      await settle(settlement, event, attempt);
      count(meter, event, settlement, deps.clock.nowMs());
    } catch (error) {
      log.error({ err: error, eventId: event.id }, 'cannot attempt a webhook delivery; will retry');
      await pause(storeRetryMs, closing.signal);
    }
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
