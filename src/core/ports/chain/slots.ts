import type { Relayer } from '../../records/relayer.js';
import type { Attempt, Content } from '../../records/transaction.js';
import type { Signer } from '../signer.js';
import type { Draft, DraftRequest, FeeBumpRequest, Refusal } from './drafts.js';
import type { BlockRange, Head } from './head.js';
import type {
  AttemptOutcome,
  BroadcastOutcome,
  NonceAnswer,
  NoSender,
  Receipt,
  ReceiptAnswers,
  SecondReading,
  SenderUse,
} from './outcomes.js';

/**
 * The numbered slots of an account: EVM nonces, Stellar sequence numbers. Unless noted, methods call a node, and throw DomainError
 * `NODE_UNAVAILABLE` if no node is reachable.
 */
export interface Sequence {
  /** False if a block is never lost once it was made, so that a nonce which a block has used is used for ever. */
  readonly losesBlocks: boolean;
  /** True if a draft does not depend on the account's next number, so that it can be made while nodes are still asked for that. */
  readonly draftsAnyNumber?: boolean;
  /**
   * Returns the account's first unused nonce at the newest block. Of several endpoints the middle one counts, of two the lower one; or the
   * highest, for the question which slots may be used.
   */
  nextOf(account: string, counts?: 'highest'): Promise<bigint>;
  /** True if at most one endpoint is in use, so that what it shows is the word of one. Absent: that does not matter. Calls no node. */
  isAlone?(): boolean;
  /**
   * Returns the account's first unused nonce after this block. The endpoint of the head goes first, but another one may answer.
   * `otherThan`: the endpoint that gave this answer is not asked, since it cannot confirm itself, unless the network has only this
   * endpoint.
   */
  nextAt(account: string, blockNumber: bigint, otherThan?: NonceAnswer): Promise<NonceAnswer>;
  /**
   * Finds the transaction in these blocks that used the account's nonce, with a bounded number of calls. `unused`: the nonce is free after
   * the last block. `not_found`: there is none, also if the nonce was used without a transaction (an EIP-7702 authorization). `pruned`:
   * nodes have dropped too much state to find it.
   */
  findSender(account: string, nonce: bigint, blocks: BlockRange): Promise<SenderUse | NoSender>;
  /**
   * Returns the receipts of the mined ones among these transactions. `blocks` is a hint; receipts in other blocks are found too. A receipt
   * that is neither found nor unanswered is absent by a node's answer.
   */
  receipts(hashes: readonly string[], blocks: BlockRange): Promise<ReceiptAnswers>;
  /** Returns the hash of the block at this height; null if there is none. */
  blockHash(height: bigint): Promise<string | null>;
  /**
   * Returns the highest block that has the required confirmations at this head, as far as nodes prove them: an endpoint that claims a high
   * block number proves nothing. Null: none is proved.
   */
  finalBlock(head: Head, requiredConfirmations: number): Promise<bigint | null>;
  /**
   * True if nothing is proved at the last head because endpoints show different blocks. Absent: blocks are never lost. Calls no node.
   */
  isDisputed?(): boolean;
  /** Returns how many transactions in flight nodes accept of this account at any price; null: they have no limit that can be read. */
  maxInFlight(account: string): Promise<number | null>;
  /** Reads receipts again, by hash, from an endpoint that did not show them, before they become final. */
  readAgain(receipts: readonly Receipt[]): Promise<ReadonlyMap<string, SecondReading>>;
  /** True if every endpoint that answers has none of these transactions, neither in its pool nor in a block. */
  areGone(hashes: readonly string[]): Promise<boolean>;
  /** True if the attempt ran no code in this block: it is a payment to an account that every node shows without code there. */
  cannotFail(attempt: Attempt, blockNumber: bigint): Promise<boolean>;
  /**
   * True if a node has the transaction in its pool or in a block; `unreported` if it is in no block and nodes do not report what their
   * pools hold.
   */
  knows(hash: string): Promise<boolean | 'unreported'>;
  /**
   * Drafts the live attempt again with a higher bid, without estimating: as near to the market as the relayer's cap allows, and at least
   * the minimum that outbids every earlier attempt. Refuses as `above_cap` if that minimum is above the cap; a filler may exceed the cap up
   * to that minimum.
   */
  bumpFee(request: FeeBumpRequest): Promise<Draft | Refusal>;
  /** Returns content that fills a gap between nonces and does nothing. Calls no node. */
  fillerOf(account: string): Content;
}

/** Transactions without a numbered slot. */
export interface Unsequenced {
  /** Returns the outcome of every one of these attempts, by hash. Throws DomainError `NODE_UNAVAILABLE`. */
  outcomes(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, AttemptOutcome>>;
  /** `outbid`: a new attempt is sent at once and replaces the earlier ones. `queue`: it waits until they are dead. */
  readonly replacement: 'outbid' | 'queue';
  /** Returns why an attempt never dies by itself, so that it cannot be canceled; null if it does. Calls no node. */
  whyEndless(attempt: Attempt): string | null;
  /** Returns the name of what only one transaction in flight can use; others wait unsigned. Null: nothing. Calls no node. */
  soleUseOf(content: Content): string | null;
  /** True if nodes that have this attempt reject `own`, an attempt in a slot of the account, at any bid. Calls no node. */
  excludes(attempt: Attempt, own: Attempt): boolean;
}

/** What a lane asks a chain about its attempts. */
export interface LaneChain {
  /** Checks the policies, estimates, prices and checks funds. */
  draft(request: DraftRequest): Promise<Draft | Refusal>;
  /** Signs a draft into a slot; a null nonce is for an unsequenced transaction. Calls no node. */
  sign(draft: Draft, nonce: bigint | null, signer: Signer): Promise<Pick<Attempt, 'hash' | 'raw' | 'fields'>>;
  /**
   * Broadcasts signed bytes, in order, in as few requests as nodes accept. The outcomes are in the order of `raws`; one that the node did
   * not answer is `unknown`. Sending the same bytes again is always safe. Endpoints may take their time: a request only carries
   * bytes whose index is still due when it is made.
   */
  broadcastAll(raws: readonly string[], isStillDue?: (index: number) => boolean): Promise<readonly BroadcastOutcome[]>;
  /** Returns why a mined attempt failed, as far as nodes say: a sentence for `status_reason`. Never throws. */
  whyFailed(receipt: Receipt, relayer: Relayer): Promise<string>;
  /** Null if no transaction has a nonce. */
  readonly sequence: Sequence | null;
  /** Null if every transaction has a nonce. */
  readonly unsequenced: Unsequenced | null;
}
