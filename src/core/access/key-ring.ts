import type { Log } from '../ports/log.js';
import type { Reads } from '../ports/store.js';
import { type ApiKey, principalFromApiKey } from './api-key.js';
import type { Principal } from './principal.js';

/** How long a key that the command line made or deleted may go unnoticed. */
const lookEveryMs = 2_000;

/** A key that can be presented. */
export interface HeldKey {
  readonly digest: Buffer;
  readonly principal: Principal;
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
  readonly log: Log;
}

/** Makes the ring; it holds nothing before `start`. */
export function createKeyRing({ store, log }: KeyRingDeps): KeyRing {
  let held = new Map<string, HeldKey>();
  /** Grows with each change of this process, so that what was read before one is not taken for what is after it. */
  let changes = 0;
  let timer: NodeJS.Timeout | undefined;
  let looking = Promise.resolve();
  let stopped = false;

  async function look(): Promise<void> {
    for (;;) {
      const seen = changes;
      const keys = await store.read.apiKeys();
      if (changes !== seen) continue;
      held = new Map(keys.map((key) => [key.id, heldFrom(key)]));
      return;
    }
  }

  async function lookAgain(): Promise<void> {
    // A store that cannot be read takes no key away and brings none.
    await look().catch((error: unknown) => log.error({ err: error }, 'the keys cannot be read'));
    wait();
  }

  function wait(): void {
    if (!stopped) timer = setTimeout(() => (looking = lookAgain()), lookEveryMs).unref();
  }

  return {
    find: (id) => held.get(id),
    add(key) {
      changes += 1;
      held.set(key.id, heldFrom(key));
    },
    remove(id) {
      changes += 1;
      held.delete(id);
    },
    async start() {
      await look();
      wait();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

function heldFrom(key: ApiKey): HeldKey {
  return { digest: Buffer.from(key.digest, 'hex'), principal: principalFromApiKey(key) };
}
