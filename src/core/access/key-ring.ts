import { setMaxListeners } from 'node:events';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Reads } from '../ports/store.js';
import { type Repeating, repeat } from '../repeat.js';
import { type ApiKey, principalFromApiKey } from './api-key.js';
import type { Principal } from './principal.js';

/** How long a key that the command line made or deleted may go unnoticed. */
const lookEveryMs = 2_000;

/** A key that can be presented. */
export interface HeldKey {
  readonly digest: Buffer;
  readonly principal: Principal;
}

/** With what ends the streams that it opened. */
interface EndableKey extends HeldKey {
  end(): void;
}

/** The stored keys in memory, so that no request waits for the database. */
export interface KeyRing {
  find(id: string): HeldKey | undefined;
  /** To be called once the key is stored. */
  add(key: ApiKey): void;
  /** To be called once the key is deleted: it opens nothing from then on. */
  remove(id: string): void;
  /** Reads the keys, and again every two seconds: the command line writes them from another process. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What the ring works with. */
export interface KeyRingDeps {
  readonly store: { readonly read: Pick<Reads, 'apiKeys'> };
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes the ring; it holds nothing before `start`. */
export function createKeyRing({ store, clock, log }: KeyRingDeps): KeyRing {
  let held = new Map<string, EndableKey>();
  /** Grows with each change of this process, so that what was read before one is not taken for what is after it. */
  let changes = 0;
  let looking: Repeating | undefined;
  let isUnreadable = false;

  async function look(): Promise<void> {
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

  async function lookAgain(): Promise<void> {
    await look();
    isUnreadable = false;
  }

  function hasExpired({ principal: { expiresAtMs } }: HeldKey): boolean {
    return expiresAtMs !== null && expiresAtMs <= clock.nowMs();
  }

  /** A store that cannot be read adds no key and removes none; one log line says so. */
  function logOnce(error: unknown): void {
    if (!isUnreadable) log.error({ err: error }, 'API keys could not be read; the known keys stay valid');
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
      await look();
      looking = repeat(lookAgain, lookEveryMs, { onError: logOnce, runsAtOnce: false });
    },
    async stop() {
      await looking?.stop();
    },
  };
}

function heldFrom(key: ApiKey): EndableKey {
  const ended = new AbortController();
  // Every stream that the key opened listens to it; Node warns of more than ten.
  setMaxListeners(0, ended.signal);
  return { digest: Buffer.from(key.digest, 'hex'), principal: principalFromApiKey(key, ended.signal), end: () => ended.abort() };
}
