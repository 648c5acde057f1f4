import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Draft, Prerequisite, Refusal } from '../../core/ports/chain/drafts.js';
import { ConflictError } from '../../core/ports/store/change.js';
import { isActive, type RelayerPolicies } from '../../core/records/relayer.js';
import { approvalsOf, type OpenTransaction } from '../../core/records/transaction.js';
import { replacedInPlace, signed } from '../../core/transaction/lifecycle.js';
import { newTransaction } from '../../core/transaction/send-transaction.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import { validUntilWith } from '../../core/transaction/valid-until.js';
import { slotsLeft } from './capacity.js';
import { commitMoves } from './commit-moves.js';
import { isExpired, latestMs } from './is-expired.js';
import type { LaneContext } from './lane-context.js';
import { type Drafted, isUnmoved } from './sign-drafts.js';

/** The label of a transaction that the service sends before another one: that one's id. */
const label = 'needed_by';

/** The draft of a transaction that must be mined before `open`. */
export interface DraftedFirst extends Drafted {
  readonly first: Prerequisite;
}

/**
 * Turns a refusal that ends once another transaction is mined into a reason to wait, if that one was sent. It is sent once: if nodes ask
 * for it again after it has ended, they are believed only if they go on.
 */
export function afterFirst({ transactions }: LaneContext, refusal: Refusal): Refusal {
  const { first } = refusal;
  if (first === undefined || first.sent === null || !refusal.lasting) return refusal;
  const sent = transactions.tracked(first.sent)?.transaction;
  const { refused, sentence } = refusal;
  if (sent !== undefined && sent.mined === null) return { refused, sentence: waitsForFirst(first, first.sent), lasting: false };
  return { refused, sentence: `${sentence}; transaction ${first.sent}, which was sent for that, did not`, lasting: false, isDoubted: true };
}

function waitsForFirst({ does }: Prerequisite, id: string): string {
  return `waiting: transaction ${id} ${does}; will send when that is mined`;
}

/** Drafts the transaction that must be mined before this one; null: no node answered. */
export async function draftFirst(
  lane: LaneContext,
  { transaction }: OpenTransaction,
  { content }: Prerequisite,
): Promise<Draft | Refusal | null> {
  const { validUntilMs } = transaction;
  const approval = { approvals: approvalsOf(transaction) };
  const request = { relayer: lane.relayer(), content, outbids: [], validUntilMs, nextNonce: lane.numbers.next, ...approval };
  return lane.chain.draft(request).catch(nullIfUnavailable);
}

/**
 * Signs a transaction that must be mined before `open`, as a transaction of its own in the next slot, and stores both in one commit: after
 * a kill, either none of it is stored, or the record of `open` names it. Nothing is stored if anything has changed since the draft.
 */
export async function signFirst(lane: LaneContext, { open, draft, first }: DraftedFirst, policies: RelayerPolicies): Promise<void> {
  const { deps } = lane;
  const relayer = lane.relayer();
  const { id, validUntilMs, traceParent } = open.transaction;
  const { content } = first;
  const nonce = lane.numbers.next;
  const tags = { externalId: null, labels: [{ key: label, value: id }] };
  // What the caller wants needs the approval, and has it.
  const transaction = newTransaction(deps, relayer, { content, statusReason: null, validUntilMs, traceParent, tags, approval: null });
  const before = { transaction, attempts: [] };
  const newAttempt = await signAttempt(deps, relayer, before, { draft, nonce, purpose: 'content' });
  const wanted = { content, validUntilMs: validUntilWith(transaction, newAttempt), approval: null };
  const move = { steps: [signed(transaction, newAttempt, wanted)] as const, newAttempt };
  const needing = {
    content: first.neededBy(transaction.id),
    validUntilMs,
    statusReason: waitsForFirst(first, transaction.id),
    approval: open.transaction.approval,
  };
  await lane.records.exclusively([id], async () => {
    const isCurrent = isActive(lane.relayer()) && policies === lane.relayer().policies && isUnmoved(lane, open);
    if (!isCurrent || lane.numbers.next !== nonce || slotsLeft(lane) <= 0 || isExpired(open, latestMs(lane))) return;
    const planned = [
      { before, move, isNew: true },
      { before: open, move: { steps: [replacedInPlace(open.transaction, needing)] as const } },
    ] as const;
    try {
      await lane.numbers.take(nonce, nonce + 1n, (changes) => commitMoves(lane, planned, changes));
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await lane.records.reload([id]);
    }
  });
}
