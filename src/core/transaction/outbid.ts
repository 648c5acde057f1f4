import type { SaveResponse } from '../access/idempotency.js';
import { DomainError } from '../errors.js';
import { isRefusal, type Refusal } from '../ports/chain.js';
import type { Move } from '../ports/lanes.js';
import type { OpenTransaction } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { signed } from './lifecycle.js';
import type { TransactionDeps } from './send-transaction.js';
import { signAttempt } from './sign-attempt.js';
import { type Attempt, type Content, type Intent, isSigned, type TransactionView } from './transaction.js';

/** What the transaction becomes. */
export interface Replacement {
  readonly content: Content;
  readonly validUntilMs: number | null;
}

/**
 * Signs and stores a version that outbids all earlier ones of a signed transaction in its slot; the lane broadcasts it next.
 *
 * The version is made from `seen` without holding up the lane, and stored only when the transaction is still as it was seen. `replacement` is the new
 * content; null takes the slot by a version that does nothing. `require` throws when the transaction may not be changed so. `why`: what a `yield` tells.
 *
 * Resolves to null when the transaction has moved meanwhile: look again. Where the newest version says the very same, it stays and none is signed.
 * Throws DomainError: 400 when the version cannot be made, 503 `NODE_UNAVAILABLE`.
 */
export async function outbid(
  deps: TransactionDeps,
  relayer: Relayer,
  seen: OpenTransaction,
  purpose: Intent,
  replacement: Replacement | null,
  require: (current: OpenTransaction) => void,
  saveResponse?: SaveResponse<TransactionView>,
  why: string | null = null,
): Promise<OpenTransaction | null> {
  const draft = await deps.directory.chainOf(relayer).draft({
    relayer,
    content: replacement?.content ?? 'filler',
    outbids: attemptsInSlot(seen),
    validUntilMs: replacement?.validUntilMs ?? null,
  });
  if (isRefusal(draft)) throw refusalError(draft);
  return deps.lanes.move(seen.transaction, seen.transaction.id, async (current) => {
    require(current);
    const { transaction, attempts } = current;
    const isUnmoved = isSigned(transaction) && transaction.nonce === seen.transaction.nonce && attempts.length === seen.attempts.length;
    if (!isUnmoved) return null;
    const newAttempt = await signAttempt(deps, relayer, current, draft, transaction.nonce, purpose);
    const move: Move = {
      steps: [signed(why === null ? transaction : { ...transaction, statusReason: why }, newAttempt, replacement ?? transaction)],
      tell: true,
      saveResponse,
    };
    const live = attempts.at(-1);
    // What nodes refused needs not be outbid, so the very same may be wanted again: it is out already.
    if (live?.hash === newAttempt.hash && live.purpose === purpose)
      return { ...move, steps: [signed(transaction, live, replacement ?? transaction)] };
    await requireNew(deps, newAttempt);
    return { ...move, newAttempt };
  });
}

/** Throws 400 where a version that stands alone would be one with another on chain. */
async function requireNew({ store }: TransactionDeps, { chain, hash, nonce }: Attempt): Promise<void> {
  const owner = nonce === null ? await store.read.transactionIdOf(chain, hash) : undefined;
  if (owner !== undefined)
    throw new DomainError('invalid', 'FIELD_INVALID', `transaction ${owner} says the very same, down to its signature`);
}

/** The versions that share the transaction's present slot: all of them where it stands alone. */
export function attemptsInSlot({ transaction, attempts }: OpenTransaction): OpenTransaction['attempts'] {
  return attempts.filter(({ nonce }) => nonce === transaction.nonce);
}

/** The 400 that a caller gets whose replacement or cancel the chain refuses. */
function refusalError(refusal: Refusal): DomainError {
  switch (refusal.refused) {
    case 'reverts':
      return new DomainError('invalid', 'EXECUTION_REVERTED', refusal.sentence);
    case 'insufficient_funds':
      return new DomainError('precondition', 'INSUFFICIENT_FUNDS', refusal.sentence);
    case 'above_cap':
      return new DomainError('invalid', 'GAS_PRICE_CAP_EXCEEDED', refusal.sentence);
    case 'underpriced':
      return new DomainError('invalid', 'REPLACEMENT_UNDERPRICED', refusal.sentence);
    case 'gas_limit':
      return new DomainError('invalid', 'FIELD_INVALID', refusal.sentence, {
        fields: [{ field: 'gas_limit', description: refusal.sentence }],
      });
  }
}
