import type { ContentRequest } from '../ports/chain.js';
import { ConflictError } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { replacedInPlace } from './lifecycle.js';
import { outbid } from './outbid.js';
import { requirePolicy } from './policy.js';
import { requireWaiting } from './replaceable.js';
import { type Alongside, nothingAlongside, type TransactionDeps, type WantedTransaction } from './send-transaction.js';
import type { Content, Speed, TransactionView } from './transaction.js';
import { transactionChanges } from './transaction-changes.js';
import { readValidUntil } from './valid-until.js';

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
  for (;;) {
    const { transaction } = await findTransaction(deps.store.read, relayer.id, transactionId);
    requireWaiting(transaction, 'replaced');
    const replacement: Replacement = {
      content: wantedContent(wanted.request, transaction.content),
      validUntilMs: validUntilMs ?? transaction.validUntilMs,
    };
    try {
      if (transaction.nonce === null) {
        const after = replacedInPlace(transaction, replacement.content, replacement.validUntilMs);
        const view: TransactionView = { transaction: after, shown: null };
        await deps.store.commit([...transactionChanges(deps, relayer, transaction, after, [], { tell: true }), ...alongside(view)]);
        deps.lanes.wake(transaction);
        return view;
      }
      const view = await deps.lanes.run(transaction, () => outbid(deps, relayer, transactionId, 'content', replacement, alongside));
      if (view !== null) return view;
    } catch (error) {
      // Another write came between: look again.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  function wantedContent(request: ContentRequest, earlier: Content): Content {
    return chain.contentOf(request, speedOf(earlier));
  }
}

/** What the transaction becomes. */
export interface Replacement {
  readonly content: Content;
  readonly validUntilMs: number | null;
}

function speedOf(content: Content): Speed | null {
  return content.pricing.kind === 'speed' ? content.pricing.speed : null;
}
