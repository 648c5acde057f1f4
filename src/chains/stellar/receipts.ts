import type { Receipt } from '../../core/ports/chain.js';
import type { CallOptions } from '../rpc/call-router.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { questions } from './questions.js';
import type { NodeView } from './read-transaction.js';

/**
 * Reads the transaction that nodes have for each hash. An inner transaction is reported under the hash of its fee-bump envelope if that is
 * among `hashes`, else under its own: it also counts if another account wrapped it in a fee-bump envelope. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactions(
  rpc: Rpc,
  networkId: Buffer,
  hashes: readonly string[],
  options: CallOptions = { first: 'head' },
): Promise<ReadonlyMap<string, NodeView>> {
  const asked = new Set(hashes);
  const views = await rpc.batch(
    hashes.map((hash) => questions.transaction(hash, networkId, rpc.newestNumber())),
    options,
  );
  return new Map(
    hashes.map((hash, index) => {
      const view = views[index];
      if (view === undefined || 'error' in view) throw nodeUnavailable(view?.error);
      const { found } = view.result;
      const isReportedByBump = found !== null && found.hash !== hash && asked.has(found.hash);
      return [hash, isReportedByBump ? { ...view.result, found: null } : view.result];
    }),
  );
}

/**
 * Returns the receipt of the transaction with the requested hash, under the hash of the outermost envelope; null if no ledger contains it.
 * A closed ledger is final and nodes report no ledger hash with a transaction, so the ledger number replaces it. The fee is 0 if another
 * account's fee-bump envelope paid it.
 */
export function receiptFrom(hash: string, { found }: NodeView): Receipt | null {
  if (found === null) return null;
  const { ledger, succeeded, facts } = found;
  const receipt: Receipt = { hash: found.hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
  return found.hash === hash ? receipt : withoutFee(receipt);
}

/** Returns a receipt whose fee another account paid. */
export function withoutFee(receipt: Receipt): Receipt {
  return receipt.facts === null ? receipt : { ...receipt, facts: { ...receipt.facts, feePaid: 0n } };
}

/** Returns the name that replaces the hash of a ledger. */
export function ledgerName(number: bigint): string {
  return `ledger ${number}`;
}
