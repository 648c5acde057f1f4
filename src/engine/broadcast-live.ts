import type { Chain } from '../core/ports/chain.js';
import type { OpenTransaction } from '../core/ports/store.js';
import { submitted, waiting } from '../core/transaction/lifecycle.js';
import type { TransactionDeps } from '../core/transaction/send-transaction.js';
import { shownAttempt, transactionChanges } from '../core/transaction/transaction-changes.js';
import type { LaneState } from './lane-state.js';

/** After this long a version that a node took, and no block holds, is broadcast again: nodes forget. */
const rebroadcastAfterMs = 30_000;
/** After this long a version that no node took is tried again. */
const retryAfterMs = 1_000;

/**
 * Broadcasts the transaction's live version, if it is due. "Already known" is success. An answer never fails a transaction: a stored version
 * counts as out, and only the chain says what became of it.
 */
export async function broadcastLive(
  deps: TransactionDeps,
  chain: Chain,
  lane: LaneState,
  { transaction, attempts }: OpenTransaction,
): Promise<void> {
  const live = shownAttempt(transaction, attempts);
  const nowMs = deps.clock.nowMs();
  if (live === null || transaction.mined !== null) return;
  if (nowMs - (lane.takenAtMs.get(live.hash) ?? Number.NEGATIVE_INFINITY) < rebroadcastAfterMs) return;
  if (nowMs < (lane.notBeforeMs.get(live.hash) ?? 0)) return;

  const outcome = await chain.broadcast(live.raw);
  switch (outcome.kind) {
    case 'accepted':
    case 'known': {
      lane.takenAtMs.set(live.hash, nowMs);
      lane.notBeforeMs.delete(live.hash);
      const after = submitted(transaction, nowMs);
      const isNews =
        after.status !== transaction.status || after.statusReason !== transaction.statusReason || after.sentAtMs !== transaction.sentAtMs;
      if (isNews) await deps.store.commit(transactionChanges(deps, lane.relayer, transaction, after, attempts));
      return;
    }
    case 'nonce_used':
      // Some version took the slot, ours or another's: the next head tells.
      lane.notBeforeMs.set(live.hash, nowMs + retryAfterMs);
      return;
    case 'underpriced':
    case 'wait':
    case 'unknown': {
      lane.notBeforeMs.set(live.hash, nowMs + retryAfterMs);
      const reason = `no node takes it yet, it is tried again: ${outcome.sentence}`;
      if (transaction.statusReason !== reason)
        await deps.store.commit(transactionChanges(deps, lane.relayer, transaction, waiting(transaction, reason), attempts));
    }
  }
}
