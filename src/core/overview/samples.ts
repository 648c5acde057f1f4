import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LaneViewReads } from '../ports/store/lane-views.js';
import type { TransactionStatus } from '../records/transaction.js';

/** Figures of the whole service at a time. */
export interface OverviewSample {
  readonly atMs: number;
  /** The numbers of transactions that became final since the sample before. `withdrawn`: canceled or expired. */
  readonly confirmed: number;
  readonly failed: number;
  readonly withdrawn: number;
  /** The number of transactions that are not final. */
  readonly open: number;
  readonly webhookBacklog: number;
}

/** The numbers of transactions that became final. */
export type Finished = Pick<OverviewSample, 'confirmed' | 'failed' | 'withdrawn'>;

/** How often a sample is taken, and how many are kept: a day's. */
export const sampleEveryMs = 300_000;
export const samplesKept = 288;

/** Changes that one read counts: few enough that nothing else waits long. */
const changesPerRead = 4_000;

/**
 * Counts the transactions that became final after these positions, of the relayers whose positions have moved. A transaction that is final
 * changes no more, so it is counted once. Throws when `signal` aborts.
 */
export async function countFinished(
  read: Pick<LaneViewReads, 'changesByStatus'>,
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<Finished> {
  const totals = new Map<TransactionStatus, number>();
  for (const [relayerId, position] of now) {
    let after = before.get(relayerId) ?? 0;
    while (after < position) {
      signal.throwIfAborted();
      const { totals: found, last } = await read.changesByStatus(relayerId, { after, upTo: position, limit: changesPerRead });
      // The changes up to this position were removed meanwhile.
      if (last === null) break;
      for (const [status, total] of found) totals.set(status, (totals.get(status) ?? 0) + total);
      after = last;
      await nextTurn();
    }
  }
  const numberOf = (status: TransactionStatus) => totals.get(status) ?? 0;
  return { confirmed: numberOf('confirmed'), failed: numberOf('failed'), withdrawn: numberOf('canceled') + numberOf('expired') };
}
