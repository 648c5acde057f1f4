/** How long a response is stored. */
export const storedResponseLifeMs = 24 * 60 * 60 * 1000;

/** An idempotency key with its scope: another caller, or another method, may use the same key. */
export interface StoredResponseKey {
  /** The id of the principal's key. */
  readonly keyId: string;
  /** `/relayer.v1.TransactionService/SendTransaction`; the same for every protocol. */
  readonly method: string;
  /** As the caller sent it. */
  readonly idempotencyKey: string;
}

/** The response of a call, stored so that the same call again returns it and does nothing. */
export interface StoredResponse extends StoredResponseKey {
  /** Identifies the payload. */
  readonly fingerprint: string;
  /** The serialized response; only the API knows its format. */
  readonly response: Uint8Array;
  /** From this time on it counts as absent. */
  readonly expiresAtMs: number;
}
