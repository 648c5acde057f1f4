import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { signed } from './lifecycle.js';
import { isRefusal, refusalError } from './refusal-error.js';
import type { Replacement } from './replace-transaction.js';
import { requireWaiting } from './replaceable.js';
import { type Alongside, nothingAlongside, type TransactionDeps } from './send-transaction.js';
import { signVersion } from './sign-version.js';
import type { Intent, TransactionView } from './transaction.js';
import { transactionChanges } from './transaction-changes.js';

/**
 * Signs and stores a version that outbids all earlier ones of a signed transaction in its slot; its broadcast is the lane's next work.
 * To be run in the lane. `replacement` is the new content; null takes the slot by a self-transfer.
 *
 * Resolves to null when the transaction has no slot any more. Throws as `replaceTransaction`.
 */
export async function outbid(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  purpose: Intent,
  replacement: Replacement | null,
  alongside: Alongside = nothingAlongside,
): Promise<TransactionView | null> {
  const { transaction } = await findTransaction(deps.store.read, relayer.id, transactionId);
  requireWaiting(transaction, purpose === 'content' ? 'replaced' : 'cancelled');
  if (transaction.nonce === null) return null;
  const attempts = await deps.store.read.attemptsOf(transactionId);
  const draft = await deps.directory.chainOf(relayer).draft({
    account: transaction.account,
    policies: relayer.policies,
    content: replacement?.content ?? 'self_transfer',
    outbids: attempts,
  });
  if (isRefusal(draft)) throw refusalError(draft);
  const attempt = await signVersion(deps, relayer, transaction, draft, transaction.nonce, purpose);
  const after = signed(transaction, attempt, replacement ?? transaction);
  const view: TransactionView = { transaction: after, shown: attempt };
  const changes = transactionChanges(deps, relayer, transaction, after, [...attempts, attempt], { newAttempt: attempt, tell: true });
  await deps.store.commit([...changes, ...alongside(view)]);
  deps.lanes.wake(transaction);
  return view;
}
