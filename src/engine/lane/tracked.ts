import type { Draft, Refusal } from '../../core/ports/chain/drafts.js';
import type { Obstacle } from '../../core/ports/chain/outcomes.js';
import type { Speed } from '../../core/records/evm.js';
import type { RelayerPolicies } from '../../core/records/relayer.js';
import type { OpenTransaction, Transaction } from '../../core/records/transaction.js';
import type { Lasting } from '../../core/work/patience.js';
import type { Moment } from './moment.js';

/**
 * The facts that the lane has learned about one attempt. Nothing of it is stored: a restart learns it again. Times are of the clock's
 * `elapsedMs`.
 */
export interface AttemptState {
  /** When a node accepted it; null: none has. */
  takenAtMs: number | null;
  /** When its last broadcast failed; null: none has since a node accepted it. */
  failedAtMs: number | null;
  /** A node refused it because it bids too little. */
  isUnderpriced: boolean;
  /** A node accepted it once; pools forget, but it may be accepted again. */
  wasTaken: boolean;
  /** A node answered its last broadcast with "already known". */
  isKnownAgain: boolean;
  /** Consecutive refusals since a node accepted it last. */
  refusals: number;
  /**
   * The last refusal that waiting is unlikely to resolve (nodes may accept another attempt in its slot), and how often it came; null: none.
   */
  obstacle: { readonly because: Obstacle; readonly sentence: string; readonly answers: number; readonly sinceMs: number } | null;
  /** A node refused it last because the account lacks funds: it may cost more than when it was signed. */
  lacksFunds: boolean;
  /** It is proved that no block can ever hold it. */
  isDead: boolean;
  /** When it was first seen waiting as the live attempt; null: not yet. See `AttemptStates.noteWaiting`. */
  waitingSince: Moment | null;
}

/** A draft or why there is none (null: no node answered), or the error that was thrown. */
export type Drafting = { readonly outcome: Draft | Refusal | null } | { readonly error: unknown };

/** The facts about an unsigned transaction that always stay in memory; its content may stay in the store. */
export interface Waiting
  extends Pick<
    Transaction,
    'id' | 'revision' | 'status' | 'statusReason' | 'intent' | 'mined' | 'validUntilMs' | 'createdAtMs' | 'delays' | 'approval'
  > {
  readonly speed: Speed;
  readonly isUnsequenced: boolean;
  /** See `Unsequenced.soleUseOf`. */
  readonly soleUse: string | null;
}

/** An open transaction and the facts that the lane has learned about it; dropped when the transaction becomes final. */
export interface Tracked {
  /** Null: it is not signed, and its content is so large that it stays in the store. */
  open: OpenTransaction | null;
  transaction: Waiting;
  /** Preparing or expiring it is not tried again before. */
  notBeforeMs: number;
  /** Consecutive refusals to sign it. */
  refusals: number;
  /** It waits for something else than earlier transactions, a price or funds, which may never come: no later one waits for it. */
  isHeldBack: boolean;
  /** The last head at which the balance or the price cap forbade it, and until when that head counts; null: neither ever did. */
  forbidden: { readonly atHash: string; readonly untilMs: number } | null;
  /**
   * Its draft while nodes are asked for it, made from this revision under these policies; when it was done, and from when on it is slow, so
   * that others no longer wait for it; null: none is under way.
   */
  drafting: {
    readonly revision: number;
    readonly policies: RelayerPolicies;
    readonly done: Promise<Drafting>;
    doneAtMs: number | null;
    slowAtMs: number;
  } | null;
  /** The last unknown words of every node, or the last refusal by one node alone, while the sentence stays the same; null: none. */
  rejected: (Lasting & { readonly cause: string }) | null;
  /** No node can know its outcome any more; null: that is not so. */
  lost: Lasting | null;
  /** Counts while its nonce is used on chain and no attempt of ours explains it; null: that is not so. */
  unexplained: {
    /** Heads at which its receipts were looked up in vain, and the hash of the newest one. */
    readonly heads: number;
    readonly lastHash: string;
    /** Heads for which consecutive searches found no user of the nonce. */
    readonly emptyHeads: number;
    /** The `Heads.count` at which it was searched last; 0: never. */
    readonly searchedAt: number;
  } | null;
  /** No other endpoint shows the receipt that is about to become final; null: that is not so. */
  unread: Lasting | null;
  /** The `Heads.count` at which a second reading of its receipt last decided nothing; null: none did. */
  undecidedAtHead: number | null;
  /** The last head at which two endpoints showed different receipts; null: none did. */
  disputedAtHash: string | null;
  /** Looks for its receipts that found none, and the `Heads.count` at the last one; null: none since it was last known to be in a block. */
  looks: { readonly count: number; readonly atHead: number } | null;
  /** By hash. */
  readonly attempts: Map<string, AttemptState>;
}

/** A transaction that cannot be signed is tried again after this time, which doubles up to the longest. */
const retryAfterMs = { first: 500, longest: 8_000 };

/** Takes note that it cannot be signed now. */
export function noteRefusal(record: Tracked, elapsedMs: number): void {
  record.notBeforeMs = elapsedMs + Math.min(retryAfterMs.longest, retryAfterMs.first * 2 ** record.refusals);
  record.refusals += 1;
}

/** Takes note that it can be signed, or has other content. */
export function forgetRefusals(record: Tracked): void {
  record.notBeforeMs = 0;
  record.refusals = 0;
  record.isHeldBack = false;
}
