import type { Chain, Head } from '../../core/ports/chain.js';
import type { Decide } from '../../core/ports/lanes.js';
import type { Log } from '../../core/ports/log.js';
import type { RecordRelayerState } from '../../core/ports/record-event.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import type { TransactionDeps } from '../../core/transaction/send-transaction.js';
import type { Attempt, LaneId } from '../../core/transaction/transaction.js';
import type { OpenTransactions } from './open-transactions.js';

/** What a lane works with, beside what callers do. */
export interface LaneWork extends TransactionDeps {
  readonly recordRelayerState: RecordRelayerState;
}

/**
 * What the parts of a lane share. All of it but the store can be lost: a restart resolves every slot up to the chain's nonce first, then checks
 * expiry, then broadcasts what it finds again, and only then signs anew.
 */
export interface LaneContext {
  readonly id: LaneId;
  readonly deps: LaneWork;
  readonly chain: Chain;
  readonly log: Log;
  readonly transactions: OpenTransactions;
  /** As configured now. */
  relayer(): Relayer;
  /** Takes in a transaction as it was just committed. */
  put(open: OpenTransaction): void;
  /** Changes one transaction; see `Lanes.move`. */
  move(transactionId: string, decide: Decide): Promise<OpenTransaction | null>;
  /** Reads transactions and nonce from the store again, after a conflict. */
  reload(transactionIds: readonly string[]): Promise<void>;
  /** Runs a task on several transactions while nothing else changes them. */
  hold<T>(transactionIds: readonly string[], task: () => Promise<T>): Promise<T>;
  /** The newest head up to which every slot is resolved; null: not once since the start, so nothing may be sent. */
  settled: Head | null;
  /** The account's nonce at that head: the first that no block holds. */
  chainNonce: bigint;
  /** The first nonce that neither we nor the chain have used. */
  nextNonce: bigint;
  /** The next nonce as the store has it, which is behind where somebody else used the key; null: not stored yet. */
  storedNonce: bigint | null;
  /** The balance was below what must remain when it was looked at last, which has been told. */
  isBalanceLow: boolean;
  /** The head at which it was looked at because a send was refused; null: not yet. */
  balanceSeenAtHash: string | null;
  /** Nothing is broadcast before: nodes make the lowest version wait. */
  broadcastPausedUntilMs: number;
  /** When a transaction may be tried again, by id and kind of work. */
  readonly notBeforeMs: Map<string, number>;
  /** When a node took a version, by hash. */
  readonly taken: Map<string, number>;
  /** Live versions that bid too little for any node, by hash. */
  readonly underpriced: Set<string>;
  /** Live versions that no node takes as they are, by hash. */
  readonly hopeless: Set<string>;
  /** Versions that can never be mined any more, by hash: of transactions that stand alone. */
  readonly dead: Set<string>;
  /** Transactions in flight whose live version no node has taken, by id. */
  readonly untaken: Set<string>;
  /** A node has this version. */
  noteTaken(attempt: Attempt): void;
  /** No node has any of its versions any more, as far as we know. */
  forgetTaken(open: OpenTransaction): void;
  /** True once nothing new is to be begun. */
  isStopped(): boolean;
  wakePrepare(): void;
  wakeBroadcast(): void;
}
