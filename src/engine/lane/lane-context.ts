import type { Decide } from '../../core/ports/lanes.js';
import type { OpenTransaction } from '../../core/records/transaction.js';
import type { AccountDoubts } from './account-doubts.js';
import type { AccountNumbers } from './account-numbers.js';
import type { Funds } from './funds.js';
import type { Heads } from './heads.js';
import type { InFlightLimit } from './in-flight-limit.js';
import type { LaneInputs } from './lane-inputs.js';
import type { OpenTransactions } from './open-transactions.js';

/** The stored records of a lane's open transactions. Only these verbs, and `commitMoves`, change them. */
export interface LaneRecords {
  /** Returns an open transaction with its content, which may be in the store only; null: it is not open. */
  read(transactionId: string): Promise<OpenTransaction | null>;
  /** Changes one transaction; see `Lanes.move`. `leastRevision`: `decide` gets no earlier one. */
  move(transactionId: string, decide: Decide, leastRevision?: number): Promise<OpenTransaction | null>;
  /** Reads transactions and the next nonce from the store again, after a conflict. */
  reload(transactionIds: readonly string[]): Promise<void>;
  /** Runs a task while nothing else changes these transactions. */
  exclusively<T>(transactionIds: readonly string[], task: () => Promise<T>): Promise<T>;
  /** True while something changes this transaction or waits for its turn. */
  isBusy(transactionId: string): boolean;
}

/** The loops of a lane, as its tasks see them. */
export interface LaneLoops {
  /** True once nothing new may begin. */
  isStopped(): boolean;
  wakePrepare(): void;
  wakeBroadcast(): void;
  /** Takes note that a commit got no answer: upkeep reads the transactions that differ from the store again. */
  noteUnanswered(): void;
}

/**
 * What the tasks of a lane get. Each part of the state has one owner, whose verbs change it. All of it can be lost: a restart first
 * resolves every slot up to the chain's nonce, then broadcasts what it finds again, and only then signs new attempts.
 */
export interface LaneContext extends LaneInputs {
  // The state that tasks share.
  readonly transactions: OpenTransactions;
  readonly numbers: AccountNumbers;
  readonly inFlightLimit: InFlightLimit;
  readonly heads: Heads;
  readonly funds: Funds;
  readonly doubts: AccountDoubts;
  // What tasks set off.
  readonly records: LaneRecords;
  readonly loops: LaneLoops;
}
