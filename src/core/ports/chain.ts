import type { Network } from '../relayer/network.js';
import type { RelayerPolicies } from '../relayer/relayer.js';
import type { Attempt, Content, EvmAttemptFields, EvmPrice, EvmPricing, Intent, Speed } from '../transaction/transaction.js';
import type { Signer } from './signer.js';

/** A transaction as a caller words it: texts that the chain reads and judges. Absent fields are undefined. */
export interface EvmRequest {
  readonly network: 'evm';
  readonly to: string | undefined;
  readonly valueWei: bigint | undefined;
  readonly data: string | undefined;
  readonly gasLimit: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly maxFeePerGasWei: bigint | undefined;
  readonly maxPriorityFeePerGasWei: bigint | undefined;
  readonly speed: Speed | undefined;
}

/** In the shape of its network. */
export type ContentRequest = EvmRequest;

/** The newest block that a node knows. */
export interface Head {
  readonly number: bigint;
  readonly hash: string;
  readonly parentHash: string;
  /** What this block charged at least, in wei per gas; null where blocks have no base fee. */
  readonly baseFeePerGasWei: bigint | null;
  /** What the block says of its own time. */
  readonly timestampMs: number;
}

/** Blocks by number, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** A version that is priced and can be paid, but has no nonce and no signature. */
export interface Draft {
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
  readonly gasLimit: bigint;
  readonly price: EvmPrice;
}

/** Why a version cannot be made now. `lasting`: asking again will not help. */
export interface Refusal {
  readonly refused: 'reverts' | 'insufficient_funds' | 'above_cap' | 'underpriced' | 'gas_limit';
  /** A sentence for the caller and for `status_reason`. */
  readonly sentence: string;
  readonly lasting: boolean;
}

/** What a version is made of. */
export interface DraftRequest {
  readonly account: string;
  readonly policies: RelayerPolicies;
  /** `self_transfer` takes the slot and does nothing; it may pass the price cap up to the node's replacement minimum. */
  readonly content: Content | 'self_transfer';
  /** The versions that this one must outbid; empty for a first version. */
  readonly outbids: readonly Attempt[];
  /**
   * True when the service itself bids more for content it has accepted (escalation, a slot that an earlier version blocks): explicit prices are
   * then a first bid, raised to what the market and `outbids` demand, up to the cap. Absent: an explicit price is met or refused.
   */
  readonly raises?: boolean;
}

/** What the price of an escalation is made from. */
export interface RepriceRequest {
  readonly policies: RelayerPolicies;
  /** How the caller wanted it priced; explicit prices were the first bid. */
  readonly pricing: EvmPricing;
  /** The slot's versions so far: each of them is outbid, since a node may hold any. */
  readonly outbids: readonly Attempt[];
  /** What the version is for: `cancel` and `expire` are self-transfers. */
  readonly purpose: Intent;
}

/** A node's answer to a broadcast. Only `accepted` and `known` say that a node has it; only the chain says what became of it. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'known' }
  /** The slot is used: by us or by somebody else; the chain tells. */
  | { readonly kind: 'nonce_used' }
  /** A version in the same slot bids as much or more. */
  | { readonly kind: 'underpriced'; readonly sentence: string }
  /** Waiting may help: funds, base fee, nonce too high, pool full. */
  | { readonly kind: 'wait'; readonly sentence: string }
  /** The node cannot be asked, or answered something we do not know. Says nothing about the chain. */
  | { readonly kind: 'unknown'; readonly sentence: string };

/** Where a version was found. */
export interface Receipt {
  readonly hash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly succeeded: boolean;
  /** Why it reverted, when that is known. */
  readonly revertReason: string | null;
  /** The raw revert data, lower-case hex with `0x`, for relayers whose policy is to show it; absent when it is not known or empty. */
  readonly revertData?: string;
}

/** The transaction that used a nonce. */
export interface SenderTransaction {
  readonly hash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly succeeded: boolean;
}

