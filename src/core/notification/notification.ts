/** A signing key that was replaced by another. */
export interface RetiredKey {
  /** As `Notification.sealedSigningKey` was. */
  readonly sealedSigningKey: string;
  readonly retiredAtMs: number;
}

/** A webhook target as stored. */
export interface Notification {
  readonly id: string;
  readonly type: 'webhook';
  readonly url: string;
  /** The signing key, encrypted (`ports/secret-box.ts`); null: deliveries are not signed. */
  readonly sealedSigningKey: string | null;
  /** The keys before it, the latest first; which of them still sign, `cosigningKeys` says. */
  readonly retiredKeys: readonly RetiredKey[];
  /** When its receiver answered 410 (gone): nothing is posted from then on, until it is updated. Null: it is not gone. */
  readonly goneAtMs: number | null;
  readonly createdAtMs: number;
  /** Grows with every write of a caller or of the configuration file; what guards a write against another. */
  readonly revision: number;
}

/** Where an event stands on its way to its target. */
export type DeliveryStatus = 'pending' | 'delivered' | 'dead';

/** An event in the outbox: the exact body, to be delivered at least once, in order among those with the same order key. */
export interface OutboxEvent {
  /** UUID v7; the same at every try. */
  readonly id: string;
  readonly notificationId: string;
  readonly event: 'transaction_update' | 'relayer_state_update' | 'test';
  /** Events with the same key are delivered in order (the transaction's id). */
  readonly orderKey: string;
  /** The exact bytes to post, as text. */
  readonly body: string;
  readonly status: DeliveryStatus;
  /** Tries since it was made, or since it was last asked to be delivered again: where it stands in the retry schedule. */
  readonly attempts: number;
  /** When it is tried next; of one that is no longer pending: when that became so. */
  readonly nextAttemptAtMs: number;
  readonly createdAtMs: number;
  /** W3C trace context of the transaction that it tells of; null: none. */
  readonly traceParent: string | null;
}

/** One try to deliver an event, as it is kept for people to look at. */
export interface DeliveryAttempt {
  readonly attemptedAtMs: number;
  readonly durationMs: number;
  /** Null: there was no answer. */
  readonly httpStatus: number | null;
  /** Why it failed, for people; null: it did not. */
  readonly error: string | null;
  /** The beginning of the answer, made harmless by `outsideText`; null: there was no answer. */
  readonly responseBody: string | null;
}

/** An event with its latest tries, oldest first. */
export interface DeliveryRecord {
  readonly event: OutboxEvent;
  readonly attempts: readonly DeliveryAttempt[];
}
