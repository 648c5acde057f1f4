import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';

/** The meaning of one result code with which a node rejects a transaction (stellar-core, `TransactionResultCode`). */
export interface BroadcastRule {
  readonly outcome: Exclude<BroadcastOutcome['kind'], 'accepted' | 'known' | 'unknown'>;
  /** True if no node will accept the transaction unchanged. */
  readonly isHopeless?: true;
  /** Set if the account lacks funds: it may be funded, so the transaction keeps its slot unless others wait behind it. */
  readonly lacks?: 'funds';
  /** Becomes part of `status_reason`. */
  readonly meaning: string;
}

/**
 * Every code with which a node can reject. For `txFEE_BUMP_INNER_FAILED` the inner code counts. No code fails a transaction: the attempt
 * may still be in another node's queue, and only a ledger decides its outcome.
 */
export const broadcastTable: Readonly<Record<string, BroadcastRule>> = {
  // TransactionFrame::isBadSeq: the account is not at the previous number. A queue also answers this if a higher number waits.
  txBAD_SEQ: { outcome: 'nonce_used', meaning: 'its sequence number is used or is not the next one' },
  // TransactionQueue::canAdd (replace by fee, full queue), TransactionFrame::commonValidPreSeqNum (below the base fee),
  // FeeBumpTransactionFrame.
  txINSUFFICIENT_FEE: { outcome: 'underpriced', meaning: 'its fee is too low' },
  // TransactionQueue::canAdd counts the full bids of all queued transactions that the account pays.
  txINSUFFICIENT_BALANCE: { outcome: 'wait', lacks: 'funds', meaning: 'the balance of the account is insufficient for the fee' },
  txNO_ACCOUNT: { outcome: 'wait', meaning: 'its source account does not exist' },
  // TransactionFrame::isTooLate looks ten seconds ahead at submission.
  txTOO_LATE: { outcome: 'wait', isHopeless: true, meaning: 'its time bounds have passed' },
  txTOO_EARLY: { outcome: 'wait', meaning: 'its time bounds have not begun' },
  txBAD_MIN_SEQ_AGE_OR_GAP: { outcome: 'wait', meaning: 'its source account was used too recently' },
  txBAD_AUTH: { outcome: 'wait', isHopeless: true, meaning: 'its signatures are not sufficient' },
  txBAD_AUTH_EXTRA: { outcome: 'wait', isHopeless: true, meaning: 'it has a signature that is not needed' },
  // TransactionFrame::checkValid checks each operation: malformed, missing a signature.
  txFAILED: { outcome: 'wait', isHopeless: true, meaning: 'an operation is invalid' },
  txMISSING_OPERATION: { outcome: 'wait', isHopeless: true, meaning: 'it has no operation' },
  txBAD_SPONSORSHIP: { outcome: 'wait', isHopeless: true, meaning: 'a sponsorship is not closed' },
  txNOT_SUPPORTED: { outcome: 'wait', isHopeless: true, meaning: 'the network does not support it' },
  txMALFORMED: { outcome: 'wait', isHopeless: true, meaning: 'it is malformed' },
  txSOROBAN_INVALID: { outcome: 'wait', isHopeless: true, meaning: 'its contract resources are invalid' },
  // CAP-77: validators have frozen a ledger entry that it uses.
  txFROZEN_KEY_ACCESSED: { outcome: 'wait', isHopeless: true, meaning: 'it uses a ledger entry that the network has frozen' },
  // TransactionQueue returns this only for a bug in core.
  txINTERNAL_ERROR: { outcome: 'wait', meaning: 'the node had an internal error' },
};
