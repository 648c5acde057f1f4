import { DomainError } from '../errors/errors.js';
import type { NeededApproval } from '../records/judgement.js';
import { type Approval, type ApprovalDecision, awaitsApproval, changed, type Transaction } from '../records/transaction.js';

/*
 * The approvals of a transaction. What its content needs is decided when that is accepted, and stays when rules change. New content begins
 * without approvals. A decision is a step of the record like any other, guarded by its revision, so of several that race one counts.
 */

/** Returns the approval that new content needs; null: none. `senders`: the keys that sent the transaction or replaced its content. */
export function neededApproval(needed: NeededApproval | null, senders: readonly (string | null)[], nowMs: number): Approval | null {
  if (needed === null) return null;
  const { ruleId, required, withinMs } = needed;
  const keys = new Set(senders.filter((key) => key !== null));
  return { ruleId, required, senders: [...keys], given: [], rejected: null, expiresAtMs: nowMs + withinMs };
}

/** The status reason of a transaction that waits for approvals. */
export function approvalReason({ given, required, ruleId }: Approval): string {
  return `waiting: ${given.length} of ${required} approvals that the rule ${ruleId} asks for; will send when all are given`;
}

/** The status reason of a transaction that was not approved in time. */
export function unapprovedReason({ given, required }: Approval): string {
  return `not approved in time: it has ${given.length} of ${required} approvals`;
}

/**
 * Records the approval of a key, and drops approvals of keys that are not usable any more. `statusReason`: why the transaction waits if
 * that was the last one.
 */
export function approved(
  transaction: Transaction,
  { apiKeyId, atMs, isUsable }: ApprovalDecision & { isUsable(apiKeyId: string): boolean },
  statusReason: string,
): Transaction {
  const before = approvalOf(transaction);
  const approval = { ...before, given: [...before.given.filter((one) => isUsable(one.apiKeyId)), { apiKeyId, atMs }] };
  const reason = awaitsApproval({ approval }) ? approvalReason(approval) : statusReason;
  return changed(transaction, { approval, statusReason: reason }, transaction.revision + 1);
}

/** Ends a transaction that a key rejects. */
export function rejected(transaction: Transaction, apiKeyId: string, nowMs: number): Transaction {
  const approval = { ...approvalOf(transaction), rejected: { apiKeyId, atMs: nowMs } };
  const ended = { status: 'canceled', intent: 'cancel', statusReason: `rejected by the API key ${apiKeyId}`, approval } as const;
  return changed(transaction, ended, transaction.revision + 1);
}

/** When the transaction could be sent first: when it was accepted, or had its last approval. */
export function readyAtMs({ createdAtMs, approval }: Pick<Transaction, 'createdAtMs' | 'approval'>): number {
  return Math.max(createdAtMs, approval?.given.at(-1)?.atMs ?? createdAtMs);
}

/** Returns the approval of a transaction that waits for it. Throws 400 if it needs none, or has all. */
export function approvalOf({ id, approval }: Transaction): Approval {
  if (approval !== null && awaitsApproval({ approval })) return approval;
  const sentence = approval === null ? 'the transaction needs no approval' : 'the transaction has all approvals that it needs';
  throw new DomainError('precondition', 'APPROVAL_NOT_NEEDED', sentence, { metadata: { transaction_id: id } });
}
