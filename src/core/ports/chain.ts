import type { ErrorMetadata } from '../errors/errors.js';
import type { IsRefused } from '../errors/read-all.js';
import type { EvmCallRequest, EvmDraft, EvmPrice, EvmRequest, Speed } from '../records/evm.js';
import type { Network } from '../records/network.js';
import type { Relayer } from '../records/relayer.js';
import type { SolanaDraft, SolanaRequest } from '../records/solana.js';
import type { StellarDraft, StellarRequest } from '../records/stellar.js';
import type { Attempt, Content, FailureReason, MinedFacts } from '../records/transaction.js';
import type { ChainQuote, ReadPart } from './quote.js';
import type { Signer } from './signer.js';

/** A caller's request, in the shape of its network. */
export type ContentRequest = EvmRequest | StellarRequest | SolanaRequest;

/** An attempt that is priced and checked for funds, but not signed; in the shape of its network. */
export type Draft = EvmDraft | StellarDraft | SolanaDraft;

/** The context that a request is checked against. */
export interface RequestContext {
  readonly relayer: Relayer;
  readonly nowMs: number;
  /** The content that the request replaces; null: none. */
  readonly earlier: Content | null;
  /** The fields that were refused already, whose values are missing. Absent: none. */
  readonly isRefused?: IsRefused;
}

/** A checked request. */
export interface Wanted {
  readonly content: Content;
  /** Null: no limit was given. */
  readonly validUntilMs: number | null;
}

/** The newest block that a node knows: a ledger on Stellar, a slot on Solana. */
export interface Head {
  readonly number: bigint;
  /** On Solana the slot. */
  readonly hash: string;
  /** The block's own timestamp, unless `isOwnTime`. */
  readonly timestampMs: number;
  /** The node reports no timestamp with it: `timestampMs` is the time of this process at which it was seen. Always on Solana. */
  readonly isOwnTime?: true;
  /** The RPC endpoint that reported it, as its place in the order of the weights. Absent: the network does not tell its endpoints apart. */
  readonly endpoint?: number;
}

/** The timestamp that the chain itself gave the block, which may confirm or refute another clock; null: not known. */
export function blockTimeMsOf(head: Head | null): number | null {
  return head === null || head.isOwnTime === true ? null : head.timestampMs;
}

/** Blocks by number, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Why an attempt cannot be made now. `lasting`: a retry will not help. `outdated`: what others signed can no longer be mined.
 * `not_allowed`: the relayer's policies, the account's thresholds or the receiver forbid it. `unusable`: see `Chain.whyUnusable`.
 * `rejected`: every node that answered says no, in words that are not in our tables.
 */
export interface Refusal {
  readonly refused:
    | 'reverts'
    | 'insufficient_funds'
    | 'above_cap'
    | 'underpriced'
    | 'gas_limit'
    | 'bump_limit'
    | 'outdated'
    | 'not_allowed'
    | 'unusable'
    | 'rejected';
  /** A sentence for the caller and for `status_reason`. */
  readonly sentence: string;
  readonly lasting: boolean;
  /**
   * One node says so and no other one answered: it lasts only if later answers are the same. `briefly`: after seconds, since callers wait
   * for the verdict about a call of a contract, and no other block may come.
   */
  readonly isDoubted?: boolean | 'briefly';
  /** The values that the sentence names. */
  readonly metadata?: ErrorMetadata<'INSUFFICIENT_FUNDS' | 'GAS_PRICE_CAP_EXCEEDED' | 'REPLACEMENT_UNDERPRICED' | 'FIELD_INVALID'>;
}

/** True if the chain refused to make an attempt. */
export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/** Returns the refusal of what the relayer's policies forbid; null, as `sentence`: they allow it. */
export function forbiddenBecause(sentence: string | null): Refusal | null {
  return sentence === null ? null : { refused: 'not_allowed', sentence, lasting: true };
}

/** The failure reason for each lasting refusal of the chain. */
export const failureOf: Readonly<Record<Refusal['refused'], FailureReason>> = {
  reverts: 'would_revert',
  insufficient_funds: 'insufficient_funds',
  above_cap: 'fee_limit',
  underpriced: 'fee_limit',
  bump_limit: 'fee_limit',
  gas_limit: 'gas_limit',
  outdated: 'outdated',
  not_allowed: 'not_allowed',
  unusable: 'never_accepted',
  rejected: 'never_accepted',
};

/** A request for an attempt. */
export interface DraftRequest {
  readonly relayer: Relayer;
  /** `filler` takes the slot and does nothing; it may exceed a price cap up to the nodes' replacement minimum. */
  readonly content: Content | 'filler';
  /** The attempts that this one must outbid; empty for a first attempt, and if the earlier ones are dead. */
  readonly outbids: readonly Attempt[];
  /** The self-transfers in its slot that no node took: they need not be outbid, but may have had too little gas. */
  readonly untaken?: readonly Attempt[] | undefined;
  /** The transaction's `valid_until`, for networks on which an attempt can carry it. */
  readonly validUntilMs: number | null;
  /**
   * The nonce that the transaction would get next; absent if it has one, or takes none. If the chain's own count is past it, the chain
   * refuses for now: an attempt signed with it could never be mined.
   */
  readonly nextNonce?: bigint;
}

