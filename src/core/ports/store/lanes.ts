import type { LaneId } from '../../records/transaction.js';
import type { Change } from './change.js';

/** Builders of changes of lanes and their chains. */
export interface LaneChanges {
  /** Inserts the lane's row if it is missing; never fails. */
  openLane(lane: LaneId, nextNonce: bigint): Change;
  /** Sets the lane's next nonce; fails if it is not `from`. */
  moveLane(lane: LaneId, from: bigint, to: bigint): Change;
  /** Stores the chain's genesis block; fails if another one is stored. */
  insertChain(chain: string, genesisHash: string): Change;
  /** Stores that a transaction with this hash was signed for a caller, who may broadcast it; never fails. */
  noteCallerSignature(hash: string): Change;
  /** Stores which transaction that one stands for; fails if it stands for one already. */
  useCallerSignature(hash: string, transactionId: string): Change;
}

/** Queries of lanes and their chains. */
export interface LaneReads {
  /** The lane's next nonce; undefined before its first. */
  nextNonce(lane: LaneId): Promise<bigint | undefined>;
  /** The chain's genesis block, if it is stored. */
  genesisHash(chain: string): Promise<string | undefined>;
  /** Which transaction a transaction that was signed for a caller stands for, null: none yet; undefined: it was not. */
  callerSignature(hash: string): Promise<{ readonly transactionId: string | null } | undefined>;
}
