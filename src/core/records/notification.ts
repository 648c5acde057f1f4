/** A previous signing key. */
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
  /** The previous keys, latest first; `cosigningKeys` returns the keys that still sign. */
  readonly retiredKeys: readonly RetiredKey[];
  /** When its receiver answered 410 (gone): deliveries stop until the notification is updated. Null: it is not gone. */
  readonly goneAtMs: number | null;
  readonly createdAtMs: number;
  /** The relayers whose events it may get, at least one; a key that may use all of them owns it. Null: all relayers; operators own it. */
  readonly relayerIds: readonly string[] | null;
  /** Grows with every write by a caller or by the configuration file; it guards a write against a concurrent one. */
  readonly revision: number;
}

/** True if the notification may get the relayer's events. */
export function isFor({ relayerIds }: Pick<Notification, 'relayerIds'>, relayerId: string): boolean {
  return relayerIds === null || relayerIds.includes(relayerId);
}

/** The state of an event's delivery. */
export type DeliveryStatus = 'pending' | 'delivered' | 'dead';

/** An event in the outbox: the exact body, to be delivered at least once, in order within its order key. */
export interface OutboxEvent {
  /** UUID v7; the same in every delivery attempt. */
  readonly id: string;
  readonly notificationId: string;
  readonly event: 'transaction_update' | 'transaction_delayed' | 'approval_required' | 'relayer_state_update' | 'test';
  /** Events with the same key are delivered in order (the transaction's id). */
  readonly orderKey: string;
  /** The exact bytes to post, as text. */
  readonly body: string;
  readonly status: DeliveryStatus;
  /** Delivery attempts since it was created or last redelivered: its position in the retry schedule. */
  readonly attempts: number;
  /** When the next delivery attempt is due; if it is no longer pending, when that changed. */
  readonly nextAttemptAtMs: number;
  readonly createdAtMs: number;
  /** W3C trace context of its transaction; null: none. */
  readonly traceParent: string | null;
}

/** A delivery attempt, stored for people to look at. */
export interface DeliveryAttempt {
  readonly attemptedAtMs: number;
  readonly durationMs: number;
  /** Null: no answer. */
  readonly httpStatus: number | null;
  /** Why it failed; null: it succeeded. */
  readonly error: string | null;
  /** The beginning of the answer, made safe by `outsideText`; null: no answer. */
  readonly responseBody: string | null;
}

/** An event with its latest delivery attempts, oldest first. */
export interface DeliveryRecord {
  readonly event: OutboxEvent;
  readonly attempts: readonly DeliveryAttempt[];
}
