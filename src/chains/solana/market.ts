import { listFrom, objectFrom } from '../rpc/answer.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';

/** Nodes take no more accounts in one question. */
const greatestAccountsAsked = 128;
/** Of the slots of late, so many in a hundred could have been entered for less. */
const percentile = 75;

/**
 * What a unit costs now, in micro-lamports, for a transaction that writes to these accounts: what entered most of the slots of late. 0
 * where nobody bids, and where nodes tell of no market. Throws `NODE_UNAVAILABLE`.
 */
export async function marketUnitPrice(rpc: Rpc, writable: readonly string[]): Promise<bigint> {
  const params = [writable.slice(0, greatestAccountsAsked)];
  const fees = await rpc.call('getRecentPrioritizationFees', params, prioritizationFeesFrom).catch((error: unknown) => {
    if (!(error instanceof NodeError)) throw error;
    if (error.isOverload) throw nodeUnavailable(error);
    return [];
  });
  const ordered = fees.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return ordered[Math.floor((ordered.length * percentile) / 100)] ?? 0n;
}

function prioritizationFeesFrom(answer: unknown): readonly bigint[] {
  return listFrom(answer, 'prioritization fees').map((one) =>
    integerFrom(objectFrom(one, 'prioritization fee').prioritizationFee, 'prioritization fee'),
  );
}
