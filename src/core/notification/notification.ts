/** A webhook target as stored. */
export interface Notification {
  readonly id: string;
  readonly type: 'webhook';
  readonly url: string;
  /** The signing key, encrypted (`ports/secret-box.ts`); null: deliveries are not signed. */
  readonly sealedSigningKey: string | null;
  readonly createdAtMs: number;
  /** Grows with every write; what guards a write against another. */
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
  /** Tries so far. */
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly createdAtMs: number;
}
