import type { BroadcastOutcome } from '../../core/ports/chain.js';

/** What a node's refusal of a transaction means, by its result code (stellar-core, `TransactionResultCode`). */
export interface BroadcastRule {
  readonly outcome: Exclude<BroadcastOutcome['kind'], 'accepted' | 'known' | 'unknown'>;
  /** True: no node will take it as it is. */
  readonly isHopeless?: true;
  /** For the sentence that the record shows. */
  readonly meaning: string;
}

/**
 * Every code that a node can refuse with. A fee bump is refused with `txFEE_BUMP_INNER_FAILED` for what is wrong inside; then the inner code counts. None of
 * them fails a transaction: its version may still be in another node's queue, and only a ledger says what became of it.
 */
export const broadcastTable: Readonly<Record<string, BroadcastRule>> = {
  // TransactionFrame::isBadSeq: the account's sequence number is not the one before. A queue says it too, when a higher one waits.
  txBAD_SEQ: { outcome: 'nonce_used', meaning: 'its sequence number is used, or not due yet' },
  // TransactionQueue::canAdd (replace by fee, full queue), TransactionFrame::commonValidPreSeqNum (below the base fee), FeeBumpTransactionFrame.
  txINSUFFICIENT_FEE: { outcome: 'underpriced', meaning: 'it bids too little' },
  // TransactionQueue::canAdd: all that waits and is paid by the account counts, with its whole bid.
  txINSUFFICIENT_BALANCE: { outcome: 'wait', meaning: 'the account cannot pay its fee now' },
  txNO_ACCOUNT: { outcome: 'wait', meaning: 'its source account does not exist' },
  // TransactionFrame::isTooLate looks ten seconds ahead when it is submitted.
  txTOO_LATE: { outcome: 'wait', isHopeless: true, meaning: 'its time is over' },
  txTOO_EARLY: { outcome: 'wait', meaning: 'its time has not come' },
  txBAD_MIN_SEQ_AGE_OR_GAP: { outcome: 'wait', meaning: 'its source account was used too lately' },
  txBAD_AUTH: { outcome: 'wait', isHopeless: true, meaning: 'its signatures do not suffice' },
  txBAD_AUTH_EXTRA: { outcome: 'wait', isHopeless: true, meaning: 'it has a signature that nobody needs' },
  // TransactionFrame::checkValid runs each operation's own check: a wrong form, a missing signature.
  txFAILED: { outcome: 'wait', isHopeless: true, meaning: 'an operation is not valid' },
  txMISSING_OPERATION: { outcome: 'wait', isHopeless: true, meaning: 'it has no operation' },
  txBAD_SPONSORSHIP: { outcome: 'wait', isHopeless: true, meaning: 'a sponsorship is not ended' },
  txNOT_SUPPORTED: { outcome: 'wait', isHopeless: true, meaning: 'the network does not support it' },
  txMALFORMED: { outcome: 'wait', isHopeless: true, meaning: 'it is malformed' },
  txSOROBAN_INVALID: { outcome: 'wait', isHopeless: true, meaning: 'what it declares of contract resources is not valid' },
  // TransactionQueue turns this up only when core itself went wrong.
  txINTERNAL_ERROR: { outcome: 'wait', meaning: 'the node failed over it' },
};
