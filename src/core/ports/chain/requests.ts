import type { IsRefused } from '../../errors/read-all.js';
import type { EvmCallRequest, EvmRequest } from '../../records/evm.js';
import type { Asker, Judgement } from '../../records/judgement.js';
import type { Relayer } from '../../records/relayer.js';
import type { SolanaRequest } from '../../records/solana.js';
import type { StellarRequest } from '../../records/stellar.js';
import type { Content } from '../../records/transaction.js';
import type { Signer } from '../signer.js';
import type { Refusal } from './drafts.js';
import type { ChainQuote, ReadPart } from './quote.js';

/** A caller's request, in the shape of its network. */
export type ContentRequest = EvmRequest | StellarRequest | SolanaRequest;

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

/** Signs transactions that the service does not send. */
export interface SignForeign {
  /**
   * True: what it signs can do exactly what a transaction of the service does, in its slot, and look like an attempt that the database has
   * lost. Its hash must be stored before the caller gets it.
   */
  readonly looksLikeOwn: boolean;
  /** Checks what `sign` checks, without signing. Throws DomainError (400) naming the field. */
  check(transaction: string, relayer: Relayer): void;
  /**
   * Adds the relayer's signature to a caller's transaction, both in base64 as the network writes them. `signature` is base64 on Stellar,
   * base58 on Solana; `hash` names the transaction on its network. Throws DomainError (400) naming the field, and `NODE_UNAVAILABLE`.
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
  /** What rules read of it. Absent: it was given as hashes, or its struct has structs or arrays. */
  readonly read?: {
    /** Null: the domain names none. */
    readonly chainId: bigint | null;
    /** Lower case; null: the domain names none. */
    readonly verifyingContract: string | null;
    /** As EIP-712 writes it: `Permit(address owner,address spender,…)`. */
    readonly struct: string;
    /** The fields as they are hashed, 64 hex digits each. */
    readonly words: string;
  };
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

/** What acceptance and other calls ask a chain. */
export interface RequestChain {
  /** Checks a caller's request, its form and the relayer's policies. Throws DomainError (400) naming the field. Calls no node. */
  contentOf(request: ContentRequest, context: RequestContext): Wanted;
  /**
   * Returns why the relayer's policies forbid content that they may have allowed when it was accepted; null if they allow it. Its fee and
   * what only nodes know are checked by `draft`, which checks this, too. `approvals`: how many it has, if it needed them. Calls no
   * node.
   */
  whyForbidden(content: Content, relayer: Relayer, approvals: number): Refusal | null;
  /** Returns what the relayer's rules say about content; null: it has none. Absent: the network has no rules. Calls no node. */
  judge?(content: Content, relayer: Relayer, asker: Asker): Judgement | null;
  /** Returns what the relayer's rules say about typed data; null: none is for it. Absent: the network signs none. Calls no node. */
  judgeTypedData?(data: TypedData, relayer: Relayer, asker: Asker): Judgement | null;
  /** Returns the addresses that content pays or calls, as far as it shows them. Calls no node. */
  receiversOf(content: Content, account: string): readonly string[];
  /** True if a transaction with this content takes no nonce of the relayer's account. Calls no node. */
  isUnsequenced(content: Content): boolean;
  /** Null if the network does not support it. */
  readonly signForeign: SignForeign | null;
  /** Absent: the network does not support it. */
  readonly contractCalls?: ContractCalls;
  /** Hashes typed data. Throws DomainError (400) naming each field by its path. Absent: the network does not support it. */
  hashTypedData?(request: TypedDataRequest): TypedData;
  /**
   * Returns what a transaction with this content would do and cost now, by the rules of `draft`, but policies and balance forbid nothing.
   * A part is unknown if nodes do not answer. A quote leaves nothing behind, and never throws because of a node.
   */
  quote(request: QuoteRequest): Promise<ChainQuote>;
  /** Forwards a caller's call to one node as it is. `paramsJson` is an array or an object; null: no params are sent. */
  forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer>;
}
