import { DomainError } from '../errors/errors.js';
import type { Chain } from '../ports/chain/chain.js';
import type { Move } from '../ports/lanes.js';
import { laneOf, type Relayer } from '../records/relayer.js';
import { isSigned, type OpenTransaction, type Transaction, type TransactionView } from '../records/transaction.js';
import { findWithAttempts } from './find-transaction.js';
import { endedUnsigned, givenUp, requireRevision, requireWaiting } from './lifecycle.js';
import { outbid } from './outbid.js';
import type { TransactionDeps } from './send-transaction.js';
import { viewOf } from './transaction-changes.js';

/**
 * Cancels a waiting transaction. An unsigned one ends at once. A signed one is outbid in its slot by an attempt that does nothing; an
 * unsequenced one is not broadcast again, and ends when its attempts are dead.
 * A second cancel changes nothing. Throws 404; 400 if it no longer waits or cannot be canceled; 412 if the revision is not the expected one
 * (null: any); 503 with nothing changed.
 */
export async function cancelTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  expectedRevision: bigint | null = null,
): Promise<TransactionView> {
  const chain = deps.directory.chainOf(relayer);
  const require = ({ transaction }: Pick<OpenTransaction, 'transaction'>) => {
    // If another cancel comes first, the next round finds it.
    if (!isCancelAccepted(transaction)) requireWaiting(transaction, 'canceled');
    requireRevision(transaction, expectedRevision);
  };
  for (;;) {
    const seen = await findWithAttempts(deps.store.read, relayer.id, transactionId);
    const { transaction } = seen;
    require(seen);
    if (isCancelAccepted(transaction)) return viewOf(seen);
    const canceled =
      isSigned(transaction) && transaction.nonce !== null
        ? await outbid(deps, relayer, seen, { purpose: 'cancel', replacement: null, require })
        : await deps.lanes.move(transaction, (current) => {
            require(current);
            return withoutNodes(chain, current);
          });
    if (canceled !== null) return viewOf(canceled);
  }
}

/** The cancel that needs no node; null: the transaction has changed and needs `outbid`. */
function withoutNodes(chain: Chain, { transaction, attempts }: OpenTransaction): Move | null {
  if (isCancelAccepted(transaction)) return null;
  if (!isSigned(transaction)) return { steps: [endedUnsigned(transaction, 'canceled', 'canceled before it was signed')] };
  if (transaction.nonce !== null) return null;
  for (const attempt of attempts) {
    const sentence = chain.unsequenced?.whyEndless(attempt);
    if (typeof sentence === 'string')
      throw new DomainError('precondition', 'CANCEL_NOT_POSSIBLE', sentence, { metadata: { transaction_id: transaction.id } });
  }
  return { steps: [givenUp(transaction, 'cancel')], writesEvent: true };
}

function isCancelAccepted({ intent, status }: Transaction): boolean {
  return intent === 'cancel' && (status === 'canceled' || status === 'pending' || status === 'sent' || status === 'submitted');
}

/** The result of canceling a relayer's waiting transactions. */
export interface DeletedPending {
  /** Canceled, or being canceled. */
  readonly canceledIds: readonly string[];
  /** They could not be canceled and go on. */
  readonly failedIds: readonly string[];
}

/** The number of concurrent cancels, so that one call never loads a node with the whole lane. */
const atOnce = 16;

/** Cancels every waiting transaction of a relayer, newest first, so that unsigned ones end before they take a nonce. */
export async function cancelPendingTransactions(deps: TransactionDeps, relayer: Relayer): Promise<DeletedPending> {
  const waiting = (await deps.store.read.openSummaries(laneOf(relayer)))
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