/**
 * Why an attempt gets another price. `waited`: blocks leave it out. `demanded`: a node rejected it because of its bid, so more than the
 * market price may be needed. `too_expensive`: nodes accept none that may cost so much, so its price is lowered to the minimum that the
 * next block takes.
 */
export type BumpReason = 'waited' | 'demanded' | 'too_expensive';

/** A request for a fee bump. */
export interface FeeBumpRequest {
  readonly relayer: Relayer;
  /** The transaction's content, with the caller's price. */
  readonly content: Content;
  /** The newest attempt; the fee bump has the same content. */
  readonly live: Attempt;
  /** All attempts in the slot: each must be outbid, since a node may hold any of them. */
  readonly outbids: readonly Attempt[];
  readonly reason: BumpReason;
}

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
  /** The time of its block, in milliseconds since the epoch; null: the node does not say. */
  readonly timeMs: number | null;
  /** True if it did what this content asks for, its fee aside, and the service did not sign it for a caller. */
  does(content: Content): boolean;
}

/** An account's first unused nonce after a block, as an RPC endpoint shows it. */
export interface NonceAnswer {
  /** `pruned`: nodes have dropped that state. `absent`: the account does not exist. */
  readonly next: bigint | 'pruned' | 'absent';
  /** The endpoint that answered, as its place in the order of the weights. Absent: it is unknown, or several said so. */
  readonly endpoint?: number;
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
}

/**
 * What a second reading of a receipt shows. `alone`: the network has no other endpoint. `unknown`: no other endpoint has it. `status`: two
 * endpoints agree on the block, but not on whether the transaction succeeded. `different`: they differ in more. `absent`: two endpoints
 * show its block without the transaction, or its source does not show the receipt any more. A receipt: what two others show.
 */
export type SecondReading = 'same' | 'alone' | 'unknown' | 'status' | 'different' | 'absent' | Receipt;

/** The answers of nodes about the receipts of some transactions. */
export interface ReceiptAnswers {
  /** By hash as given. */
  readonly found: ReadonlyMap<string, Receipt>;
  /** No node gave a readable answer about these hashes, which proves nothing. */
  readonly unanswered: ReadonlySet<string>;
}

/** The outcome of an attempt of an unsequenced transaction. */
export type AttemptOutcome =
  /** It may still be mined. */
  | { readonly kind: 'open' }
  /** It can provably never be mined; `sentence` says why. */
  | { readonly kind: 'dead'; readonly sentence: string }
  /** The nodes have dropped the blocks that might contain it, so it can no longer be determined. */
  | { readonly kind: 'unknown' }
  /** A block contains it; `isFinal`: that block is final. */
  | { readonly kind: 'landed'; readonly receipt: Receipt; readonly isFinal: boolean };

/** What the market asks of transactions. */
export interface MarketView {
  /** The base fee of the next block, in wei per gas; null: the network has none. */
  readonly baseFeeWei: bigint | null;
  /** What an attempt of each speed offers now, from the lowest price to the highest. */
  readonly prices: readonly { readonly speed: Speed; readonly price: EvmPrice }[];
}

/**
 * The state of an RPC endpoint. `paused`: it asked for that. `out_of_step`: its newest block is far behind that of others, or cannot exist
 * yet. `forked`: it is on another branch of the chain.
 */
export type EndpointState = 'in_use' | 'failing' | 'paused' | 'out_of_step' | 'forked' | 'wrong_chain';

/** An RPC endpoint as operators see it. */
export interface EndpointView {
  /** The host of its URL. */
  readonly host: string;
  readonly weight: number;
  readonly state: EndpointState;
}

/** Requests to nodes since the chain was opened. */
export interface NodeCalls {
  /** HTTP requests. */
  readonly http: number;
  /** JSON-RPC calls in them: a batch of 50 is one request and 50 items. */
  readonly items: number;
}

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

/** Signs transactions that the service does not send. */
export interface SignForeign {
  /** Checks what `sign` checks, without signing. Throws DomainError (400) naming the field. */
  check(transaction: string, relayer: Relayer): void;
  /**
   * Adds the relayer's signature to a caller's transaction, both in base64 as the network writes them. `signature` is base64 on Stellar,
   * base58 on Solana; `hash` names the transaction on its network. Throws DomainError (400) naming the field. Calls no node.
   */
  sign(transaction: string, relayer: Relayer, signer: Signer): Promise<SignedForCaller>;
}

/** A caller's transaction with the relayer's signature. */
export interface SignedForCaller {
  readonly transaction: string;
  readonly signature: string;
  readonly hash: string;
}

