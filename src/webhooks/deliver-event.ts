import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import { cosigningKeys, signingKeyPurpose } from '../core/notification/signing-key.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { NotificationChanges, NotificationReads } from '../core/ports/store/notifications.js';
import type { OutboxChanges, OutboxReads } from '../core/ports/store/outbox.js';
import type { StoreFor } from '../core/ports/store/store.js';
import type { SpanFacts, Tracer } from '../core/ports/telemetry.js';
import type { DeliveryAttempt, Notification, OutboxEvent } from '../core/records/notification.js';
import type { Clock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { retryAfterMs } from '../core/work/retry-after.js';
import { type PostOutcome, post } from './post.js';
import { signatureHeaders } from './sign-delivery.js';

/** The dependencies of one delivery attempt. */
export interface DeliverEventDeps {
  readonly store: StoreFor<NotificationReads & OutboxReads, NotificationChanges & OutboxChanges>;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  /** The time by which attempts are scheduled. */
  readonly dueClock: Clock;
  readonly log: Log;
  /** The delays after the first, second, ... attempt; after the last attempt an event is dead. */
  readonly retrySeconds: readonly number[];
  /** The time limit of one attempt. */
  readonly timeoutMs: number;
  readonly dispatcher: Dispatcher;
  readonly tracer: Tracer;
  /** Aborts the running request: its outcome is unknown, and the event is attempted again after the next start. */
  readonly cut: AbortSignal;
}

/** The changes to store after an attempt, in one commit. */
export interface Settlement {
  readonly event: Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>;
  /** Null if the notification was deleted, so nothing was attempted. */
  readonly attempt: DeliveryAttempt | null;
  /** The notification as it was read before the attempt, if the receiver answered 410 (gone); else null. */
  readonly gone: Notification | null;
  /** How long the receiver asked not to be called at all; 0: not. */
  readonly pauseMs: number;
}

/** The outcome of an attempt. Withheld: the receiver answered 410 Gone before, so no request was made. */
type AttemptOutcome = PostOutcome | { readonly kind: 'withheld'; readonly error: string };

const goneStatus = 410;
/** With `Retry-After`, these concern the receiver, not one event. */
const busyStatuses: ReadonlySet<number> = new Set([429, 503]);
/** A receiver may delay the next attempt beyond the schedule, by at most a day. */
const longestRetryMs = 24 * 60 * 60 * 1000;

/**
 * Attempts to deliver an event once. Returns undefined if the attempt was cut off and nothing must be stored. Throws if the store fails.
 */
export async function deliverEvent(deps: DeliverEventDeps, event: OutboxEvent): Promise<Settlement | undefined> {
  const { store, clock, cut, log } = deps;
  const attemptedAtMs = clock.nowMs();
  const notification = await store.read.notification(event.notificationId);
  if (notification === undefined) {
    log.info({ eventId: event.id, notificationId: event.notificationId }, 'webhook dropped: its notification was deleted');
    return {
      event: { id: event.id, status: 'dead', attempts: event.attempts, nextAttemptAtMs: attemptedAtMs },
      attempt: null,
      gone: null,
      pauseMs: 0,
    };
  }
  const begunMs = performance.now();
  const outcome = await attempt(deps, event, notification);
  const durationMs = Math.round(performance.now() - begunMs);
  if (cut.aborted && outcome.kind !== 'answered') return undefined;
  const settled = settledEvent(deps, event, outcome);
  logAttempt(log, event, notification, outcome, settled);
  return {
    event: settled,
    attempt: { attemptedAtMs, durationMs, ...recordOf(outcome) },
    gone: outcome.kind === 'answered' && outcome.httpStatus === goneStatus ? notification : null,
    pauseMs:
      outcome.kind === 'answered' && busyStatuses.has(outcome.httpStatus)
        ? (retryAfterMs(outcome.retryAfter, clock.nowMs(), longestRetryMs) ?? 0)
        : 0,
  };
}

async function attempt(deps: DeliverEventDeps, event: OutboxEvent, notification: Notification): Promise<AttemptOutcome> {
  const { clock, dispatcher, timeoutMs, cut, tracer } = deps;
  const { goneAtMs } = notification;
  if (goneAtMs !== null) {
    const since = new Date(goneAtMs).toISOString();
    return {
      kind: 'withheld',
      error: `not sent: the receiver answered 410 (gone) at ${since}; update the notification to resume its deliveries`,
    };
  }
  const timestampSeconds = Math.floor(clock.nowMs() / 1000);
  const body = Buffer.from(event.body, 'utf8');
  let signature: Record<string, string>;
  try {
    signature = signatureHeaders({ id: event.id, body, timestampSeconds, ...openedKeys(deps, notification) });
  } catch {
    // Without the signature, a receiver could not distinguish this event from a forged one.
    return {
      kind: 'unanswered',
      error: 'not sent: STORAGE_ENCRYPTION_KEY cannot decrypt the stored signing key; start the service with the key that encrypted it',
    };
  }
  const { traceParent } = event;
  const span = traceParent === null ? null : tracer.begin('webhook', { kind: 'client', parent: traceParent, facts: factsOf(event) });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'relayer-service',
    ...(traceParent === null ? {} : { traceparent: span?.traceParent ?? traceParent }),
    ...signature,
  };
  const outcome = await post(dispatcher, { url: notification.url, headers, body, timeoutMs, signal: cut });
  if (outcome.kind === 'answered')
    span?.end(isSuccess(outcome) ? null : errorOf(outcome.httpStatus), { 'http.response.status_code': outcome.httpStatus });
  else span?.end(outcome.error);
  return outcome;
}

