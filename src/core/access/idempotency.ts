import { DomainError } from '../errors.js';
import type { Clock } from '../ports/clock.js';
import type { Change, Changes, Reads } from '../ports/store.js';

/** How long an outcome is kept. */
export const storedResponseLifeMs = 24 * 60 * 60 * 1000;

/** Whose call of which method an idempotency key stands for: another caller, or another method, may use the same key. */
export interface StoredResponseKey {
  /** Of the principal. */
  readonly keyId: string;
  /** `/relayer.v1.TransactionService/SendTransaction`; the same whatever protocol the call came by. */
  readonly method: string;
  /** As the caller sent it. */
  readonly idempotencyKey: string;
}

/**
 * Fingerprints are made with the encryption key: those of another key say nothing. Then every payload is taken for the same, since a call that is
 * answered wrongly does less harm than one that is done twice.
 */
export const forgottenFingerprint = '';

/** What a call came to: kept, so that the same call again is answered the same and does nothing. */
export interface StoredResponse extends StoredResponseKey {
  /** Tells one payload from another; `forgottenFingerprint` where nobody can tell any more. */
  readonly fingerprint: string;
  /** The response; only the API knows its form. */
  readonly response: Uint8Array;
  /** From then on it is as if it were not there. */
  readonly expiresAtMs: number;
}

/** The right to run the call of a key; nobody else has it until it is released. */
export interface Claim {
  /** What commits the response together with the call's effect. Never makes a commit fail. */
  keep(response: Uint8Array): Change;
  /** To be called when the call has ended, however it did. */
  release(): void;
}

/** What is to be done with a call: answer it with what is kept, or run it. */
export type Begun = { readonly kind: 'replay'; readonly response: Uint8Array } | { readonly kind: 'run'; readonly claim: Claim };

/** Makes calls that carry an idempotency key happen at most once. */
export interface Idempotency {
  /**
   * Says what to do with a call. `fingerprint` is null for a payload that cannot have been accepted before.
   *
   * Throws `aborted` IDEMPOTENCY_KEY_RUNNING while another call of the key runs, `unprocessable` IDEMPOTENCY_KEY_REUSED where the key stands for
   * another payload.
   */
  begin(key: StoredResponseKey, fingerprint: string | null): Promise<Begun>;
}

/** What idempotency works with. */
export interface IdempotencyDeps {
  readonly store: {
    readonly read: Pick<Reads, 'outcome'>;
    readonly change: Pick<Changes, 'putStoredResponse'>;
  };
  readonly clock: Clock;
}

/**
 * Makes it. What runs is known in memory: one process works on a database, and what ran in a process that died has either committed its
 * outcome with its effect, or neither.
 */
export function createIdempotency({ store, clock }: IdempotencyDeps): Idempotency {
  /** What the store knows of the keys whose calls are being looked up or run. */
  const underWay = new Map<string, Promise<StoredResponse | undefined>>();

  return {
    async begin(key, fingerprint) {
      const name = JSON.stringify([key.keyId, key.method, key.idempotencyKey]);
      const other = underWay.get(name);
      if (other !== undefined) {
        const kept = await other;
        if (kept === undefined) throw stillRunning();
        return replayOf(kept, fingerprint);
      }
      const release = () => void underWay.delete(name);
      const lookup = store.read.outcome(key, clock.nowMs());
      // Before anything is waited for: of calls that come at once, one looks and may run.
      underWay.set(name, lookup);
      try {
        const kept = await lookup;
        if (kept === undefined) return { kind: 'run', claim: { keep: (response) => keep(key, fingerprint, response), release } };
        release();
        return replayOf(kept, fingerprint);
      } catch (error) {
        release();
        throw error;
      }
    },
  };

  function keep(key: StoredResponseKey, fingerprint: string | null, response: Uint8Array): Change {
    if (fingerprint === null) throw new Error('a payload that cannot be accepted was');
    return store.change.putStoredResponse({ ...key, fingerprint, response, expiresAtMs: clock.nowMs() + storedResponseLifeMs });
  }
}

function replayOf(kept: StoredResponse, fingerprint: string | null): Begun {
  const isSame = kept.fingerprint === fingerprint || (kept.fingerprint === forgottenFingerprint && fingerprint !== null);
  if (isSame) return { kind: 'replay', response: kept.response };
  throw new DomainError('unprocessable', 'IDEMPOTENCY_KEY_REUSED', 'the idempotency key was used for a request that said something else');
}

function stillRunning(): DomainError {
  return new DomainError(
    'aborted',
    'IDEMPOTENCY_KEY_RUNNING',
    'a request with this idempotency key is still running; ask again for its outcome',
  );
}
