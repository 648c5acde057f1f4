import type { Content, MinedFacts } from '../../records/transaction.js';

/** A node's answer to a broadcast. Only `accepted` and `known` mean that a node has the attempt; only the chain shows its outcome. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'known' }
  /** The slot is used, by us or by a foreign transaction; the chain shows which. */
  | { readonly kind: 'nonce_used' }
  /** The bid is too low: for the pool, or because an attempt in the same slot bids as much or more. */
  | { readonly kind: 'underpriced'; readonly sentence: string }
  /**
   * Waiting may help: funds, base fee, nonce too high, pool full. `lacks`: capacity for more transactions of the account, or funds in it.
   */
  | { readonly kind: 'wait'; readonly sentence: string; readonly because?: Obstacle; readonly lacks?: 'capacity' | 'funds' }
  /** The node is unreachable, or its answer is not in our table. Says nothing about the chain. */
  | { readonly kind: 'unknown'; readonly sentence: string; readonly because?: Obstacle };

/**
 * Why waiting is unlikely to help an attempt; nodes may still accept another one in its slot. `content`: no block can include it.
 * `invalid`: the same, and every node that was sent it says so. `cost`: nodes accept none that may cost so much. `turn`: nodes accept it
 * only after another transaction, at any bid. `words`: the node answered with words that are not in our table. `words_of_all`: so did every
 * node that was sent it.
 */
export type Obstacle = 'content' | 'invalid' | 'cost' | 'turn' | 'words' | 'words_of_all';

/** The transaction that used a nonce. */
export interface SenderTransaction {
  readonly hash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
}

/** The transaction that used a nonce, and what it did. */
export interface SenderUse extends SenderTransaction {
  /**
   * Reads the time of its block, in milliseconds since the epoch; null: it is not proved, since another endpoint shows another time, or
   * does not answer yet. Throws `NODE_UNAVAILABLE`.
   */
  timeMs(): Promise<number | null>;
  /** True if it did what this content asks for, its fee aside, and the service did not sign it for a caller. */
  does(content: Content): boolean;
}

/** An account's first unused nonce after a block, as an RPC endpoint shows it. */
export interface NonceAnswer {
  /** `pruned`: nodes have dropped that state. `absent`: the account does not exist. */
  readonly next: bigint | 'pruned' | 'absent';
  /** The endpoint that answered, as its place in the order of the weights. Absent: it is unknown, or several said so. */
  readonly endpoint?: number;
  /** Several endpoints agree, or the chain proves it of one: it counts against what one endpoint shows. */
  readonly isOfSeveral?: true;
}

/** Why no transaction is shown that used a nonce; see `Sequence.findSender`. */
export type NoSender = 'unused' | 'not_found' | 'pruned';

/** Where an attempt was mined. */
export interface Receipt extends SenderTransaction {
  readonly succeeded: boolean;
  /** Null: the node's answer has none. */
  readonly facts: MinedFacts | null;
  /** Other hashes under which its block may contain it: see `hashesOf`. Absent: none. */
  readonly otherHashes?: readonly string[];
  /** True: only its block is known, not whether it succeeded. */
  readonly isOnlyBlock?: true;
}

/**
 * What a second reading of a receipt shows. `alone`: the network has no other endpoint. `unknown`: no other endpoint has it. `status`: two
 * endpoints agree on the block, but not on whether the transaction succeeded. `different`: they differ in more. `below`: another endpoint
 * follows the chain below the block, which an endpoint that jumps ahead may have made up. `absent`: two endpoints
 * show its block without the transaction, or its source does not show the receipt any more. A receipt: what two others show.
 */
export type SecondReading = 'same' | 'alone' | 'unknown' | 'status' | 'different' | 'below' | 'absent' | Receipt;

/** The answers of nodes about the receipts of some transactions. */
export interface ReceiptAnswers {
  /** By hash as given. */
  readonly found: ReadonlyMap<string, Receipt>;
  /** No node gave a readable answer about these hashes, which proves nothing. */
  readonly unanswered: ReadonlySet<string>;
}

/** The outcome of an attempt of an unsequenced transaction. */
export type AttemptOutcome =
  /**
   * It may still be mined. `isDoubted`: it should have expired long ago, but no two endpoints show that. `isProvedOnce`: the only endpoint
   * has proved that it cannot, and must prove it again after minutes.
   */
  | { readonly kind: 'open'; readonly isDoubted?: true; readonly isProvedOnce?: true }
  /** It can provably never be mined; `sentence` says why. */
  | { readonly kind: 'dead'; readonly sentence: string }
  /** The nodes have dropped the blocks that might contain it, so it can no longer be determined. */
  | { readonly kind: 'unknown' }
  /** A block contains it; `isFinal`: that block is final. `isDisputed`: it would be, but two endpoints show different results. */
  | { readonly kind: 'landed'; readonly receipt: Receipt; readonly isFinal: boolean; readonly isDisputed?: boolean };
