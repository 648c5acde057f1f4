import { setMaxListeners } from 'node:events';
import { DomainError } from '../errors/errors.js';
import type { ApiKeyChanges, ApiKeyReads } from '../ports/store/api-keys.js';
import type { StoreFor } from '../ports/store/store.js';
import { type ApiKey, eachSecretOf, principalFromApiKey } from '../records/api-key.js';
import type { Principal } from '../records/principal.js';
import type { DurationClock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import type { Timers } from '../work/timers.js';

/** The maximum delay before a key that the command line created or deleted takes effect. */
const reloadIntervalMs = 2_000;

/** The maximum delay before the streams of a secret that has expired end. */
const expiryIntervalMs = 1_000;

/** How often uses of keys are looked through, and by how much a use must be later than the stored one to be written. */
const usesIntervalMs = 10_000;
const useStepMs = 60_000;

/** A secret of a key that callers can present. */
export interface HeldSecret {
  /** 64 hex digits. */
  readonly digest: string;
  readonly principal: Principal;
  /** Remembers that a call had the key; the ring stores it later. */
  noteUse(): void;
}

interface EndableSecret extends HeldSecret {
  /** Ends the streams that the secret opened. Its reason is the error for their callers; without one, the secret is no longer valid. */
  readonly ended: AbortController;
}

interface HeldKey {
  readonly secrets: readonly EndableSecret[];
  readonly use: {
    /** When a call last had the key, by the clock of durations; null: none had it since the start. */
    atMs: number | null;
    /** The last use that was in the store when the keys were read. */
    storedMs: number | null;
  };
}

/**
 * The stored keys in memory, so that no request waits for the database.
 *
 * States: *fresh*, and *stale* from `staleAfterMs` after the begin of the last read that succeeded, however the database fails. A stale
 * ring has ended all streams and answers for no key, because any key may be revoked by now. The next read makes it fresh.
 */
export interface KeyRing {
  /** Returns the secrets of a key, the newest first. Throws `unavailable` SERVICE_UNAVAILABLE while the ring is stale. */
  find(id: string): readonly HeldSecret[];
  /** Call it when the key, or its new secret, is stored. */
  put(key: ApiKey): void;
  /** Revokes a key. Call it when the key is deleted from the store. */
  remove(id: string): void;
  /** Reads the keys, then again every two seconds, because the command line writes them from another process. */
  start(): Promise<void>;
  /** Reads the keys again. Returns at once. */
  readAgain(): void;
  stop(): Promise<void>;
}

/** The dependencies of the key ring. */
export interface KeyRingDeps {
  readonly store: StoreFor<ApiKeyReads, Pick<ApiKeyChanges, 'noteApiKeyUse'>>;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly staleAfterMs: number;
  readonly log: Log;
}

/** Creates the key ring; it is empty before `start`. */
export function createKeyRing({ store, clock, timers, staleAfterMs, log }: KeyRingDeps): KeyRing {
  let held = new Map<string, HeldKey>();
  /** Counts this process's changes: keys that were read before a change are out of date. */
  let changes = 0;
  let reloading: Repeating | undefined;
  let storing: Repeating | undefined;
  let expiring: Repeating | undefined;
  let isUnreadable = false;
  /** When the last read that succeeded began. */
  let seenAtMs = Number.NEGATIVE_INFINITY;
  let stopEnding = (): void => undefined;

  const isStale = (): boolean => clock.elapsedMs() - seenAtMs >= staleAfterMs;

  function noteSeen(atMs: number): void {
    seenAtMs = atMs;
    stopEnding();
    stopEnding = timers.after(Math.max(0, atMs + staleAfterMs - clock.elapsedMs()), endAll);
  }

  /** A read that hangs never fails, so a timer ends the streams. */
  function endAll(): void {
    log.error(
      { staleAfterMs },
      'API keys were not read for too long and may be revoked; only the bootstrap key is accepted until they are',
    );
    for (const { ended } of heldSecrets()) ended.abort(cannotBeChecked());
    held = new Map();
  }

  async function load(): Promise<void> {
    for (;;) {
      const seen = changes;
      const askedAtMs = clock.elapsedMs();
      const keys = await store.read.apiKeys();
      if (changes !== seen) continue;
      noteSeen(askedAtMs);
      const before = heldSecrets();
      held = new Map(keys.map((key) => [key.id, heldFrom(key, held.get(key.id), clock)]));
      endMissing(before);
      return;
    }
  }

  function heldSecrets(): readonly EndableSecret[] {
    return [...held.values()].flatMap(({ secrets }) => secrets);
  }

  /** Ends the secrets that are no longer held. */
  function endMissing(before: readonly EndableSecret[]): void {
    const kept = new Set(heldSecrets().map(({ ended }) => ended));
    for (const { ended } of before) if (!kept.has(ended)) ended.abort();
  }

  /** A separate task, so that it needs no read of keys. */
  async function endExpired(): Promise<void> {
    const nowMs = clock.nowMs();
    for (const { ended, principal } of heldSecrets()) if (principal.expiresAtMs !== null && principal.expiresAtMs <= nowMs) ended.abort();
  }

  async function reload(): Promise<void> {
    await load();
    isUnreadable = false;
  }

  /** A store that cannot be read neither adds nor removes a key. Logs once per outage. */
  function logOnce(error: unknown): void {
    if (!isUnreadable)
      log.error(
        { err: error, staleAfterMs },
        'cannot read API keys; the known keys stay valid for ACCESS_STALE_AFTER_SECONDS after the last read',
      );
    isUnreadable = true;
  }

  /**
   * Stores when keys were used: what another instance has stored within the last minute is left. A separate task, so that a write that
   * fails or hangs holds no read of keys up, and no call.
   */
  async function storeUses(): Promise<void> {
    const uses = [...held].flatMap(([id, { use }]) => {
      if (use.atMs === null) return [];
      const atMs = Math.floor(clock.nowMs() - (clock.elapsedMs() - use.atMs));
      return use.storedMs !== null && atMs - use.storedMs < useStepMs ? [] : [{ id, atMs }];
    });
    if (uses.length > 0) await store.commit(uses.map(({ id, atMs }) => store.change.noteApiKeyUse(id, atMs)));
    for (const { id, atMs } of uses) {
      const key = held.get(id);
      if (key !== undefined) key.use.storedMs = atMs;
    }
  }

  return {
    find(id) {
      if (isStale()) throw cannotBeChecked();
      return held.get(id)?.secrets ?? [];
    },
    put(key) {
      changes += 1;
      const before = held.get(key.id);
      held.set(key.id, heldFrom(key, before, clock));
      endMissing(before?.secrets ?? []);
    },
    remove(id) {
      changes += 1;
      const before = held.get(id);
      held.delete(id);
      endMissing(before?.secrets ?? []);
    },
    async start() {
      await load();
      reloading = repeat(reload, reloadIntervalMs, { onError: logOnce, runsAtOnce: false });
      const onError = (error: unknown) => log.debug({ err: error }, 'the last use of API keys was not stored; retrying');
      storing = repeat(storeUses, usesIntervalMs, { onError, runsAtOnce: false });
      expiring = repeat(endExpired, expiryIntervalMs, { onError, runsAtOnce: false });
    },
    readAgain: () => reloading?.wake(),
    async stop() {
      await Promise.all([reloading?.stop(), storing?.stop(), expiring?.stop()]);
      // Last: a read that ends meanwhile sets the timer again.
      stopEnding();
    },
  };
}

function cannotBeChecked(): DomainError {
  const sentence = 'the service cannot reach its database, so it cannot check whether the key is still valid; retry later';
  return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', sentence);
}

/** Holds a key. A secret that was held `before` keeps its streams; what has not changed stays as it is. */
function heldFrom(key: ApiKey, before: HeldKey | undefined, clock: DurationClock): HeldKey {
  const use = before?.use ?? { atMs: null, storedMs: null };
  use.storedMs = key.lastUsedAtMs;
  const secrets = eachSecretOf(key).map((secret): EndableSecret => {
    const { digest, expiresAtMs } = secret;
    const same = before?.secrets.find((one) => one.digest === digest);
    if (same?.principal.expiresAtMs === expiresAtMs) return same;
    const ended = same?.ended ?? new AbortController();
    // Every stream of the secret listens to the signal; Node warns of more than ten listeners.
    setMaxListeners(0, ended.signal);
    const noteUse = () => {
      use.atMs = clock.elapsedMs();
    };
    return { digest, principal: principalFromApiKey(secret, ended.signal), noteUse, ended };
  });
  return { secrets, use };
}
