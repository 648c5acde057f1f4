import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LaneViewReads } from '../ports/store/lane-views.js';
import type { TransactionStatus } from '../records/transaction.js';
import type { Versioned } from './network-glances.js';

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
type Finished = Pick<OverviewSample, 'confirmed' | 'failed' | 'withdrawn'>;

/** How often a sample is taken, and how many are kept: a day's. */
export const sampleEveryMs = 300_000;
const samplesKept = 288;

/** Balances are read after this many samples, of relayers that had transactions, so that funds are known while no watch is open. */
const samplesPerReading = 2;

/** Changes that one read counts: few enough that nothing else waits long. */
const changesPerRead = 4_000;

/** The samples that were taken, and the positions of relayers at the last one. */
export interface SampleHistory {
  /** Oldest first. */
  readonly samples: readonly Versioned<OverviewSample>[];
  /** Counts what became final between the last sample and these positions; null: there was no sample, and the next one counts from here. */
  finishedUntil(positions: ReadonlyMap<string, number>): Promise<Finished | null>;
  /**
   * Adds the sample at these positions. Returns the relayers that had transactions since balances were read last; null: no balance is due
   * yet.
   */
  add(sample: Versioned<OverviewSample>, positions: ReadonlyMap<string, number>): ReadonlySet<string> | null;
}

/** Creates an empty history. Counting throws when `stopping` aborts. */
export function createSampleHistory(read: Pick<LaneViewReads, 'changesByStatus'>, stopping: AbortSignal): SampleHistory {
  const samples: Versioned<OverviewSample>[] = [];
  let sampled: ReadonlyMap<string, number> | null = null;
  let balancesRead: ReadonlyMap<string, number> = new Map();
  let taken = 0;
  return {
    samples,
    async finishedUntil(positions) {
      if (sampled !== null) return countFinished(read, sampled, positions, stopping);
      sampled = positions;
      balancesRead = positions;
      return null;
    },
    add(sample, positions) {
      sampled = positions;
      samples.push(sample);
      if (samples.length > samplesKept) samples.shift();
      taken += 1;
      if (taken % samplesPerReading !== 0) return null;
      const before = balancesRead;
      balancesRead = positions;
      return new Set([...positions.keys()].filter((id) => positions.get(id) !== before.get(id)));
    },
  };
}

/**
 * Counts the transactions that became final after these positions, of the relayers whose positions have moved. A transaction that is final
 * changes no more, so it is counted once. Throws when `signal` aborts.
 */
async function countFinished(
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
