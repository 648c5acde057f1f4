import type { LaneContext } from './lane-context.js';

/** The database may write a commit this long after its answer was lost. */
const lateCommitMs = 30_000;

/** Finds transactions that were stored although their commit seemed to fail. */
export interface StoredFinder {
  /** A commit got no answer: it may still be written for a while. */
  noteUnanswered(): void;
  /** The database is back, and may be another server, which lacks the last commits. A commit on the lost connection is written by now, or never. */
  noteReturn(): void;
  /** Takes in the stored transactions. Does nothing if every commit was answered and the database was not away. */
  find(): Promise<void>;
  /** True while the store may have a transaction that was not found. */
  isLooking(): boolean;
}

/** Creates the finder. It reads only the records whose stored revision is not the one in memory. */
export function createStoredFinder({ id, deps, transactions, reload, hold }: Omit<LaneContext, 'noteUnanswered'>): StoredFinder {
  /** Nothing can be written late after this time. Null: everything was found. */
  let due: { readonly lastWriteMs: number } | null = null;

  function note(lateMs: number): void {
    // A new object, so that a look that began before does not count.
    due = { lastWriteMs: Math.max(due?.lastWriteMs ?? 0, deps.clock.elapsedMs() + lateMs) };
  }

  /** Commits that run meanwhile may make some of these equal again; reading those once more does no harm. */
  async function differing(): Promise<readonly string[]> {
    const stored = new Map((await deps.store.read.openSummaries(id)).map((one) => [one.id, one.revision]));
    const changed = [...stored].filter(([one, revision]) => transactions.tracked(one)?.transaction.revision !== revision);
    const gone = [...transactions.ids()].filter((one) => !stored.has(one));
    return [...changed.map(([one]) => one), ...gone];
  }

  return {
    noteUnanswered: () => note(lateCommitMs),
    noteReturn: () => note(0),
    isLooking: () => due !== null,
    async find() {
      const seen = due;
      if (seen === null) return;
      const isLast = deps.clock.elapsedMs() >= seen.lastWriteMs;
      const ids = await differing();
      await hold(ids, () => reload(ids));
      if (isLast && due === seen) due = null;
    },
  };
}
