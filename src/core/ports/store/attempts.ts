import type { Attempt, LaneId } from '../../records/transaction.js';
import type { Change } from './change.js';

/** Builders of changes of attempts. */
export interface AttemptChanges {
  /** Fails if the slot or the transaction has an attempt with this version; for an unsequenced one, also if its hash is taken. */
  insertAttempt(attempt: Attempt): Change;
}

/** Queries of attempts. */
export interface AttemptReads {
  /** Every attempt ever signed for a slot, oldest first; `mined`: the one by which a transaction of ours became final there. */
  slot(lane: LaneId, nonce: bigint): Promise<{ readonly versions: readonly Attempt[]; readonly mined: Attempt | null }>;
  /** The transaction that has this nonce now; undefined if none has. */
  transactionIdAt(lane: LaneId, nonce: bigint): Promise<string | undefined>;
  /** The unsequenced transaction that has an attempt with this hash; undefined if none has. */
  transactionIdOf(chain: string, hash: string): Promise<string | undefined>;
}
