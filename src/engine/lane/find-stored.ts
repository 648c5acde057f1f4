import type { LaneContext } from './lane-context.js';

/** The database may write a commit this long after its answer was lost. */
const lateCommitMs = 30_000;

/** Finds transactions that were stored although their commit seemed to fail. */
export interface StoredFinder {
  /** A commit of a new transaction got no answer. */
  note(): void;
  /** Takes in what is stored and not tracked. Does nothing if every commit was answered. */
  find(): Promise<void>;
}

/** Creates the finder. */
export function createStoredFinder({ id, deps, transactions, reload }: LaneContext): StoredFinder {
  let unansweredAtMs: number | null = null;
  return {
    note() {
      unansweredAtMs = deps.clock.elapsedMs();
    },
    async find() {
      const sinceMs = unansweredAtMs;
      if (sinceMs === null) return;
      const isLast = deps.clock.elapsedMs() - sinceMs >= lateCommitMs;
      const stored = await deps.store.read.openSummaries(id);
      await reload(stored.filter((one) => transactions.tracked(one.id) === undefined).map((one) => one.id));
      if (isLast && unansweredAtMs === sinceMs) unansweredAtMs = null;
    },
  };
}
