import type { Chain } from '../core/ports/chain.js';
import type { Change, OpenTransaction } from '../core/ports/store.js';
import { endedUnsigned, signed, waiting } from '../core/transaction/lifecycle.js';
import { isRefusal } from '../core/transaction/refusal-error.js';
import type { TransactionDeps } from '../core/transaction/send-transaction.js';
import { signVersion } from '../core/transaction/sign-version.js';
import type { Transaction } from '../core/transaction/transaction.js';
import { transactionChanges } from '../core/transaction/transaction-changes.js';
import type { LaneState } from './lane-state.js';

/** After this long a transaction that could not be prepared is tried again. */
const retryAfterMs = 1_000;

/**
 * Makes the first version of a pending transaction: estimated, priced, checked for funds, signed, and stored together with the nonce it takes, in one
 * commit. Nothing is stored that could not go: a refusal takes no nonce. A refusal that will not pass fails the transaction, any other waits.
 *
 * The commit asserts the revision that the version was made from, so content that was replaced meanwhile is never signed over.
 * Resolves to what was stored; null when nothing was signed. Throws `ConflictError` when another write came between, `NODE_UNAVAILABLE` when no node can be asked.
 */
export async function prepare(
  deps: TransactionDeps,
  chain: Chain,
  lane: LaneState,
  transaction: Transaction,
): Promise<OpenTransaction | null> {
  const nowMs = deps.clock.nowMs();
  if (nowMs < (lane.notBeforeMs.get(transaction.id) ?? 0)) return null;
  const draft = await chain.draft({
    account: transaction.account,
    policies: lane.relayer.policies,
    content: transaction.content,
    outbids: [],
  });
  if (isRefusal(draft)) {
    if (draft.lasting) {
      await deps.store.commit(
        transactionChanges(deps, lane.relayer, transaction, endedUnsigned(transaction, 'failed', draft.sentence), []),
      );
    } else {
      lane.notBeforeMs.set(transaction.id, nowMs + retryAfterMs);
      if (transaction.statusReason !== draft.sentence) {
        await deps.store.commit(transactionChanges(deps, lane.relayer, transaction, waiting(transaction, draft.sentence), []));
      }
    }
    return null;
  }
  const slot = await takeNonce(deps, lane, transaction);
  const attempt = await signVersion(deps, lane.relayer, transaction, draft, slot.nonce, 'content');
  const after = signed(transaction, attempt);
  await deps.store.commit([
    ...slot.changes,
    ...transactionChanges(deps, lane.relayer, transaction, after, [attempt], { newAttempt: attempt }),
  ]);
  lane.notBeforeMs.delete(transaction.id);
  return { transaction: after, attempts: [attempt] };
}

/** The lane's next nonce: after all that we signed and after all that the chain counts. The changes take it, and fail where another took it. */
async function takeNonce(deps: TransactionDeps, lane: LaneState, transaction: Transaction): Promise<{ nonce: bigint; changes: Change[] }> {
  const { change, read } = deps.store;
  const stored = await read.nextNonce(transaction);
  const nonce = stored === undefined || stored < lane.chainNonce ? lane.chainNonce : stored;
  const from = stored ?? nonce;
  const opening = stored === undefined ? [change.openLane(transaction, from)] : [];
  return { nonce, changes: [...opening, change.moveLane(transaction, from, nonce + 1n)] };
}
