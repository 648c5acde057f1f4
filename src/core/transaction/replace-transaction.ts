import type { SaveResponse } from '../access/idempotency.js';
import { DomainError } from '../errors.js';
import type { Chain, ContentRequest } from '../ports/chain.js';
import type { Move } from '../ports/lanes.js';
import type { OpenTransaction } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { replacedInPlace, replacementQueued, requireWaiting } from './lifecycle.js';
import { outbid, type Replacement } from './outbid.js';
import type { TransactionDeps } from './send-transaction.js';
import { type Content, isSigned, type Transaction, type TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

/** Throws 400 where what is out and what is to replace it would be mined beside one another. */
function requireSameSlot(chain: Chain, transaction: Transaction, content: Content): void {
  if (!isSigned(transaction) || chain.isUnsequenced(content) === (transaction.nonce === null)) return;
  const sentence =
    transaction.nonce === null
      ? "what is out is a signed envelope of somebody else's, which only another envelope of the same source and sequence number can replace"
      : "what is out has a sequence number of the relayer's account, which a signed envelope of somebody else's cannot take";
  throw new DomainError('invalid', 'FIELD_INVALID', sentence);
}

/**
 * Gives a waiting transaction new content: same id, slot and sender.
 *
 * Nothing signed yet: in place, no node is asked. Else the new version is estimated, priced above all earlier ones, checked for funds and signed
 * now; it is stored when this resolves, and its broadcast has begun. Where versions cannot outbid one another the new content is queued, in the place of
 * what was queued before, until what is out can no longer be mined. Throws 404; 400 for a bad request, a state that allows no replacement, or a
 * version that cannot be made; 503 `NODE_UNAVAILABLE` with nothing changed.
 */
export async function replaceTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  request: ContentRequest,
  saveResponse?: SaveResponse<TransactionView>,
): Promise<TransactionView> {
  const chain = deps.directory.chainOf(relayer);
  const wantedOver = (earlier: Content | null) => chain.contentOf(request, { relayer, nowMs: deps.clock.nowMs(), earlier });
  // The body is judged before the transaction is looked for; what it leaves out may fall back to the transaction's, so it is read again below.
  wantedOver(null);
  const require = (current: OpenTransaction) => requireWaiting(current.transaction, 'replaced');
  const replacementOf = ({ transaction }: OpenTransaction): Replacement => {
    const { content, validUntilMs } = wantedOver(transaction.queued ?? transaction.content);
    requireSameSlot(chain, transaction, content);
    return { content, validUntilMs: validUntilMs ?? transaction.validUntilMs };
  };
  const isHeldBack = ({ transaction }: OpenTransaction) =>
    isSigned(transaction) && transaction.nonce === null && chain.unsequenced?.replacement === 'queue';

  /** What needs no node; null: the transaction has moved on to where another way is right. */
  function withoutNodes(current: OpenTransaction): Move | null {
    require(current);
    const { transaction } = current;
    const { content, validUntilMs } = replacementOf(current);
    if (!isSigned(transaction)) return { steps: [replacedInPlace(transaction, content, validUntilMs)], tell: true, saveResponse };
    if (!isHeldBack(current)) return null;
    return { steps: [replacementQueued(transaction, content, validUntilMs)], tell: true, saveResponse };
  }

  for (;;) {
    const { transaction } = await findTransaction(deps.store.read, relayer.id, transactionId);
    requireWaiting(transaction, 'replaced');
    const seen = { transaction, attempts: await deps.store.read.attemptsOf(transactionId) };
    const replaced =
      !isSigned(transaction) || isHeldBack(seen)
        ? await deps.lanes.move(transaction, transactionId, withoutNodes)
        : await outbid(deps, relayer, seen, 'content', replacementOf(seen), require, saveResponse);
    if (replaced !== null) return viewOf(replaced);
  }
}
