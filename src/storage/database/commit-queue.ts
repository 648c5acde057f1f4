import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { type Meter, noMeter } from '../../core/ports/telemetry.js';
import type { BoundChange } from '../sql/bound-change.js';

/** The changes of one `commit`. */
export type ChangeList = readonly BoundChange[];

/** Why a list was not written; undefined if it was. */
export type Outcome = Error | undefined;

/**
 * Writes lists in one database commit. Each list is written completely, or not at all with an error as its outcome. Throws if nothing of
 * the batch was written, or if it is unknown which lists were.
 */
export type RunBatch = (lists: readonly ChangeList[]) => readonly Outcome[] | Promise<readonly Outcome[]>;

/** The only way to write: it gathers the lists of all callers into batches. */
export interface CommitQueue {
  /** Resolves when the list is durable. */
  commit(list: ChangeList): Promise<void>;
  /** Refuses new lists, and resolves when every waiting list is settled. */
  close(): Promise<void>;
}

interface Waiting {
  readonly list: ChangeList;
  settle(outcome: Outcome): void;
}

/** Bounds how long one batch can block the process or the database: the list that reaches the number of changes is its last. */
const maxBatch = { lists: 256, changes: 512 };

/**
 * Gathers all lists of one turn of the event loop into batches. There is no timer: under load, lists gather while the previous batch is
 * written; without load, no caller waits.
 */
export function createCommitQueue(runBatch: RunBatch, meter: Pick<Meter, 'batchEnded'> = noMeter): CommitQueue {
  const waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;

  function takeBatch(): Waiting[] {
    let lists = 0;
    for (let changes = 0; lists < Math.min(waiting.length, maxBatch.lists) && changes < maxBatch.changes; lists += 1)
      changes += waiting[lists]?.list.length ?? 0;
    return waiting.splice(0, lists);
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      // Other requests run between two batches.
      await setImmediate();
      const batch = takeBatch();
      const begunMs = performance.now();
      const ended = (isWritten: boolean) => meter.batchEnded(batch.length, (performance.now() - begunMs) / 1000, isWritten);
      try {
        const outcomes = await runBatch(batch.map(({ list }) => list));
        ended(true);
        batch.forEach(({ settle }, index) => {
          settle(outcomes[index]);
        });
      } catch (error) {
        ended(false);
        for (const { settle } of batch) settle(error instanceof Error ? error : new Error(String(error)));
      }
    }
    draining = undefined;
  }

  function commit(list: ChangeList): Promise<void> {
    if (closed) return Promise.reject(new Error('the store is closed'));
    const committed = new Promise<void>((resolve, reject) => {
      waiting.push({ list, settle: (outcome) => (outcome === undefined ? resolve() : reject(outcome)) });
    });
    draining ??= drain();
    return committed;
  }

  async function close(): Promise<void> {
    closed = true;
    await draining;
  }

  return { commit, close };
}
