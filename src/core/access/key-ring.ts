import { setMaxListeners } from 'node:events';
import type { ApiKeyReads } from '../ports/store/api-keys.js';
import { type ApiKey, principalFromApiKey } from '../records/api-key.js';
import type { Principal } from '../records/principal.js';
import type { Clock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';

/** The maximum delay before a key that the command line created or deleted takes effect. */
const reloadIntervalMs = 2_000;

/** A key that callers can present. */
export interface HeldKey {
  /** 64 hex digits. */
  readonly digest: string;
  readonly principal: Principal;
}

interface EndableKey extends HeldKey {
  /** Ends the streams that the key opened. */
  end(): void;
}

/** The stored keys in memory, so that no request waits for the database. */
export interface KeyRing {
  find(id: string): HeldKey | undefined;
  /** Call it when the key is stored. */
  add(key: ApiKey): void;
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
  readonly store: { readonly read: ApiKeyReads };
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the key ring; it is empty before `start`. */
export function createKeyRing({ store, clock, log }: KeyRingDeps): KeyRing {
  let held = new Map<string, EndableKey>();
  /** Counts this process's changes: keys that were read before a change are out of date. */
  let changes = 0;
  let reloading: Repeating | undefined;
  let isUnreadable = false;

  async function load(): Promise<void> {
    for (;;) {
      const seen = changes;
      const keys = await store.read.apiKeys();
      if (changes !== seen) continue;
      const before = held;
      held = new Map(keys.map((key) => [key.id, before.get(key.id) ?? heldFrom(key)]));
      for (const [id, key] of before) if (!held.has(id) || hasExpired(key)) key.end();
      return;
    }
  }

  async function reload(): Promise<void> {
    await load();
    isUnreadable = false;
  }

  function hasExpired({ principal: { expiresAtMs } }: HeldKey): boolean {
    return expiresAtMs !== null && expiresAtMs <= clock.nowMs();
  }

  /** A store that cannot be read neither adds nor removes a key. Logs once per outage. */
  function logOnce(error: unknown): void {
    if (!isUnreadable) log.error({ err: error }, 'cannot read API keys; the known keys stay valid');
    isUnreadable = true;
  }

  return {
    find: (id) => held.get(id),
    add(key) {
      changes += 1;
      held.set(key.id, heldFrom(key));
    },
    remove(id) {
      changes += 1;
      held.get(id)?.end();
      held.delete(id);
    },
    async start() {
      await load();
      reloading = repeat(reload, reloadIntervalMs, { onError: logOnce, runsAtOnce: false });
    },
    readAgain: () => reloading?.wake(),
    async stop() {
      await reloading?.stop();
    },
  };
}

function heldFrom(key: ApiKey): EndableKey {
  const ended = new AbortController();
  // Every stream of the key listens to the signal; Node warns of more than ten listeners.
  setMaxListeners(0, ended.signal);
  return { digest: key.digest, principal: principalFromApiKey(key, ended.signal), end: () => ended.abort() };
}
