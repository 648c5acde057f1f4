import type { Receipt } from '../../core/ports/chain.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { getTransactionCall, ledgerName, type NodeView } from './get-transaction.js';

/**
 * What nodes know of each of these transactions, by hash as given. One that is inside a fee bump is told as that fee bump where its hash is among them, and
 * else under its own: what somebody else has put a fee bump around is done all the same. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactions(rpc: Rpc, networkId: Buffer, hashes: readonly string[]): Promise<ReadonlyMap<string, NodeView>> {
  const asked = new Set(hashes);
  const views = await rpc.batch(
    hashes.map((hash) => getTransactionCall(hash, networkId)),
    { first: 'head' },
  );
  return new Map(
    hashes.map((hash, index) => {
      const view = views[index];
      if (view === undefined || 'error' in view) throw nodeUnavailable(view?.error);
      const { found } = view.result;
      const isTold = found !== null && found.hash !== hash && asked.has(found.hash);
      return [hash, isTold ? { ...view.result, found: null } : view.result];
    }),
  );
}

/**
 * Where a transaction was found, under the hash that was asked for; null: nowhere. A ledger is final when it is closed, and nodes name no hash beside a
 * transaction, so its number stands for it. The fee of somebody else's fee bump is not ours.
 */
export function receiptFrom(hash: string, { found }: NodeView): Receipt | null {
  if (found === null) return null;
  const { ledger, succeeded, facts } = found;
  const receipt: Receipt = { hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
  return found.hash === hash ? receipt : withoutFee(receipt);
}

/** The same, paid by somebody else. */
export function withoutFee(receipt: Receipt): Receipt {
  return receipt.facts === null ? receipt : { ...receipt, facts: { ...receipt.facts, feeChargedStroops: 0n } };
}
