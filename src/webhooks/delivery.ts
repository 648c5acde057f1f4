import { setMaxListeners } from 'node:events';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Agent } from 'undici';
import type { OutboxEvent } from '../core/notification/notification.js';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import { ConflictError, type Store } from '../core/ports/store.js';
import { deliverEvent, type Settlement } from './deliver-event.js';
import { createGuardedConnector, type Resolve } from './target-guard.js';

/** What delivery works with. */
export interface DeliveryDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
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
  /** Takes up nothing new, waits at most `deadlineMs` for what is being posted, then cuts it off; it is posted again after the next start. */
  stop(deadlineMs: number): Promise<void>;
}

/** So many events of one notification are posted at once: a slow receiver takes no more than these places. */
const placesPerNotification = 8;
/** So many events are posted at once. */
const places = 128;
/** The outbox is read at most so often: wakes and ended tries that come in between share one read. */
const readGapMs = 5;
/** How long a broken store is left alone. */
const storeRetryMs = 1000;
/** How late the first try of an event can be when it is hidden behind those under way. */
const hiddenRetryMs = 1000;
/** The longest a Node timer can run. */
const longestTimerMs = 2 ** 31 - 1;

/** Makes the delivery; nothing happens before `start`. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { store, clock, log, timeoutMs } = deps;
  const dispatcher = new Agent({ connect: createGuardedConnector(deps), headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const closing = new AbortController();
  const cutting = new AbortController();
  // Each place may listen to both.
  setMaxListeners(2 * places, closing.signal, cutting.signal);
  const eventDeps = { ...deps, dispatcher, cut: cutting.signal };
  /** Events being tried, by id. */
  const underWay = new Map<string, Promise<void>>();
  /** How many of them each notification has; only those that have any. */
  const taken = new Map<string, number>();
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
    // The next try that ends wakes us again.
    if (underWay.size >= places) return;
    endedSinceRead.clear();
    const nowMs = clock.nowMs();
    const passOver = [...taken.keys()].filter(isFull);
    const events = await store.read.dueEvents(nowMs, places, passOver);
    for (const event of events) {
      if (underWay.size >= places || closing.signal.aborted) return;
      if (!underWay.has(event.id) && !endedSinceRead.has(event.id) && !isFull(event.notificationId)) takeUp(event);
    }
    // A backlog may have filled the answer and hidden the events of others; its notification is full now, so the next read passes it over.
    if (events.length >= places && [...taken.keys()].filter(isFull).length > passOver.length) wanted = true;
    armTimer(nowMs, await store.read.nextEventAtMs());
  }

  function armTimer(readAtMs: number, nextMs: number | undefined): void {
    clearTimeout(timer);
    if (nextMs === undefined || closing.signal.aborted) return;
    // What was due already is being tried, or its notification is full. It hides when the next one is due, so we look again a little later.
    const waitMs = nextMs > readAtMs ? nextMs - clock.nowMs() : hiddenRetryMs;
    timer = setTimeout(wake, Math.min(Math.max(waitMs, 0), longestTimerMs));
  }

  function isFull(notificationId: string): boolean {
    return (taken.get(notificationId) ?? 0) >= placesPerNotification;
  }

  function takeUp(event: OutboxEvent): void {
    const { id, notificationId } = event;
    taken.set(notificationId, (taken.get(notificationId) ?? 0) + 1);
    const ended = tryAndSettle(event).finally(() => {
      const left = (taken.get(notificationId) ?? 0) - 1;
      if (left > 0) taken.set(notificationId, left);
      else taken.delete(notificationId);
      underWay.delete(id);
      endedSinceRead.add(id);
      wake();
    });
    underWay.set(id, ended);
  }

  async function tryAndSettle(event: OutboxEvent): Promise<void> {
    try {
      const settlement = await deliverEvent(eventDeps, event);
      if (settlement !== undefined) await settle(settlement);
    } catch (error) {
      log.error({ err: error, eventId: event.id }, 'a webhook cannot be tried');
      await pause(storeRetryMs);
    }
  }

  /** Insists: an outcome that is not stored would be posted again. */
  async function settle(settlement: Settlement): Promise<void> {
    for (;;) {
      try {
        await store.commit([store.change.updateEvent(settlement)]);
        return;
      } catch (error) {
        // Deleted meanwhile, with its notification.
        if (error instanceof ConflictError) return;
        log.error({ err: error, eventId: settlement.id }, 'the outcome of a webhook cannot be stored');
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
