import { setMaxListeners } from 'node:events';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Agent } from 'undici';
import type { OutboxEvent } from '../core/notification/notification.js';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import { ConflictError, type Store } from '../core/ports/store.js';
import { noTelemetry, type Telemetry } from '../core/ports/telemetry.js';
import { deliverEvent, type Settlement } from './deliver-event.js';
import { createDeliveryCounters, type DeliveryCounts } from './delivery-counts.js';
import { createGuardedConnector, type Resolve } from './target-guard.js';

/** What delivery works with. */
export interface DeliveryDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry?: Telemetry;
  /** True: private addresses are dialled. */
  readonly allowPrivateTargets: boolean;
  /** Waiting times before the second, third, ... try; after the last an event is dead. */
  readonly retrySeconds: readonly number[];
  /** For one try as a whole. */
  readonly timeoutMs: number;
  /** Default: the machine's resolver. */
  readonly resolve?: Resolve;
}

/** Delivers the outbox: at least once, in order among events with the same order key. */
export interface Delivery {
  start(): void;
  /** Says that an event was committed; returns at once. */
  wake(): void;
  /** What became of deliveries since the start. */
  counts(): DeliveryCounts;
  /** Events that are to be delivered yet, read from the store; counted up to 100,000. */
  backlog(): Promise<number>;
  /** Takes up nothing new, waits at most `deadlineMs` for what is being posted, then cuts it off; it is posted again after the next start. */
  stop(deadlineMs: number): Promise<void>;
}

/** So many events of one notification are posted at once: a slow receiver takes no more than these places. */
const placesPerNotification = 8;
/** So many events are posted at once: enough for a hundred receivers that hang. */
const places = 1024;
/** So many events of a notification are read at once, to be posted one after another as its places become free. */
const readAhead = 64;
/** The outbox is read at most so often: wakes and ended tries that come in between share one read. */
const readGapMs = 5;
/** Counting more would take the store from others. */
const greatestCount = 100_000;
/** How long a broken store is left alone. */
const storeRetryMs = 1000;
/** The longest a Node timer can run. */
const longestTimerMs = 2 ** 31 - 1;

/** How a try that left its event in this status is counted. */
const outcomeNames = { pending: 'failed', delivered: 'delivered', dead: 'dead' } as const;

/** A notification in the making of its deliveries. */
interface Target {
  readonly notificationId: string;
  /** Its events being tried. */
  underWay: number;
  /**
   * Events read ahead. They stay the oldest of their order keys until they are tried, since only a try or a deletion settles an event, and what was
   * deleted is found out after its try.
   */
  ready: OutboxEvent[];
}

function canTakeMore(target: Target | undefined): boolean {
  return target === undefined || (target.ready.length === 0 && target.underWay < placesPerNotification);
}

