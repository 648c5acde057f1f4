import type { LaneContext } from './lane-context.js';

/** The database may write a commit this long after its answer was lost. */
const lateCommitMs = 30_000;

/** Finds what was stored although its commit seemed to fail. */
export interface StoredFinder {
  /** A commit got no answer, or the database may be another server's now. */
  note(): void;
  /** Takes in what is stored. Does nothing if every commit was answered. */
  find(): Promise<void>;
}

/** Creates the finder. It reads only the records whose stored revision is not the one in memory. */
export function createStoredFinder({ id, deps, transactions, reload, hold }: Omit<LaneContext, 'noteUnanswered'>): StoredFinder {
  let unansweredAtMs: number | null = null;

  /** Commits that run meanwhile may make some of these equal again; reading those once more does no harm. */
  async function differing(): Promise<readonly string[]> {
    const stored = new Map((await deps.store.read.openSummaries(id)).map((one) => [one.id, one.revision]));
    const changed = [...stored].filter(([one, revision]) => transactions.tracked(one)?.transaction.revision !== revision);
    const gone = [...transactions.ids()].filter((one) => !stored.has(one));
    return [...changed.map(([one]) => one), ...gone];
  }

  return {
    note() {
      unansweredAtMs = deps.clock.elapsedMs();
    },
    async find() {
      const sinceMs = unansweredAtMs;
      if (sinceMs === null) return;
      const isLast = deps.clock.elapsedMs() - sinceMs >= lateCommitMs;
      const ids = await differing();
      await hold(ids, () => reload(ids));
      if (isLast && unansweredAtMs === sinceMs) unansweredAtMs = null;
    },
  };
}
