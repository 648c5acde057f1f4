import { listFrom, objectFrom } from '../rpc/answer.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';

/** The maximum that nodes accept per call. */
const maxAccounts = 128;
const percentile = 75;

/**
 * Returns the compute unit price in micro-lamports for a transaction that writes to these accounts: the 75th percentile of recent slots. 0
 * if there are no bids or nodes report no fees. Throws `NODE_UNAVAILABLE`.
 */
export async function marketUnitPrice(rpc: Rpc, writable: readonly string[]): Promise<bigint> {
  const params = [writable.slice(0, maxAccounts)];
  const fees = await rpc.call({ method: 'getRecentPrioritizationFees', params, read: prioritizationFeesFrom }).catch((error: unknown) => {
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
