import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import { cosigningKeys } from '../core/notification/cosigning-keys.js';
import type { DeliveryAttempt, Notification, OutboxEvent } from '../core/notification/notification.js';
import { signingKeyPurpose } from '../core/notification/signing-key-purpose.js';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Store } from '../core/ports/store.js';
import type { SpanFacts, Tracer } from '../core/ports/tracer.js';
import type { DeliveryCounters } from './delivery-counts.js';
import { type PostOutcome, post } from './post.js';
import { nextTryAtMs } from './retry-schedule.js';
import { signatureHeaders } from './sign-delivery.js';

/** What delivering one event works with. */
export interface DeliverEventDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  readonly retrySeconds: readonly number[];
  readonly timeoutMs: number;
  readonly dispatcher: Dispatcher;
  readonly counters: Pick<DeliveryCounters, 'posts'>;
  readonly tracer: Tracer;
  /** Ends what is being posted: its outcome is unknown, and it is tried again after the next start. */
  readonly cut: AbortSignal;
}

/** What is to be stored of an event after a try, in one commit. */
export interface Settlement {
  readonly event: Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>;
  /** Null: there was nothing to try it with. */
  readonly attempt: DeliveryAttempt | null;
  /** The notification whose receiver turned out to be gone, as it was when it was dialled; else null. */
  readonly gone: Notification | null;
}

/** What became of a try. Withheld: the receiver said before that it is gone, so nothing was dialled. */
type TryOutcome = PostOutcome | { readonly kind: 'withheld'; readonly sentence: string };

const goneStatus = 410;

/** Tries to deliver an event. Undefined: cut off, nothing is to be stored. Throws when the store is broken. */
export async function deliverEvent(deps: DeliverEventDeps, event: OutboxEvent): Promise<Settlement | undefined> {
  const { store, clock, cut, log } = deps;
  const attemptedAtMs = clock.nowMs();
  const notification = await store.read.notification(event.notificationId);
  if (notification === undefined) {
    log.info({ eventId: event.id, notificationId: event.notificationId }, 'webhook given up: its notification was deleted');
    return {
      event: { id: event.id, status: 'dead', attempts: event.attempts, nextAttemptAtMs: attemptedAtMs },
      attempt: null,
      gone: null,
    };
  }
  const begunMs = performance.now();
  const outcome = await tryToPost(deps, event, notification);
  const durationMs = Math.round(performance.now() - begunMs);
  if (cut.aborted && outcome.kind !== 'answered') return undefined;
  const settled = settledEvent(deps, event, outcome);
  tell(log, event, notification, outcome, settled);
  return {
    event: settled,
    attempt: { attemptedAtMs, durationMs, ...recordOf(outcome) },
    gone: outcome.kind === 'answered' && outcome.httpStatus === goneStatus ? notification : null,
  };
}

async function tryToPost(deps: DeliverEventDeps, event: OutboxEvent, notification: Notification): Promise<TryOutcome> {
  const { clock, dispatcher, timeoutMs, cut, counters, tracer } = deps;
  const { goneAtMs } = notification;
  if (goneAtMs !== null) {
    const since = new Date(goneAtMs).toISOString();
    return {
      kind: 'withheld',
      sentence: `not sent: the receiver answered 410 (gone) at ${since}; update the notification to deliver to it again`,
    };
  }
  const timestampSeconds = Math.floor(clock.nowMs() / 1000);
  const body = Buffer.from(event.body, 'utf8');
  let signature: Record<string, string>;
  try {
    signature = signatureHeaders({ id: event.id, body, timestampSeconds, ...openedKeys(deps, notification) });
  } catch {
    // Sent without its signature, a receiver could not tell it from a forged one.
    return {
      kind: 'unanswered',
      sentence: 'not sent: the stored signing key cannot be decrypted; is STORAGE_ENCRYPTION_KEY the one it was stored with?',
    };
  }
  counters.posts += 1;
  const { traceParent } = event;
  const step = traceParent === null ? null : tracer.begin('webhook', { kind: 'client', parent: traceParent, facts: factsOf(event) });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'relayer-service',
    ...(traceParent === null ? {} : { traceparent: step?.traceParent ?? traceParent }),
    ...signature,
  };
  const outcome = await post(dispatcher, { url: notification.url, headers, body, timeoutMs, signal: cut });
  if (outcome.kind === 'answered')
    step?.end(isSuccess(outcome) ? null : errorSentence(outcome.httpStatus), { 'http.response.status_code': outcome.httpStatus });
  else step?.end(outcome.sentence);
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

function settledEvent({ clock, retrySeconds }: DeliverEventDeps, event: OutboxEvent, outcome: TryOutcome): Settlement['event'] {
  const nowMs = clock.nowMs();
  const attempts = event.attempts + 1;
  const ended = { id: event.id, attempts, nextAttemptAtMs: nowMs };
  if (isSuccess(outcome)) return { ...ended, status: 'delivered' };
  // 410: the receiver is gone for good. Refused: the same address would be refused again.
  const isHopeless = outcome.kind === 'answered' ? outcome.httpStatus === goneStatus : outcome.kind !== 'unanswered';
  if (isHopeless) return { ...ended, status: 'dead' };
  const retryAfter = outcome.kind === 'answered' ? outcome.retryAfter : undefined;
  const nextAttemptAtMs = nextTryAtMs({ attempts, retrySeconds, retryAfter, nowMs, random: Math.random() });
  return nextAttemptAtMs === undefined ? { ...ended, status: 'dead' } : { ...ended, status: 'pending', nextAttemptAtMs };
}

function isSuccess(outcome: TryOutcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299;
}

function recordOf(outcome: TryOutcome): Pick<DeliveryAttempt, 'httpStatus' | 'error' | 'responseBody'> {
  if (outcome.kind !== 'answered') return { httpStatus: null, error: outcome.sentence, responseBody: null };
  const { httpStatus, excerpt } = outcome;
  return { httpStatus, error: isSuccess(outcome) ? null : errorSentence(httpStatus), responseBody: excerpt };
}

function errorSentence(httpStatus: number): string {
  if (httpStatus === goneStatus) return 'the receiver answered 410 (gone): nothing more is sent until the notification is updated';
  if (httpStatus >= 300 && httpStatus <= 399) return `the receiver answered ${httpStatus}; redirects are not followed`;
  return `the receiver answered ${httpStatus}`;
}

function tell(log: Log, event: OutboxEvent, notification: Notification, outcome: TryOutcome, settled: Settlement['event']): void {
  const fields = {
    eventId: event.id,
    event: event.event,
    notificationId: notification.id,
    orderKey: event.orderKey,
    // Not the whole URL: its path or query is often a secret.
    host: new URL(notification.url).host,
    attempt: settled.attempts,
    ...outcome,
  };
  if (settled.status === 'delivered') log.debug(fields, 'webhook delivered');
  // The one that was answered 410 has been told of.
  else if (outcome.kind === 'withheld') log.debug(fields, 'webhook given up');
  else if (settled.status === 'dead') log.warn(fields, 'webhook given up');
  else log.info({ ...fields, nextAttemptAt: new Date(settled.nextAttemptAtMs).toISOString() }, 'webhook failed, to be tried again');
}
