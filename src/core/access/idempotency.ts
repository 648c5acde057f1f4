import { DomainError } from '../errors/errors.js';
import type { Change } from '../ports/store/change.js';
import type { DurableReads, StoreFor } from '../ports/store/store.js';
import type { StoredResponseChanges, StoredResponseReads } from '../ports/store/stored-responses.js';
import { type StoredResponse, type StoredResponseKey, storedResponseLifeMs } from '../records/stored-response.js';
import type { AgeClock } from '../work/age-clock.js';
import type { Clock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';

/** A call with an idempotency key, and its stored response. */
export interface IdempotentCall {
  /** The response stored by an earlier call with the key: return it, and do nothing. Null: run the call. */
  readonly replay: Uint8Array | null;
  /** Returns the change that stores this call's response. It makes the commit fail if another call with the key has stored one. */
  save(response: Uint8Array): Change;
  /**
   * Call it when the call has failed: returns the response that is stored under the key now; null: none is. Another process may have run a
   * call with the key at the same time, or the answer to this call's commit was lost. Throws `unprocessable` IDEMPOTENCY_KEY_REUSED as
   * `begin` does.
   */
  replayAfterFailure(): Promise<Uint8Array | null>;
  /** Frees the key for the next call. Call it when the call has ended, whether it succeeded or not. */
  end(): void;
}

/** Runs calls that carry an idempotency key at most once. */
export interface Idempotency {
  /**
   * Begins a call. `fingerprint` is null for a payload that cannot have been accepted before.
   *
   * Throws `aborted` IDEMPOTENCY_KEY_RUNNING while another call with the key runs, and `unprocessable` IDEMPOTENCY_KEY_REUSED if the key
   * was used for another payload.
   */
  begin(key: StoredResponseKey, fingerprint: string | null): Promise<IdempotentCall>;
}

/** The dependencies of idempotency. */
export interface IdempotencyDeps {
  readonly store: DurableReads & {
    readonly read: Pick<StoredResponseReads, 'storedResponse'>;
    readonly change: Pick<StoredResponseChanges, 'putStoredResponse'>;
  };
  readonly clock: AgeClock;
}

/**
 * Creates the service-wide idempotency. Running calls of this process are known in memory. Calls of other processes, and commits that come
 * late, meet in the database: a response is committed together with its effect, and only the first is stored, so the commit of any other
 * fails as a whole.
 */
export function createIdempotency({ store, clock }: IdempotencyDeps): Idempotency {
  /** The lookups of the keys whose calls are being looked up or run. */
  const underWay = new Map<string, Promise<StoredResponse | undefined>>();

  const find = (key: StoredResponseKey): Promise<StoredResponse | undefined> =>
    store.readDurable(
      () => store.read.storedResponse(key, clock.nowMs()),
      (stored) => stored !== undefined,
    );

  return {
    async begin(key, fingerprint) {
      const name = JSON.stringify([key.keyId, key.method, key.idempotencyKey]);
      const other = underWay.get(name);
      if (other !== undefined) {
        const stored = await other;
        if (stored === undefined) throw stillRunning();
        return { replay: replayOf(stored, fingerprint), save, replayAfterFailure, end: nothingRuns };
      }
      const end = () => void underWay.delete(name);
      const lookup = find(key);
      // Set before anything is awaited, so that only one of several simultaneous calls looks up the key and runs.
      underWay.set(name, lookup);
      try {
        const stored = await lookup;
        if (stored === undefined) return { replay: null, save, replayAfterFailure, end };
        end();
        return { replay: replayOf(stored, fingerprint), save, replayAfterFailure, end: nothingRuns };
      } catch (error) {
        end();
        throw error;
      }

      function save(response: Uint8Array): Change {
        if (fingerprint === null) throw new Error('a payload that cannot be accepted was accepted');
        const expiresAtMs = clock.startOfLifeMs() + storedResponseLifeMs;
        return store.change.putStoredResponse({ ...key, fingerprint, response, expiresAtMs }, clock.nowMs());
      }

      async function replayAfterFailure(): Promise<Uint8Array | null> {
        const stored = await find(key);
        return stored === undefined ? null : replayOf(stored, fingerprint);
      }
    },
  };
}

/** The end of a replay. It must not free the key: a later call may run under it by now. */
function nothingRuns(): void {}

function replayOf(stored: StoredResponse, fingerprint: string | null): Uint8Array {
  if (stored.fingerprint === fingerprint) return stored.response;
  throw new DomainError('unprocessable', 'IDEMPOTENCY_KEY_REUSED', 'the idempotency key was already used for a different request');
}

function stillRunning(): DomainError {
  return new DomainError(
    'aborted',
    'IDEMPOTENCY_KEY_RUNNING',
    'a request with this idempotency key is still running; retry to get its response',
  );
}

/** Responses deleted in one commit: few enough that no other commit waits long. */
const batchSize = 200;
const cleaningIntervalMs = 60 * 60 * 1000;

/** The dependencies of the stored response cleaner. */
export interface StoredResponseCleanerDeps {
  readonly store: StoreFor<StoredResponseReads, StoredResponseChanges>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts to delete expired stored responses, now and every hour. */
export function startStoredResponseCleaner({ store, clock, log }: StoredResponseCleanerDeps): Repeating {
  const clean = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const nowMs = clock.nowMs();
      const oldestMs = await store.read.firstStoredResponseExpiryMs();
      if (oldestMs === undefined || oldestMs > nowMs) return;
      await store.commit([store.change.deleteExpiredStoredResponses(nowMs, batchSize)]);
    }
  };
  return repeat(clean, cleaningIntervalMs, {
    onError: (error) => log.error({ err: error }, 'cannot delete expired stored responses'),
  });
}
