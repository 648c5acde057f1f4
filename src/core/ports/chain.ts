import type { Network } from '../relayer/network.js';
import type { Relayer } from '../relayer/relayer.js';
import type { EvmDraft, EvmRequest } from '../transaction/evm.js';
import type { SolanaDraft, SolanaRequest } from '../transaction/solana.js';
import type { StellarDraft, StellarRequest } from '../transaction/stellar.js';
import type { Attempt, Content, MinedFacts } from '../transaction/transaction.js';
import type { Signer } from './signer.js';

/** What a caller asks for, in the shape of its network. */
export type ContentRequest = EvmRequest | StellarRequest | SolanaRequest;

/** A version that is priced and can be paid, but not signed; in the shape of its network. */
export type Draft = EvmDraft | StellarDraft | SolanaDraft;

/** What a request is judged by. */
export interface RequestContext {
  readonly relayer: Relayer;
  readonly nowMs: number;
  /** What the request replaces; null: nothing. */
  readonly earlier: Content | null;
}

/** What a request comes to. */
export interface Wanted {
  readonly content: Content;
  /** Null: no limit is given. */
  readonly validUntilMs: number | null;
}

/** The newest block that a node knows: a ledger on Stellar, a slot on Solana. */
export interface Head {
  readonly number: bigint;
  /** On Solana its slot. */
  readonly hash: string;
  /** What this block says of its own time; on Solana, which would have to be asked for it, when it was first seen. */
  readonly timestampMs: number;
}

/** Blocks by number, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Why a version cannot be made now. `lasting`: asking again will not help. */
export interface Refusal {
  readonly refused: 'reverts' | 'insufficient_funds' | 'above_cap' | 'underpriced' | 'gas_limit';
  /** A sentence for the caller and for `status_reason`. */
  readonly sentence: string;
  readonly lasting: boolean;
}

/** True when the chain refused to make a version. */
export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/** What a version is made of. */
export interface DraftRequest {
  readonly relayer: Relayer;
  /** `filler` takes the slot and does nothing; it may pass a price cap up to the nodes' replacement minimum. */
  readonly content: Content | 'filler';
  /** The versions that this one must outbid; empty for a first version, and where those that are out are dead. */
  readonly outbids: readonly Attempt[];
  /** When the transaction is no longer wanted, for networks on which a version can say so itself. */
  readonly validUntilMs: number | null;
  /**
   * The first nonce that would be given to it; absent where it has one, or takes none. A chain that sees the account beyond it refuses for now: nothing
   * that was signed with it could be mined.
   */
  readonly nextNonce?: bigint;
}

/** A version that has waited too long. */
export interface FeeBumpRequest {
  readonly relayer: Relayer;
  /** What the transaction does, with the price that the caller wanted. */
  readonly content: Content;
  /** The newest version: the raised one says the same. */
  readonly live: Attempt;
  /** The slot's versions so far: each of them is outbid, since a node may hold any. */
  readonly outbids: readonly Attempt[];
}

/** A node's answer to a broadcast. Only `accepted` and `known` say that a node has it; only the chain says what became of it. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'known' }
  /** The slot is used: by us or by somebody else; the chain tells. */
  | { readonly kind: 'nonce_used' }
  /** It bids too little: for its place, or because a version in the same slot bids as much or more. */
  | { readonly kind: 'underpriced'; readonly sentence: string }
  /**
   * Waiting may help: funds, base fee, nonce too high, pool full. `isHopeless`: it hardly will, since no node takes the version as it is; another one in its
   * slot may go.
   */
  | { readonly kind: 'wait'; readonly sentence: string; readonly isHopeless?: true }
  /** The node cannot be asked, or answered something we do not know. Says nothing about the chain. */
  | { readonly kind: 'unknown'; readonly sentence: string };

/** Where a version was found. */
export interface Receipt {
  readonly hash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly succeeded: boolean;
  /** What else records show of it; null: nothing. */
  readonly facts: MinedFacts | null;
}

/** The transaction that used a nonce. */
export interface SenderTransaction {
  readonly hash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly succeeded: boolean;
}

/** What became of a version that stands alone. */
export type AttemptOutcome =
  /** It may still be mined. */
  | { readonly kind: 'open' }
  /** It can never be mined any more, which is proved; `sentence` says why. */
  | { readonly kind: 'dead'; readonly sentence: string }
  /** Nobody can tell any more: nodes have dropped the blocks that might hold it. */
  | { readonly kind: 'unknown' }
  /** A block holds it; `isFinal`: and always will. */
  | { readonly kind: 'landed'; readonly receipt: Receipt; readonly isFinal: boolean };

/** Requests to nodes since the chain was opened. */
export interface NodeCalls {
  /** HTTP requests. */
  readonly http: number;
  /** JSON-RPC calls in them: a batch of 50 is one request and 50 items. */
  readonly items: number;
}

/**
 * The numbered slots of an account: EVM nonces, Stellar sequence numbers. All methods ask a node unless said, and throw DomainError `NODE_UNAVAILABLE`
 * when none can be asked.
 */
