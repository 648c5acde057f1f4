import { setMaxListeners } from 'node:events';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Agent } from 'undici';
import type { OutboxEvent } from '../core/notification/notification.js';
import { ConflictError } from '../core/ports/store.js';
import { noTelemetry, type Telemetry } from '../core/ports/telemetry.js';
import { type DeliverEventDeps, deliverEvent, type Settlement } from './deliver-event.js';
import { createGuardedConnector, type TargetGuardDeps } from './target-guard.js';

/** The dependencies of the delivery. */
export interface DeliveryDeps extends Omit<DeliverEventDeps, 'dispatcher' | 'tracer' | 'cut'>, Omit<TargetGuardDeps, 'timeoutMs'> {
  readonly telemetry?: Telemetry;
}

/** Delivers the outbox at least once, in order among events with the same order key. */
export interface Delivery {
  start(): void;
  /** Reports that an event was committed; returns at once. */
  wake(): void;
  /** Returns the number of pending events in the store, counted up to 100,000. */
  backlog(): Promise<number>;
  /** Starts no new attempt, and aborts the running ones when the deadline does. Aborted events are posted again after the next start. */
  stop(deadline: AbortSignal): Promise<void>;
}

/** The number of events of one notification posted at once: a slow receiver blocks no more than these slots. */
const slotsPerNotification = 8;
/** The number of events posted at once: enough for a hundred receivers that hang. */
const maxPosts = 1024;
/** The number of events of a notification read at once and posted as its slots become free. */
const readAhead = 64;
/** The minimum time between two reads of the outbox: wakes and ended attempts in between share one read. */
const readGapMs = 5;
/** Counting more would block other reads. */
const maxBacklogCount = 100_000;
/** The pause after an error of the store. */
const storeRetryMs = 1000;
/** The maximum delay of a Node timer. */
const longestTimerMs = 2 ** 31 - 1;

/** How an attempt is counted, by the status it left its event in. */
const outcomeNames = { pending: 'failed', delivered: 'delivered', dead: 'dead' } as const;

/** A notification with attempts that run or wait for a slot. */
interface Target {
  readonly notificationId: string;
  /** The number of its running attempts. */
  running: number;
  /**
   * Events read ahead. Each stays the oldest of its order key until its attempt, since only an attempt or a deletion settles an event, and the
   * commit after the attempt detects a deletion.
   */
  ready: OutboxEvent[];
}

function canTakeMore(target: Target | undefined): boolean {
  return target === undefined || (target.ready.length === 0 && target.running < slotsPerNotification);
}