/** A node's answer to a forwarded call; JSON texts keep every digit that the node wrote. */
export type ForwardedAnswer =
  | { readonly resultJson: string }
  /** `message` is safe to show. `dataJson`: the node's `data`; null if there is none. */
  | { readonly code: number; readonly message: string; readonly dataJson: string | null };

/** A call of a contract's function, without a transaction. */
export interface ContractRead {
  readonly to: string | undefined;
  readonly call: EvmCallRequest | undefined;
}

/** A checked read. */
export interface PreparedRead {
  readonly to: string;
  readonly data: string;
  decode(answer: ForwardedAnswer): ContractReading;
}

/** What a contract returned. */
export interface ContractReading {
  /** JSON text; null: the function declares no results, or there is an error. */
  readonly resultJson: string | null;
  /** Hex with `0x`; null: the contract returned nothing. */
  readonly data: string | null;
  /** A sentence; null: none. */
  readonly error: string | null;
}

/** Calls of contracts. */
export interface ContractCalls {
  /** Checks and encodes a read whose fields are behind `path`. Throws DomainError (400) naming the field. Calls no node. */
  prepare(read: ContractRead, path: string): PreparedRead;
}

/** EIP-712 typed data as a caller has it; all but `primaryType` are JSON texts. */
export interface TypedDataRequest {
  readonly domain: string;
  readonly types: string;
  readonly primaryType: string | undefined;
  readonly message: string;
}

/** EIP-712 typed data, as its two hashes. */
export interface TypedData {
  readonly domainSeparator: string;
  readonly hashStructMessage: string;
}

/** A request for a quote. */
export interface QuoteRequest {
  readonly relayer: Relayer;
  /** The relayer with policies that forbid nothing. */
  readonly unrestricted: Relayer;
  readonly content: Content;
  /** The request of the content. */
  readonly request: ContentRequest;
  readonly part: ReadPart;
}

/** A network's chain. Methods that call a node throw DomainError `NODE_UNAVAILABLE` if no node is reachable. */
export interface Chain {
  readonly network: Network;
  /** Checks a caller's request, its form and the relayer's policies. Throws DomainError (400) naming the field. Calls no node. */
  contentOf(request: ContentRequest, context: RequestContext): Wanted;
  /**
   * Returns why the relayer's policies forbid content that they may have allowed when it was accepted; null if they allow it. Its fee and
   * what only nodes know are checked by `draft`, which checks this, too. Calls no node.
   */
  whyForbidden(content: Content, relayer: Relayer): Refusal | null;
  /** True if a transaction with this content takes no nonce of the relayer's account. Calls no node. */
  isUnsequenced(content: Content): boolean;
  genesisHash(): Promise<string>;
  /** From now on uses only nodes with this genesis block; every new connection verifies it. */
  expectGenesis(hash: string): void;
  /** Returns the genesis block of a node if every node was left out because it has another one; else null. */
  foreignGenesis(): string | null;
  /** Calls the listener when a node may have a new head, before the next poll shows it. Absent: no node of the network says so. */
  onNewHead?(listener: () => void): void;
  /** The hosts of RPC endpoints that are left out because they are on another branch of the chain. Calls no node. */
  forkedHosts(): readonly string[];
  /** The RPC endpoints that are used, by weight. Calls no node. */
  endpoints(): readonly EndpointView[];
  head(): Promise<Head>;
  /** In the network's smallest unit: wei, stroops, lamports. */
  balanceOf(account: string): Promise<bigint>;
  /**
   * Returns the part of the balance that the account cannot spend, such as its reserve on Stellar; 0 on other networks, without calling a
   * node.
   */
  lockedOf(account: string): Promise<bigint>;
  /**
   * Returns why nodes accept no transaction of the account: the relayer's key suffices for none, or the account cannot pay fees. Null: they
   * do, or the account does not exist. `another`: an endpoint other than that of the head, if there is one. Calls no node on EVM networks.
   */
  whyUnusable(account: string, from: 'head' | 'another'): Promise<string | null>;
  /** Returns what the market asks of a relayer's transactions, remembered for a block; null: the network has no gas. */
  market(relayer: Pick<Relayer, 'policies'>): Promise<MarketView | null>;
  /**
   * Returns what a transaction with this content would do and cost now, by the rules of `draft`, but policies and balance forbid nothing.
   * A part is unknown if nodes do not answer. A quote leaves nothing behind, and never throws because of a node.
   */
  quote(request: QuoteRequest): Promise<ChainQuote>;
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
  /** Null if the network does not support it. */
  readonly signForeign: SignForeign | null;
  /** Absent: the network does not support it. */
  readonly contractCalls?: ContractCalls;
  /** Hashes typed data. Throws DomainError (400) naming each field by its path. Absent: the network does not support it. */
  hashTypedData?(request: TypedDataRequest): TypedData;
  /** Forwards a caller's call to one node as it is. `paramsJson` is an array or an object; null: no params are sent. */
  forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer>;
  /** Returns the number of calls to nodes so far. */
  calls(): NodeCalls;
  close(): Promise<void>;
}
