import { DomainError } from '../errors/errors.js';
import { type Bid, minimumOutbid } from '../fees/price.js';
import { isRefusal, type Refusal } from '../ports/chain/drafts.js';
import type { Move } from '../ports/lanes.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Relayer } from '../records/relayer.js';
import {
  type Approval,
  type Attempt,
  type Content,
  type FailureReason,
  type Intent,
  isSigned,
  type OpenTransaction,
  type TransactionView,
} from '../records/transaction.js';
import { signed } from './lifecycle.js';
import type { TransactionDeps } from './send-transaction.js';
import { signAttempt } from './sign-attempt.js';

/** The new content of a transaction. */
export interface Replacement {
  readonly content: Content;
  readonly validUntilMs: number | null;
  /** A transaction that is signed gets no content that needs approval: null. */
  readonly approval: Approval | null;
  /** See `receiverKeys`. */
  readonly receivers: readonly string[];
  readonly reserve: Move['reserve'];
}

/** An attempt that replaces all earlier ones in its slot. */
export interface Outbid {
  readonly purpose: Intent;
  /** The new content; null: the attempt takes the slot and does nothing. */
  readonly replacement: Replacement | null;
  /** Throws if the transaction, in its current state, may not be changed in this way. */
  readonly require: (current: OpenTransaction) => void;
  readonly saveResponse?: SaveResponse<TransactionView> | undefined;
  /** Attempts in the slot that no node took, which it need not outbid. */
  readonly untaken?: readonly Attempt[];
  /** The obstacle of a `release_slot`: why the transaction will fail. */
  readonly why?: { readonly failureReason: FailureReason; readonly statusReason: string };
}

/**
 * Signs and stores an attempt that outbids all earlier ones of a signed transaction in its slot. The lane broadcasts it next.
 *
 * The attempt is drafted from `seen` without blocking the lane, and stored only if the transaction and the policies are still as seen;
 * otherwise it returns null, and the caller looks again. If the newest attempt is identical, that one stays and nothing new is signed.
 * Throws DomainError: 400 if the attempt cannot be made, 403 if it may cost more than a rule allows, 503 `NODE_UNAVAILABLE` or
 * `SIGNER_UNAVAILABLE`.
 */
export async function outbid(
  deps: TransactionDeps,
  relayer: Relayer,
  seen: OpenTransaction,
  { purpose, replacement, require, saveResponse, untaken = [], why }: Outbid,
): Promise<OpenTransaction | null> {
  const draft = await deps.directory.chainOf(relayer).draft({
    relayer,
    content: replacement?.content ?? 'filler',
    outbids: attemptsInSlot(seen).filter((attempt) => !untaken.includes(attempt)),
    untaken,
    validUntilMs: replacement?.validUntilMs ?? null,
    ...(replacement === null ? { insteadOf: seen.transaction.content } : {}),
  });
  if (isRefusal(draft)) throw refusalError(relayer, draft);
  // Without holding the transaction, since a hosted key may take seconds. It is stored only if the slot still has the same attempts.
  const newAttempt = await signAttempt(deps, relayer, seen, { draft, nonce: seen.transaction.nonce, purpose });
  return deps.lanes.move(seen.transaction, async (current) => {
    require(current);
    const { transaction, attempts } = current;
    const isUnmoved = isSigned(transaction) && transaction.nonce === seen.transaction.nonce && attempts.length === seen.attempts.length;
    // Policies apply to content only: a self-transfer must free its slot.
    if (replacement !== null && (deps.directory.relayer(relayer.id) ?? relayer).policies !== relayer.policies) return null;
    // The replacement may have the `valid_until` as seen, and another replacement, identical to its live attempt, may have set a later one.
    if (!isUnmoved || transaction.validUntilMs !== seen.transaction.validUntilMs) return null;
    const before = { ...transaction, ...why };
    const move = { writesEvent: true, saveResponse, receivers: replacement?.receivers, reserve: replacement?.reserve };
    const live = attempts.at(-1);
    // An attempt that nodes refused need not be outbid, so the new one may be identical to the live one.
    if (live?.hash === newAttempt.hash && live.purpose === purpose)
      return { ...move, steps: [signed(transaction, live, replacement ?? transaction)] };
    if (untaken.some(({ hash }) => hash === newAttempt.hash)) return null;
    await requireNew(deps, newAttempt);
    return { ...move, steps: [signed(before, newAttempt, replacement ?? transaction)], newAttempt };
  });
}