/** Makes the delivery, which does nothing before `start`. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { store, clock, log, telemetry = noTelemetry, timeoutMs } = deps;
  const { meter, tracer } = telemetry;
  const dispatcher = new Agent({ connect: createGuardedConnector(deps), headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const closing = new AbortController();
  const cutting = new AbortController();
  // Each running attempt may listen to both.
  setMaxListeners(2 * maxPosts, closing.signal, cutting.signal);
  const eventDeps = { ...deps, dispatcher, tracer, cut: cutting.signal };
  /** Running attempts by the id of their event. */
  const running = new Map<string, Promise<void>>();
  /** The notifications that have running or waiting attempts. */
  const targets = new Map<string, Target>();
  /** Events whose attempt ended since the current read of the outbox began: the read may show them as they were before. */
  const endedSinceRead = new Set<string>();
  let started = false;
  let wanted = false;
  let reading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    wanted = true;
    if (!started || reading !== undefined || closing.signal.aborted) return;
    reading = readWhileWanted().finally(() => {
      reading = undefined;
      if (wanted) wake();
    });
  }

  async function readWhileWanted(): Promise<void> {
    while (wanted && !closing.signal.aborted) {
      wanted = false;
      try {
        await startDue();
        await pause(readGapMs);
      } catch (error) {
        log.error({ err: error }, 'cannot read the webhook outbox; will retry');
        wanted = true;
        await pause(storeRetryMs);
      }
    }
  }

  async function startDue(): Promise<void> {
    endedSinceRead.clear();
    const nowMs = clock.nowMs();
    // These found no free slot before.
    for (const target of targets.values()) fill(target);
    const pending = await store.read.pendingTargets(nowMs);
    const dueTargets = pending.filter(({ notificationId, isDue }) => isDue && canTakeMore(targets.get(notificationId)));
    await Promise.all(
      dueTargets.map(async ({ notificationId }) => {
        const events = await store.read.dueEvents(notificationId, nowMs, readAhead);
        const ready = events.filter(({ id }) => !running.has(id) && !endedSinceRead.has(id));
        if (ready.length === 0) return;
        const target = targets.get(notificationId) ?? { notificationId, running: 0, ready: [] };
        target.ready = ready;
        targets.set(notificationId, target);
        fill(target);
      }),
    );
    // Events that are due already run now, or when an attempt ends, which wakes this loop.
    armTimer(pending.flatMap(({ nextAtMs }) => (nextAtMs === undefined ? [] : [nextAtMs])));
  }

  function armTimer(timesMs: readonly number[]): void {
    clearTimeout(timer);
    if (timesMs.length === 0 || closing.signal.aborted) return;
    const waitMs = timesMs.reduce((first, timeMs) => Math.min(first, timeMs)) - clock.nowMs();
    timer = setTimeout(wake, Math.min(Math.max(waitMs, 0), longestTimerMs));
  }

  /** Starts the ready events of a target while slots are free. */
  function fill(target: Target): void {
    while (target.running < slotsPerNotification && running.size < maxPosts && !closing.signal.aborted) {
      const event = target.ready.shift();
      if (event === undefined) break;
      start(event, target);
    }
  }

  function start(event: OutboxEvent, target: Target): void {
    target.running += 1;
    const ended = attemptAndSettle(event).finally(() => {
      target.running -= 1;
      running.delete(event.id);
      endedSinceRead.add(event.id);
      fill(target);
      if (target.running === 0 && target.ready.length === 0) targets.delete(target.notificationId);
      wake();
    });
    running.set(event.id, ended);
  }

  async function attemptAndSettle(event: OutboxEvent): Promise<void> {
    try {
      const settlement = await deliverEvent(eventDeps, event);
      if (settlement === undefined) return;
      await settle(settlement);
      count(event, settlement);
    } catch (error) {
      log.error({ err: error, eventId: event.id }, 'cannot attempt a webhook delivery; will retry');
      await pause(storeRetryMs);
    }
  }

  function count(event: OutboxEvent, { event: { status }, attempt }: Settlement): void {
    const outcome = outcomeNames[status];
    meter.webhookTried(outcome, attempt === null ? null : attempt.durationMs / 1000);
    if (outcome === 'delivered') meter.webhookDelivered(Math.max(0, clock.nowMs() - event.createdAtMs) / 1000);
  }

  /** Retries until the outcome is stored: without it, the event would be posted again. */
  async function settle({ event, attempt, gone }: Settlement): Promise<void> {
    const changes = [
      store.change.updateEvent(event),
      ...(attempt === null ? [] : [store.change.insertDeliveryAttempt(event.id, attempt)]),
      ...(gone === null ? [] : [store.change.markNotificationGone(gone, event.nextAttemptAtMs)]),
    ];
    for (;;) {
      try {
        await store.commit(changes);
        return;
      } catch (error) {
        // The event was deleted with its notification.
        if (error instanceof ConflictError) return;
        log.error({ err: error, eventId: event.id }, 'cannot store the outcome of a webhook delivery; will retry');
        if (closing.signal.aborted) return;
        await pause(storeRetryMs);
      }
    }
  }

  /** Ends early when the delivery stops. */
  async function pause(ms: number): Promise<void> {
    await elapsed(ms, undefined, { signal: closing.signal }).catch(() => undefined);
  }

  return {
    start(): void {
      started = true;
      wake();
    },
    wake,
    backlog: () => store.read.pendingEventCount(maxBacklogCount),
    async stop(deadline: AbortSignal): Promise<void> {
      closing.abort();
      clearTimeout(timer);
      const cut = () => {
        cutting.abort();
        // Also ends requests that are still connecting.
        void dispatcher.destroy();
      };
      deadline.addEventListener('abort', cut, { once: true });
      if (deadline.aborted) cut();
      await reading;
      await Promise.all(running.values());
      await dispatcher.destroy();
    },
  };
}