/** Makes the delivery; nothing happens before `start`. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { store, clock, log, telemetry = noTelemetry, timeoutMs } = deps;
  const { meter, tracer } = telemetry;
  const dispatcher = new Agent({ connect: createGuardedConnector(deps), headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const closing = new AbortController();
  const cutting = new AbortController();
  // Each place may listen to both.
  setMaxListeners(2 * places, closing.signal, cutting.signal);
  const counters = createDeliveryCounters();
  const eventDeps = { ...deps, dispatcher, counters, tracer, cut: cutting.signal };
  /** Events being tried, by id. */
  const underWay = new Map<string, Promise<void>>();
  /** What each notification has under way and waiting; only those that have any. */
  const targets = new Map<string, Target>();
  /** Events whose try ended since the present read of the outbox began: it may show them as they were before. */
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
        await takeUpDue();
        await pause(readGapMs);
      } catch (error) {
        log.error({ err: error }, 'the outbox cannot be read');
        wanted = true;
        await pause(storeRetryMs);
      }
    }
  }

  async function takeUpDue(): Promise<void> {
    endedSinceRead.clear();
    const nowMs = clock.nowMs();
    // Those that found all places taken.
    for (const target of targets.values()) fill(target);
    const pending = await store.read.pendingTargets(nowMs);
    const hungry = pending.filter(({ notificationId, isDue }) => isDue && canTakeMore(targets.get(notificationId)));
    await Promise.all(
      hungry.map(async ({ notificationId }) => {
        const events = await store.read.dueEvents(notificationId, nowMs, readAhead);
        const ready = events.filter(({ id }) => !underWay.has(id) && !endedSinceRead.has(id));
        if (ready.length === 0) return;
        const target = targets.get(notificationId) ?? { notificationId, underWay: 0, ready: [] };
        target.ready = ready;
        targets.set(notificationId, target);
        fill(target);
      }),
    );
    // What is due already is being tried or will be when a try ends, which wakes us.
    armTimer(pending.flatMap(({ nextAtMs }) => (nextAtMs === undefined ? [] : [nextAtMs])));
  }

  function armTimer(timesMs: readonly number[]): void {
    clearTimeout(timer);
    if (timesMs.length === 0 || closing.signal.aborted) return;
    const waitMs = timesMs.reduce((first, timeMs) => Math.min(first, timeMs)) - clock.nowMs();
    timer = setTimeout(wake, Math.min(Math.max(waitMs, 0), longestTimerMs));
  }

  /** Posts what the target has ready, as far as there are places. */
  function fill(target: Target): void {
    while (target.underWay < placesPerNotification && underWay.size < places && !closing.signal.aborted) {
      const event = target.ready.shift();
      if (event === undefined) break;
      takeUp(event, target);
    }
  }

  function takeUp(event: OutboxEvent, target: Target): void {
    target.underWay += 1;
    const ended = tryAndSettle(event).finally(() => {
      target.underWay -= 1;
      underWay.delete(event.id);
      endedSinceRead.add(event.id);
      fill(target);
      if (target.underWay === 0 && target.ready.length === 0) targets.delete(target.notificationId);
      wake();
    });
    underWay.set(event.id, ended);
  }

  async function tryAndSettle(event: OutboxEvent): Promise<void> {
    try {
      const settlement = await deliverEvent(eventDeps, event);
      if (settlement === undefined) return;
      await settle(settlement);
      count(event, settlement);
    } catch (error) {
      log.error({ err: error, eventId: event.id }, 'a webhook cannot be tried');
      await pause(storeRetryMs);
    }
  }

  function count(event: OutboxEvent, { event: { status }, attempt }: Settlement): void {
    const outcome = outcomeNames[status];
    counters[outcome] += 1;
    meter.webhookTried(outcome, attempt === null ? null : attempt.durationMs / 1000);
    if (outcome === 'delivered') meter.webhookDelivered(Math.max(0, clock.nowMs() - event.createdAtMs) / 1000);
  }

  /** Insists: an outcome that is not stored would be posted again. */
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
        // Deleted meanwhile, with its notification.
        if (error instanceof ConflictError) return;
        log.error({ err: error, eventId: event.id }, 'the outcome of a webhook cannot be stored');
        if (closing.signal.aborted) return;
        await pause(storeRetryMs);
      }
    }
  }

  /** Shorter when we stop. */
  async function pause(ms: number): Promise<void> {
    await elapsed(ms, undefined, { signal: closing.signal }).catch(() => undefined);
  }

  return {
    start(): void {
      started = true;
      wake();
    },
    wake,
    counts: () => ({ ...counters }),
    backlog: () => store.read.pendingEventCount(greatestCount),
    async stop(deadlineMs: number): Promise<void> {
      closing.abort();
      clearTimeout(timer);
      const cut = setTimeout(() => {
        cutting.abort();
        // Ends what is still dialling, too.
        void dispatcher.destroy();
      }, deadlineMs);
      await reading;
      await Promise.all(underWay.values());
      clearTimeout(cut);
      await dispatcher.destroy();
    },
  };
}