/** Throws 400 if an attempt of an unsequenced transaction is identical to another transaction's. */
async function requireNew({ store }: TransactionDeps, { chain, hash, nonce }: Attempt): Promise<void> {
  const owner = nonce === null ? await store.read.transactionIdOf(chain, hash) : undefined;
  if (owner === undefined) return;
  throw new DomainError('invalid', 'FIELD_INVALID', `the new content is identical to transaction ${owner} (same signature); change it`, {
    metadata: { transaction_id: owner },
  });
}

/** Returns the attempts in the transaction's present slot: for an unsequenced transaction, all of them. */
export function attemptsInSlot({ transaction, attempts }: OpenTransaction): OpenTransaction['attempts'] {
  return attempts.filter(({ nonce }) => nonce === transaction.nonce);
}

/**
 * Returns the minimum bid that replaces all attempts in the transaction's slot; null if none is signed, or the network has no bids of this
 * kind.
 */
export function minimumReplacementBid(open: OpenTransaction): Bid | null {
  return minimumOutbid(attemptsInSlot(open).flatMap(({ fields }) => (fields.network === 'evm' ? [fields.price] : [])));
}

/** Returns the earlier attempts in the slot that do the same as this one at another price, newest first. */
export function earlierAlike(open: OpenTransaction, live: Attempt): readonly Attempt[] {
  return attemptsInSlot(open)
    .filter((attempt) => attempt.version < live.version && attempt.purpose === live.purpose && doesTheSame(attempt, live))
    .toReversed();
}

function doesTheSame({ hash, fields }: Attempt, live: Attempt): boolean {
  const other = live.fields;
  if (fields.network === 'evm' && other.network === 'evm')
    return fields.to === other.to && fields.valueWei === other.valueWei && fields.data === other.data;
  if (fields.network === 'stellar' && other.network === 'stellar') return (fields.innerHash ?? hash) === (other.innerHash ?? live.hash);
  return false;
}

/** The error of a replacement or cancel that the chain refuses. */
function refusalError({ id }: Relayer, { refused, sentence, metadata = {}, ruleId }: Refusal): DomainError {
  switch (refused) {
    case 'above_max_cost':
      return new DomainError('forbidden', 'POLICY_DENIED', sentence, {
        metadata: { relayer_id: id, ...(ruleId === undefined ? {} : { rule_id: ruleId }) },
      });
    case 'reverts':
    case 'outdated':
    case 'unusable':
      return new DomainError('invalid', 'EXECUTION_REVERTED', sentence);
    case 'insufficient_funds':
      return new DomainError('precondition', 'INSUFFICIENT_FUNDS', sentence, { metadata });
    case 'above_cap':
    case 'bump_limit':
      return new DomainError('invalid', 'GAS_PRICE_CAP_EXCEEDED', sentence, { metadata });
    case 'underpriced':
      return new DomainError('invalid', 'REPLACEMENT_UNDERPRICED', sentence, { metadata });
    case 'not_allowed':
      return new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', sentence);
    case 'rejected':
      return new DomainError('unavailable', 'NODE_UNAVAILABLE', sentence);
    case 'gas_limit':
      return new DomainError('invalid', 'FIELD_INVALID', sentence, { fields: [{ field: 'gas_limit', description: sentence }], metadata });
  }
}
