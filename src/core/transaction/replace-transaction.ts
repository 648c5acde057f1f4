import type { OpenTransaction } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { replacedInPlace } from './lifecycle.js';
import { outbid } from './outbid.js';
import { requirePolicy } from './policy.js';
import { requireWaiting } from './replaceable.js';
import { type Alongside, nothingAlongside, type TransactionDeps, type WantedTransaction } from './send-transaction.js';
import type { Content, Speed, TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';
import { readValidUntil } from './valid-until.js';

/** What the transaction becomes. */
export interface Replacement {
  readonly content: Content;
  readonly validUntilMs: number | null;
}

/**
 * Gives a waiting transaction new content: same id, slot and sender.
 *
 * Nothing signed yet: in place, no node is asked. Else the new version is estimated, priced above all earlier ones, checked for funds and signed
 * now; it is stored when this resolves, and its broadcast has begun. Throws 404; 400 for a bad request, a state that allows no replacement, or a
 * version that cannot be made; 503 `NODE_UNAVAILABLE` with nothing changed.
 */
export async function replaceTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  transactionId: string,
  wanted: WantedTransaction,
  alongside: Alongside = nothingAlongside,
): Promise<TransactionView> {
  const chain = deps.directory.chainOf(relayer);
  const validUntilMs = readValidUntil(wanted.validUntil, deps.clock.nowMs());
  // The body is judged before the transaction is looked for; its speed may fall back to the transaction's, so it is read again below.
  requirePolicy(relayer, chain.contentOf(wanted.request, null));
  const require = (current: OpenTransaction) => requireWaiting(current.transaction, 'replaced');
  const replacementOf = ({ transaction }: OpenTransaction): Replacement => ({
    content: chain.contentOf(wanted.request, speedOf(transaction.content)),
    validUntilMs: validUntilMs ?? transaction.validUntilMs,
  });

  for (;;) {
    const { transaction } = await findTransaction(deps.store.read, relayer.id, transactionId);
    requireWaiting(transaction, 'replaced');
    const seen = { transaction, attempts: await deps.store.read.attemptsOf(transactionId) };
    const replaced =
      transaction.nonce === null
        ? await deps.lanes.move(transaction, transactionId, (current) => {
            require(current);
            if (current.transaction.nonce !== null) return null;
            const { content, validUntilMs } = replacementOf(current);
            return { steps: [replacedInPlace(current.transaction, content, validUntilMs)], tell: true, alongside };
          })
        : await outbid(deps, relayer, seen, 'content', replacementOf(seen), require, alongside);
    if (replaced !== null) return viewOf(replaced);
  }
}

function speedOf(content: Content): Speed | null {
  return content.pricing.kind === 'speed' ? content.pricing.speed : null;
}
