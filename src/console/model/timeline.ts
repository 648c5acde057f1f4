import { FailureReason, type Transaction, type TransactionApproval, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import type { WireTime } from './ms-of.js';

/** A step in the life of a transaction. */
export interface Step {
  readonly title: string;
  /** When it happened. Undefined: it has not, or the time is not recorded. */
  readonly at: WireTime | undefined;
  /** Done, going on, not reached yet, or left out because the transaction ended otherwise. */
  readonly state: 'done' | 'now' | 'later' | 'skipped';
  readonly note: string | null;
}

const finals = new Set([TransactionStatus.CONFIRMED, TransactionStatus.FAILED, TransactionStatus.EXPIRED, TransactionStatus.CANCELED]);

/** Returns true if the status never changes again. */
export function isFinal(status: TransactionStatus): boolean {
  return finals.has(status);
}

/** Returns true if the transaction can still be replaced or canceled. */
export function isChangeable(status: TransactionStatus): boolean {
  return status === TransactionStatus.PENDING || status === TransactionStatus.SENT || status === TransactionStatus.SUBMITTED;
}

const endTitles: ReadonlyMap<TransactionStatus, string> = new Map([
  [TransactionStatus.FAILED, 'Failed'],
  [TransactionStatus.EXPIRED, 'Expired'],
  [TransactionStatus.CANCELED, 'Canceled'],
]);

/** Returns the steps of a transaction from its acceptance to its finality. */
export function stepsOf(transaction: Transaction): readonly Step[] {
  const { status, createdAt, sentAt, confirmedAt, blockNumber, updatedAt, approval } = transaction;
  const isOver = isFinal(status);
  const isMined = blockNumber !== undefined || status === TransactionStatus.MINED || status === TransactionStatus.CONFIRMED;
  const isApproved = approval === undefined || approval.given.length >= approval.required;
  const isSent = sentAt !== undefined || isMined;
  const state = (isDone: boolean, isNow: boolean): Step['state'] => (isDone ? 'done' : isOver ? 'skipped' : isNow ? 'now' : 'later');
  return [
    { title: 'Accepted', at: createdAt, state: 'done', note: null },
    ...(approval === undefined ? [] : [approvalStep(approval, state)]),
    { title: 'Signed and broadcast', at: sentAt, state: state(isSent, isApproved), note: null },
    {
      title: 'Mined',
      at: undefined,
      state: state(isMined, isSent),
      note: blockNumber === undefined ? null : `block ${blockNumber}`,
    },
    {
      title: endTitles.get(status) ?? 'Confirmed',
      at: confirmedAt ?? (isOver ? updatedAt : undefined),
      state: state(isOver, isMined),
      note: null,
    },
  ];
}

/** The step of the approvals that a rule asks for; its note names the keys that have decided. */
function approvalStep({ required, given, rejected }: TransactionApproval, state: (isDone: boolean, isNow: boolean) => Step['state']): Step {
  const isDone = given.length >= required;
  const keys = given.map(({ apiKeyId }) => apiKeyId).join(', ');
  const count = `${given.length} of ${required}${keys === '' ? '' : `: ${keys}`}`;
  return {
    title: 'Approved',
    at: isDone ? given.at(-1)?.at : undefined,
    state: state(isDone, true),
    note: rejected === undefined ? count : `${count}; rejected by ${rejected.apiKeyId}`,
  };
}

const failureTexts: Readonly<Record<FailureReason, string>> = {
  [FailureReason.UNSPECIFIED]: '',
  [FailureReason.REVERTED]: 'It was mined and reverted: the fee is paid and the nonce is used, but it had no other effect.',
  [FailureReason.WOULD_REVERT]: 'A simulation showed that it would revert, so the service did not send it. Nothing was paid.',
  [FailureReason.INSUFFICIENT_FUNDS]: 'The account could not pay for it while others waited behind it.',
  [FailureReason.DISPLACED]: 'While the service was releasing its slot, a foreign transaction used the nonce.',
  [FailureReason.NEVER_ACCEPTED]: 'No RPC node accepted it as it is.',
  [FailureReason.UNRESOLVABLE]: 'Its outcome can no longer be known. Check the history of the account before you send it again.',
  [FailureReason.FEE_LIMIT]: 'Its fee limit is below what the network needs. Nothing was paid.',
  [FailureReason.GAS_LIMIT]: 'Its gas limit is too low, or above what the network allows. Nothing was paid.',
  [FailureReason.NOT_ALLOWED]:
    'The policies of the relayer do not allow an account that it uses, or a Stellar account that it pays needs a memo. Nothing was paid.',
  [FailureReason.OUTDATED]: 'What the caller signed can no longer be mined. Nothing was paid.',
};

/** Says what a failure means. */
export function failureText(reason: FailureReason): string {
  return failureTexts[reason];
}