function factsOf({ id, notificationId, orderKey, attempts }: OutboxEvent): SpanFacts {
  return { 'event.id': id, 'notification.id': notificationId, 'transaction.id': orderKey, try: attempts + 1 };
}

function openedKeys(
  { secretBox, clock }: DeliverEventDeps,
  { id, sealedSigningKey, retiredKeys }: Notification,
): { signingKey: string | null; retiredKeys: string[] } {
  const open = (sealed: string) => secretBox.open(sealed, signingKeyPurpose(id));
  if (sealedSigningKey === null) return { signingKey: null, retiredKeys: [] };
  const retired = cosigningKeys(retiredKeys, clock.nowMs());
  return { signingKey: open(sealedSigningKey), retiredKeys: retired.map((key) => open(key.sealedSigningKey)) };
}

function settledEvent({ dueClock, retrySeconds }: DeliverEventDeps, event: OutboxEvent, outcome: AttemptOutcome): Settlement['event'] {
  const nowMs = dueClock.nowMs();
  const attempts = event.attempts + 1;
  const ended = { id: event.id, attempts, nextAttemptAtMs: nowMs };
  if (isSuccess(outcome)) return { ...ended, status: 'delivered' };
  // A reserved address is not permanent: one bad answer of a resolver must not end an event.
  const isPermanent = outcome.kind === 'answered' ? outcome.httpStatus === goneStatus : outcome.kind === 'withheld';
  if (isPermanent) return { ...ended, status: 'dead' };
  const retryAfter = outcome.kind === 'answered' ? outcome.retryAfter : undefined;
  const nextAttemptAtMs = nextAttemptMs({ attempts, retrySeconds, retryAfter, nowMs, random: Math.random() });
  return nextAttemptAtMs === undefined ? { ...ended, status: 'dead' } : { ...ended, status: 'pending', nextAttemptAtMs };
}

function isSuccess(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299;
}

function recordOf(outcome: AttemptOutcome): Pick<DeliveryAttempt, 'httpStatus' | 'error' | 'responseBody'> {
  if (outcome.kind !== 'answered') return { httpStatus: null, error: outcome.error, responseBody: null };
  const { httpStatus, excerpt } = outcome;
  return { httpStatus, error: isSuccess(outcome) ? null : errorOf(httpStatus), responseBody: excerpt };
}

function errorOf(httpStatus: number): string {
  if (httpStatus === goneStatus) return 'the receiver answered 410 (gone); nothing more is sent until the notification is updated';
  if (httpStatus >= 300 && httpStatus <= 399) return `the receiver answered ${httpStatus}; the service does not follow redirects`;
  return `the receiver answered ${httpStatus}`;
}

function logAttempt(log: Log, event: OutboxEvent, notification: Notification, outcome: AttemptOutcome, settled: Settlement['event']): void {
  const fields = {
    eventId: event.id,
    event: event.event,
    notificationId: notification.id,
    orderKey: event.orderKey,
    // Only the host: the path or the query of the URL is often a secret.
    host: new URL(notification.url).host,
    attempt: settled.attempts,
    ...outcome,
  };
  if (settled.status === 'delivered') log.debug(fields, 'webhook delivered');
  // The 410 answer was logged already.
  else if (outcome.kind === 'withheld') log.debug(fields, 'webhook failed; no more delivery attempts');
  else if (settled.status === 'dead') log.warn(fields, 'webhook failed; no more delivery attempts');
  else log.info({ ...fields, nextAttemptAt: new Date(settled.nextAttemptAtMs).toISOString() }, 'webhook failed; will retry');
}

/** The inputs of the time of the next attempt. */
export interface FailedAttempt {
  /** The number of attempts, including the failed one. */
  readonly attempts: number;
  readonly retrySeconds: readonly number[];
  /** The receiver's `Retry-After` header: seconds, or an HTTP date. */
  readonly retryAfter: string | undefined;
  readonly nowMs: number;
  /** At least 0, below 1. Spreads the retries of events that failed together. */
  readonly random: number;
}

/** Returns the scheduled time give or take 10 %, or later if the receiver asks for it; undefined after the last attempt. */
export function nextAttemptMs({ attempts, retrySeconds, retryAfter, nowMs, random }: FailedAttempt): number | undefined {
  const seconds = retrySeconds[attempts - 1];
  if (seconds === undefined) return undefined;
  const scheduledMs = seconds * 1000 * (0.9 + 0.2 * random);
  return nowMs + Math.round(Math.max(scheduledMs, retryAfterMs(retryAfter, nowMs, longestRetryMs) ?? 0));
}
