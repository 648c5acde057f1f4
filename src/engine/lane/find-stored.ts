import type { LaneContext } from './lane-context.js';

/** The database may write a commit this long after its answer was lost. */
const lateCommitMs = 30_000;

/** Finds what was stored although its commit seemed to fail. */
export interface StoredFinder {
  /** A commit got no answer. `ids`: the open transactions that it may have changed; none if it stored a new one. */
  note(ids: readonly string[]): void;
  /** Takes in what is stored. Does nothing if every commit was answered. */
  find(): Promise<void>;
}

/** Creates the finder. */
export function createStoredFinder({ id, deps, transactions, reload, hold }: Omit<LaneContext, 'noteUnanswered'>): StoredFinder {
  const changed = new Set<string>();
  let unansweredAtMs: number | null = null;
  return {
    note(ids) {
      unansweredAtMs = deps.clock.elapsedMs();
      for (const one of ids) changed.add(one);
    },
    async find() {
      const sinceMs = unansweredAtMs;
      if (sinceMs === null) return;
      const isLast = deps.clock.elapsedMs() - sinceMs >= lateCommitMs;
      const stored = await deps.store.read.openSummaries(id);
      const unknown = stored.filter((one) => transactions.tracked(one.id) === undefined).map((one) => one.id);
      const ids = [...new Set([...unknown, ...changed])];
      await hold(ids, () => reload(ids));
      if (!isLast || unansweredAtMs !== sinceMs) return;
      unansweredAtMs = null;
      changed.clear();
    },
  };
}