export interface Sequence {
  /** The account's first nonce that no block has used, as the newest block counts. */
  nextOf(account: string): Promise<bigint>;
  /** The same after this block; `pruned` when every node has dropped that state. */
  nextAt(account: string, blockNumber: bigint): Promise<bigint | 'pruned'>;
  /**
   * The transaction of these blocks that used the account's nonce. `not_found`: none of them holds one, also where the nonce was used without a
   * transaction (an EIP-7702 authorisation). `pruned`: nodes have dropped too much state to tell. A bounded number of calls.
   */
  findSender(account: string, nonce: bigint, blocks: BlockRange): Promise<SenderTransaction | 'not_found' | 'pruned'>;
  /**
   * The receipts of those of these transactions that a block holds, by hash as given. `blocks` says where they are likely to be; one that is in
   * another block is found all the same. Absence is a node's answer too, never a failure to answer.
   */
  receipts(hashes: readonly string[], blocks: BlockRange): Promise<ReadonlyMap<string, Receipt>>;
  /** Hash of the block at this height; null when there is none. */
  blockHash(height: bigint): Promise<string | null>;
  /** True when a node has the transaction in its pool or in a block. */
  knows(hash: string): Promise<boolean>;
  /**
   * The live version again with a higher bid, which the service makes by itself, without estimating anything: as near to the market as the relayer's cap
   * lets it, and at least what outbids every earlier version. Refused as `above_cap` when that minimum does not fit under the cap; a filler may pass
   * the cap up to that minimum.
   */
  bumpFee(request: FeeBumpRequest): Promise<Draft | Refusal>;
  /** Content that fills a gap between nonces and does nothing. Asks no node. */
  fillerOf(account: string): Content;
}

/** Transactions without a numbered slot. */
export interface Unsequenced {
  /** What became of these versions, by hash; each has an answer. Throws DomainError `NODE_UNAVAILABLE`. */
  outcomes(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, AttemptOutcome>>;
  /** `outbid`: a new version is sent at once and takes the place of the earlier ones. `hold`: it must wait until they are dead. */
  readonly replacement: 'outbid' | 'queue';
  /** Why a version never dies by itself, so that it cannot be cancelled; null: it does. Asks no node. */
  whyEndless(attempt: Attempt): string | null;
}

/** Signs a transaction that the service does not send. */
export interface SignForeign {
  /**
   * Adds the relayer's signature to a caller's transaction, both base64 as the network writes them; `signature` is base64 on Stellar, base58 on Solana.
   * Throws DomainError (400) naming the field. Asks no node.
   */
  sign(transaction: string, relayer: Relayer, signer: Signer): Promise<{ readonly transaction: string; readonly signature: string }>;
}

/** A node's answer to a call that a caller wanted asked; JSON texts digit for digit as the node wrote them. */
export type ForwardedAnswer =
  | { readonly resultJson: string }
  /** `message` is safe to show; `dataJson`: what the node adds, null where nothing. */
  | { readonly code: number; readonly message: string; readonly dataJson: string | null };

/** A network's chain. Methods that ask a node throw DomainError `NODE_UNAVAILABLE` when none can be asked. */
export interface Chain {
  readonly network: Network;
  /** Reads a caller's request and judges it, by its shape and by the relayer's policies. Throws DomainError (400) naming the field. Asks no node. */
  contentOf(request: ContentRequest, context: RequestContext): Wanted;
  /** True when a transaction with this content takes no nonce of the relayer's account. Asks no node. */
  isUnsequenced(content: Content): boolean;
  genesisHash(): Promise<string>;
  /** From now on only nodes with this genesis block are asked, whatever they were before: it is verified on every new connection. */
  expectGenesis(hash: string): void;
  /** The genesis block of a node that was refused because it is another one; null: none was. */
  foreignGenesis(): string | null;
  head(): Promise<Head>;
  /** In the network's smallest unit: wei, stroops, lamports. */
  balanceOf(account: string): Promise<bigint>;
  /** Estimates, prices and checks funds. */
  draft(request: DraftRequest): Promise<Draft | Refusal>;
  /** Signs a draft into a slot; null: it stands alone. Asks no node. */
  sign(draft: Draft, nonce: bigint | null, signer: Signer): Promise<Pick<Attempt, 'hash' | 'raw' | 'fields'>>;
  /**
   * Sends signed bytes, in order, in as few requests as nodes take; the outcomes are in the order of `raws`. What a node leaves unanswered is
   * `unknown`. Sending the same bytes again is always safe.
   */
  broadcastAll(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
  /** Why a version that a block holds failed there, as far as nodes tell: a sentence for `status_reason`. Never throws. */
  whyFailed(receipt: Receipt, relayer: Relayer): Promise<string>;
  /** Null where no transaction has a nonce. */
  readonly sequence: Sequence | null;
  /** Null where every transaction has a nonce. */
  readonly unsequenced: Unsequenced | null;
  /** Null where the network has no such thing. */
  readonly signForeign: SignForeign | null;
  /** Asks one node a caller's question as it is, and tells what it says; `paramsJson` is an array or an object, null: none is sent. */
  forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer>;
  /** How much the nodes were asked. */
  calls(): NodeCalls;
  close(): Promise<void>;
}
