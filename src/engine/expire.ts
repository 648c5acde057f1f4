import type { OpenTransaction } from '../core/ports/store.js';
import { endedUnsigned } from '../core/transaction/lifecycle.js';
import { outbid } from '../core/transaction/outbid.js';
import type { TransactionDeps } from '../core/transaction/send-transaction.js';
import { transactionChanges } from '../core/transaction/transaction-changes.js';
import type { LaneState } from './lane-state.js';

/** After this long an expiry that could not be carried out is tried again. */
const retryAfterMs = 1_000;

/** True when the transaction is not wanted any more, and nothing was done about it yet. */
export function isExpired({ transaction }: OpenTransaction, nowMs: number): boolean {
  return (
    transaction.validUntilMs !== null && transaction.validUntilMs <= nowMs && transaction.intent === 'content' && transaction.mined === null
  );
}

/**
 * Ends a transaction whose `valid_until` has passed: at once when nothing is signed, else by a self-transfer that outbids it in its slot.
 * Throws `DomainError` when the self-transfer cannot be made now, `ConflictError` when another write came between.
 */
export async function expire(deps: TransactionDeps, lane: LaneState, { transaction }: OpenTransaction): Promise<void> {
  const nowMs = deps.clock.nowMs();
  if (nowMs < (lane.notBeforeMs.get(transaction.id) ?? 0)) return;
  lane.notBeforeMs.set(transaction.id, nowMs + retryAfterMs);
  if (transaction.nonce === null) {
    await deps.store.commit(
      transactionChanges(deps, lane.relayer, transaction, endedUnsigned(transaction, 'expired', 'valid_until passed'), []),
    );
  } else {
    await outbid(deps, lane.relayer, transaction.id, 'expire', null);
  }
}
