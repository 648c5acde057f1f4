import { DomainError } from '../errors/errors.js';
import type { Move } from '../ports/lanes.js';
import type { Relayer } from '../records/relayer.js';
import { isApproved, isFinal, type OpenTransaction, type Transaction, type TransactionView } from '../records/transaction.js';
import { approvalOf, approved, rejected } from './approval.js';
import { findWithAttempts } from './find-transaction.js';
import { requireInTime, requireRevision, requireWaiting } from './lifecycle.js';
import type { TransactionDeps } from './send-transaction.js';
import { viewOf } from './transaction-changes.js';

/** Who decides about a transaction, and what was seen of it. */
export interface DecidedBy {
  readonly apiKeyId: string;
  /** The revision that was seen, which the transaction must have. */
  readonly expectedRevision: bigint;
}

/** Who approves. */
interface ApprovedBy extends DecidedBy {
  /** False for a key that was revoked or has expired: its approval does not count any more. */
  isUsable(apiKeyId: string): boolean;
}

/**
 * Approves a transaction that waits for it. With the last approval that it needs it goes into the queue of its account. A second approval
 * of a key changes nothing. Approvals of keys that are not usable any more are dropped, so it waits for others. Throws 404; 400 if it does
 * not wait for approval, or no longer; 403 if the key sent it or replaced its content; 412 if the revision is not the expected one.
 */
export function approveTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  { apiKeyId, expectedRevision, isUsable }: ApprovedBy,
): Promise<TransactionView> {
  const isDone = (transaction: Transaction): boolean => {
    const { approval, status } = transaction;
    return approval?.given.some((one) => one.apiKeyId === apiKeyId) === true && (isApproved(transaction) || !isFinal(status));
  };
  return decide(deps, relayer, transactionId, isDone, ({ transaction }) => {
    const nowMs = deps.clock.nowMs();
    requireWaiting(transaction, 'approved');
    const { senders } = approvalOf(transaction);
    requireInTime(transaction, null, nowMs);
    if (senders.includes(apiKeyId)) throw sentByApprover(transaction, apiKeyId);
    requireRevision(transaction, expectedRevision);
    const statusReason = deps.lanes.whyUnsigned(transaction, transaction.content);
    return { steps: [approved(transaction, { apiKeyId, atMs: nowMs, isUsable }, statusReason)], writesEvent: true };
  });
}

/**
 * Rejects a transaction that waits for approval: it ends. A second rejection by the key changes nothing. Throws 404; 400 if it does not
 * wait for approval, or no longer; 412 if the revision is not the expected one.
 */
export function rejectTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  { apiKeyId, expectedRevision }: DecidedBy,
): Promise<TransactionView> {
  const isDone = ({ approval }: Transaction): boolean => approval?.rejected?.apiKeyId === apiKeyId;
  return decide(deps, relayer, transactionId, isDone, ({ transaction }) => {
    requireWaiting(transaction, 'rejected');
    approvalOf(transaction);
    requireRevision(transaction, expectedRevision);
    return { steps: [rejected(transaction, apiKeyId, deps.clock.nowMs())] };
  });
}

/** Makes a decision about the transaction as it is when that is stored. */
async function decide(
  { store, lanes }: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  isDone: (transaction: Transaction) => boolean,
  moveOf: (current: OpenTransaction) => Move,
): Promise<TransactionView> {
  for (;;) {
    const seen = await findWithAttempts(store.read, relayer.id, transactionId);
    if (isDone(seen.transaction)) return viewOf(seen);
    // What cannot be decided is refused, also if it is not open any more.
    moveOf(seen);
    const decided = await lanes.move(seen.transaction, (current) => (isDone(current.transaction) ? null : moveOf(current)));
    if (decided !== null) return viewOf(decided);
  }
}

function sentByApprover({ id }: Transaction, apiKeyId: string): DomainError {
  const sentence = `the API key ${apiKeyId} sent the transaction or replaced its content; another key must approve it`;
  return new DomainError('forbidden', 'APPROVAL_BY_SENDER', sentence, { metadata: { transaction_id: id } });
}
