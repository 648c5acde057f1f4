import { DomainError } from '../errors.js';
import { laneOf, type Relayer } from '../relayer/relayer.js';
import { cancelTransaction } from './cancel-transaction.js';
import type { TransactionDeps } from './send-transaction.js';

/** What became of each waiting transaction. */
export interface DeletedPending {
  /** Cancelled, or being cancelled. */
  readonly canceledIds: readonly string[];
  /** Could not be cancelled; they go on. */
  readonly failedIds: readonly string[];
}

/** Transactions that are cancelled at once, so that one call never has the whole lane at a node. */
const atOnce = 16;

/** Cancels every waiting transaction of a relayer, the newest first: what is not signed yet ends at once, and takes no nonce meanwhile. */
export async function deletePendingTransactions(deps: TransactionDeps, relayer: Relayer): Promise<DeletedPending> {
  const waiting = (await deps.store.read.openTransactions(laneOf(relayer)))
    .map(({ transaction }) => transaction)
    .filter(({ relayerId, status, intent }) => relayerId === relayer.id && status !== 'mined' && intent !== 'expire')
    .reverse();
  const canceledIds: string[] = [];
  const failedIds: string[] = [];
  for (let start = 0; start < waiting.length; start += atOnce) {
    await Promise.all(
      waiting.slice(start, start + atOnce).map(async ({ id }) => {
        try {
          await cancelTransaction(deps, relayer, id);
          canceledIds.push(id);
        } catch (error) {
          if (!(error instanceof DomainError)) throw error;
          failedIds.push(id);
        }
      }),
    );
  }
  return { canceledIds, failedIds };
}
