import type { Dispatcher } from 'undici';
import type { Notification, OutboxEvent } from '../core/notification/notification.js';
import { signingKeyPurpose } from '../core/notification/signing-key-purpose.js';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Store } from '../core/ports/store.js';
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
  /** Ends what is being posted: its outcome is unknown, and it is tried again after the next start. */
  readonly cut: AbortSignal;
}

/** What is to be stored of an event after a try. */
export type Settlement = Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>;

/** Tries to deliver an event. Undefined: cut off, nothing is to be stored. Throws when the store is broken. */
export async function deliverEvent(deps: DeliverEventDeps, event: OutboxEvent): Promise<Settlement | undefined> {
  const { store, clock, cut, log } = deps;
  const notification = await store.read.notification(event.notificationId);
  if (notification === undefined) {
    log.info({ eventId: event.id, notificationId: event.notificationId }, 'webhook given up: its notification was deleted');
    return { id: event.id, status: 'dead', attempts: event.attempts, nextAttemptAtMs: clock.nowMs() };
  }
  const outcome = await postSigned(deps, event, notification);
  if (cut.aborted && outcome.kind !== 'answered') return undefined;
  const settlement = settlementOf(deps, event, outcome);
  tell(log, event, notification, outcome, settlement);
  return settlement;
}

async function postSigned(deps: DeliverEventDeps, event: OutboxEvent, notification: Notification): Promise<PostOutcome> {
  const { secretBox, clock, dispatcher, timeoutMs, cut } = deps;
  let signingKey: string | null;
  try {
    const sealed = notification.sealedSigningKey;
    signingKey = sealed === null ? null : secretBox.open(sealed, signingKeyPurpose(notification.id));
  } catch {
    // Sent without its signature, a receiver could not tell it from a forged one.
    return {
      kind: 'unanswered',
      sentence: 'not sent: the stored signing key cannot be decrypted; is STORAGE_ENCRYPTION_KEY the one it was stored with?',
    };
  }
  const body = Buffer.from(event.body, 'utf8');
  const timestampSeconds = Math.floor(clock.nowMs() / 1000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'relayer-service',
    ...signatureHeaders({ id: event.id, body, timestampSeconds, signingKey }),
  };
  return post(dispatcher, { url: notification.url, headers, body, timeoutMs, signal: cut });
}

function settlementOf({ clock, retrySeconds }: DeliverEventDeps, event: OutboxEvent, outcome: PostOutcome): Settlement {
  const nowMs = clock.nowMs();
  const attempts = event.attempts + 1;
  const ended = { id: event.id, attempts, nextAttemptAtMs: nowMs };
  if (outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299) return { ...ended, status: 'delivered' };
  // 410: the receiver is gone for good. Refused: the same address would be refused again.
  if (outcome.kind === 'refused' || (outcome.kind === 'answered' && outcome.httpStatus === 410)) return { ...ended, status: 'dead' };
  const retryAfter = outcome.kind === 'answered' ? outcome.retryAfter : undefined;
  const nextAttemptAtMs = nextTryAtMs({ attempts, retrySeconds, retryAfter, nowMs, random: Math.random() });
  return nextAttemptAtMs === undefined ? { ...ended, status: 'dead' } : { ...ended, status: 'pending', nextAttemptAtMs };
}

function tell(log: Log, event: OutboxEvent, notification: Notification, outcome: PostOutcome, settlement: Settlement): void {
  const fields = {
    eventId: event.id,
    event: event.event,
    notificationId: notification.id,
    orderKey: event.orderKey,
    // Not the whole URL: its path or query is often a secret.
    host: new URL(notification.url).host,
    attempt: settlement.attempts,
    ...outcome,
  };
  if (settlement.status === 'delivered') log.debug(fields, 'webhook delivered');
  else if (settlement.status === 'dead') log.warn(fields, 'webhook given up');
  else log.info({ ...fields, nextAttemptAt: new Date(settlement.nextAttemptAtMs).toISOString() }, 'webhook failed, to be tried again');
}
