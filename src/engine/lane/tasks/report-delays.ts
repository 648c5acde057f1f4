import { delayReported, isNewlyDelayed } from '../../../core/transaction/delays.js';
import type { LaneContext } from '../lane-context.js';
import { type Decision, moveAll } from '../move-all.js';

/** How often the lane looks at all its open transactions: it may have ten thousand. */
const lookEveryMs = 5_000;
/** How many are reported in one look, in commits of several: other tasks of upkeep wait meanwhile. */
const reportedAtOnce = 500;

/**
 * Makes the task that reports transactions that have waited for longer than their speed promises, once for each obstacle. It needs no node:
 * that none answers may be the obstacle.
 */
export function createDelayReporter(lane: LaneContext): () => Promise<void> {
  const { transactions, deps } = lane;
  const { delayLimitsMs = null, clock } = deps;
  let nextLookMs = 0;
  return async () => {
    const elapsedMs = clock.elapsedMs();
    if (delayLimitsMs === null || elapsedMs < nextLookMs) return;
    const nowMs = clock.nowMs();
    const late: Decision[] = [];
    for (const id of transactions.ids()) {
      const facts = transactions.tracked(id)?.transaction;
      if (facts === undefined || !isNewlyDelayed(facts, delayLimitsMs, nowMs)) continue;
      late.push({
        id,
        decide: ({ transaction }) =>
          isNewlyDelayed({ ...transaction, speed: facts.speed }, delayLimitsMs, nowMs)
            ? { steps: [delayReported(transaction, nowMs)] }
            : null,
      });
      if (late.length === reportedAtOnce) break;
    }
    if (late.length < reportedAtOnce) nextLookMs = elapsedMs + lookEveryMs;
    await moveAll(lane, late);
  };
}