/** Requests to nodes since the chain was opened. */
export interface NodeCalls {
  /** HTTP requests. */
  readonly http: number;
  /** JSON-RPC calls in them: a batch of 50 is one request and 50 items. */
  readonly items: number;
}

/** A network's chain. Methods that ask a node throw DomainError `NODE_UNAVAILABLE` when none can be asked. */
export interface Chain {
  readonly network: Network;
  /** Reads a caller's request. Throws DomainError (400) naming the field. Asks no node. `earlierSpeed`: what a replacement falls back to. */
  contentOf(request: ContentRequest, earlierSpeed: Speed | null): Content;
  genesisHash(): Promise<string>;
  /** From now on only nodes with this genesis block are asked, whatever they were before: it is verified on every new connection. */
  expectGenesis(hash: string): void;
  /** The genesis block of a node that was refused because it is another one; null: none was. */
  foreignGenesis(): string | null;
  head(): Promise<Head>;
  /** How many transactions of the account the newest block counts: the first nonce that no block holds. */
  nonceOf(account: string): Promise<bigint>;
  balanceOf(account: string): Promise<bigint>;
  /** Estimates, prices and checks funds. */
  draft(request: DraftRequest): Promise<Draft | Refusal>;
  /** Signs a draft into a slot. Asks no node. */
  sign(draft: Draft, nonce: bigint, signer: Signer): Promise<{ hash: string; raw: string; fields: EvmAttemptFields }>;
  broadcast(raw: string): Promise<BroadcastOutcome>;
  /**
   * Sends signed bytes, in order, in as few requests as nodes take; the outcomes are in the order of `raws`. What a node leaves unanswered is
   * `unknown`. Sending the same bytes again is always safe.
   */
  broadcastAll(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
  /**
   * The receipts of those of these transactions that a block holds, by hash as given. `blocks` says where they are likely to be; one that is in
   * another block is found all the same. Absence is a node's answer too, never a failure to answer. `revertReason` and `revertData` are not
   * looked for: see `revertReason`.
   */
  receipts(hashes: readonly string[], blocks: BlockRange): Promise<ReadonlyMap<string, Receipt>>;
  /**
   * Why a reverted transaction reverted, as far as running it again on its block tells: what the code said, the meaning of a panic, or the
   * selector of a custom error; and the revert data, lower-case hex with `0x`, cut. Null where it is not known. Never throws.
   */
  revertReason(receipt: Receipt): Promise<{ readonly reason: string | null; readonly data: string | null }>;
  /** The account's nonce after this block; `pruned` when every node has dropped that state. */
  nonceAt(account: string, blockNumber: bigint): Promise<bigint | 'pruned'>;
  /**
   * The transaction of these blocks that used the account's nonce. `not_found`: none of them holds one, also where the nonce was used without a
   * transaction (an EIP-7702 authorisation). `pruned`: nodes have dropped too much state to tell. A bounded number of calls.
   */
  findSender(account: string, nonce: bigint, blocks: BlockRange): Promise<SenderTransaction | 'not_found' | 'pruned'>;
  /**
   * The price of a version that the service itself bids, without estimating anything: the market for the speed (after an explicit first bid, for
   * `fast`), and at least what outbids every earlier version. Capped by `gas_price_cap`, which a self-transfer may pass up to that minimum.
   * Refused as `above_cap` when the minimum does not fit under the cap.
   */
  reprice(request: RepriceRequest): Promise<EvmPrice | Refusal>;
  /** Hash of the block at this height; null when there is none. */
  blockHash(height: bigint): Promise<string | null>;
  /** How much the nodes were asked. */
  calls(): NodeCalls;
  /** Null when the node knows no block that holds it. */
  receipt(hash: string): Promise<Receipt | null>;
  /** True when the node has the transaction in its pool or in a block. */
  knows(hash: string): Promise<boolean>;
  close(): Promise<void>;
}
