import { DomainError } from '../errors.js';
import type { Chain } from '../ports/chain.js';
import type { Move } from '../ports/lanes.js';
import type { OpenTransaction } from '../ports/store.js';
import { laneOf, type Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { endedUnsigned, givenUp, requireWaiting } from './lifecycle.js';
import { outbid } from './outbid.js';
import type { TransactionDeps } from './send-transaction.js';
import { isSigned, type Transaction, type TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

/**
 * Cancels a waiting transaction: at once when nothing is signed, else by a version that does nothing and outbids it in its slot; where it stands alone
 * it is not sent again, and ends once what is out can no longer be mined.
 * A second cancel changes nothing. Throws 404; 400 when it waits no more or cannot be cancelled; 503 with nothing changed.
 */
export async function cancelTransaction(deps: TransactionDeps, relayer: Relayer, transactionId: string): Promise<TransactionView> {
  const chain = deps.directory.chainOf(relayer);
  for (;;) {
    const view = await findTransaction(deps.store.read, relayer.id, transactionId);
    const { transaction } = view;
    if (isCancelAccepted(transaction)) return view;
    requireWaiting(transaction, 'cancelled');
    const seen = { transaction, attempts: await deps.store.read.attemptsOf(transactionId) };
    const canceled =
      isSigned(transaction) && transaction.nonce !== null
        ? await outbid(deps, relayer, seen, 'cancel', null, (current) => {
            // Another cancel came first: the next look finds it.
            if (!isCancelAccepted(current.transaction)) requireWaiting(current.transaction, 'cancelled');
          })
        : await deps.lanes.move(transaction, transactionId, (current) => withoutNodes(chain, current));
    if (canceled !== null) return viewOf(canceled);
  }
}

/** A cancel that needs no node; null: the transaction has moved on to where another way is right. */
function withoutNodes(chain: Chain, { transaction, attempts }: OpenTransaction): Move | null {
  if (isCancelAccepted(transaction)) return null;
  requireWaiting(transaction, 'cancelled');
  if (!isSigned(transaction)) return { steps: [endedUnsigned(transaction, 'canceled', 'cancelled before it was signed')] };
  if (transaction.nonce !== null) return null;
  for (const attempt of attempts) {
    const sentence = chain.unsequenced?.whyEndless(attempt);
    if (typeof sentence === 'string') throw new DomainError('precondition', 'CANCEL_NOT_POSSIBLE', sentence);
  }
  return { steps: [givenUp(transaction, 'cancel')], tell: true };
}

function isCancelAccepted({ intent, status }: Transaction): boolean {
  return intent === 'cancel' && (status === 'canceled' || status === 'pending' || status === 'sent' || status === 'submitted');
}

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
