import { type Transaction, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';

/** True for a transaction that still needs approvals. */
export function needsApproval({ status, approval }: Pick<Transaction, 'status' | 'approval'>): boolean {
  return status === TransactionStatus.PENDING && approval !== undefined && approval.given.length < approval.required;
}

/** Says how many approvals a transaction has, and whose. */
export function approvalText({ approval }: Pick<Transaction, 'approval'>): string {
  if (approval === undefined) return '';
  const keys = approval.given.map(({ apiKeyId }) => apiKeyId);
  return `${approval.given.length} of ${approval.required}${keys.length === 0 ? '' : `: ${keys.join(', ')}`}`;
}
