import type { EvmPrice, Speed } from '../../records/evm.js';
import type { FailureReason } from '../../records/transaction.js';

/**
 * Reads a part of a quote. Returns null, and warns the caller with the part's name, if no node gives a usable answer in time. `name`
 * continues a sentence that ends with `is unknown`.
 */
export type ReadPart = <T>(name: string, read: () => Promise<T>) => Promise<T | null>;

/** Why a transaction would not succeed. */
export interface QuotedFailure {
  readonly reason: FailureReason;
  readonly sentence: string;
  /** The decoded reason of the revert; null: there is none. */
  readonly revertReason: string | null;
  /** Hex with `0x`; null: there is none. */
  readonly revertData: string | null;
}

/** What every chain quotes. */
interface ChainQuoteBase {
  /** Null: it would succeed. Undefined: unknown. */
  readonly failure: QuotedFailure | null | undefined;
  /** The most that the transaction can take from the relayer's account, in the network's smallest unit; null: unknown. */
  readonly maximumCost: bigint | null;
}

/** A price, and what a transaction would cost at it, its value included. Null: unknown. */
export interface QuotedPrice {
  /** Null: the price of the request. */
  readonly speed: Speed | null;
  readonly price: EvmPrice | null;
  /** Why the transaction would not be sent at this price now; null: it would be. */
  readonly waitsFor: string | null;
  readonly expectedCostWei: bigint | null;
  readonly maximumCostWei: bigint | null;
}

/** A quote of an EVM network. Null: unknown. */
export interface EvmQuote extends ChainQuoteBase {
  readonly network: 'evm';
  /** The decoded result of the request's call as JSON text; null also if the function declares none, or it fails. */
  readonly resultJson: string | null;
  /** What the call returns. */
  readonly returnData: string | null;
  readonly gasLimit: bigint | null;
  /** The gas that the transaction would use. */
  readonly gasEstimate: bigint | null;
  /** Null also if the network has none. */
  readonly baseFeeWei: bigint | null;
  readonly publishingFeeWei: bigint | null;
  readonly price: QuotedPrice | null;
  /** Of every speed, from the lowest price to the highest. */
  readonly prices: readonly QuotedPrice[];
}

/** An account that an operation pays or creates. Null: unknown. */
export interface QuotedDestination {
  /** The number of the operation, from 1. */
  readonly operation: number;
  readonly account: string;
  readonly exists: boolean | null;
  /** Null also if it needs none. */
  readonly hasTrustLine: boolean | null;
}

/** A quote of a Stellar network. Null: unknown. */
export interface StellarQuote extends ChainQuoteBase {
  readonly network: 'stellar';
  readonly feeStroops: bigint | null;
  readonly resourceFeeStroops: bigint | null;
  /** The next one of the account. */
  readonly sequence: bigint | null;
  /** What a contract operation returns, base64 XDR. */
  readonly resultXdr: string | null;
  readonly destinations: readonly QuotedDestination[];
}

/** A quote of a Solana cluster. Null: unknown. */
export interface SolanaQuote extends ChainQuoteBase {
  readonly network: 'solana';
  readonly feeLamports: bigint | null;
  readonly computeUnits: bigint | null;
  readonly logs: readonly string[];
}

/** What a chain says about a transaction that is not sent. */
export type ChainQuote = EvmQuote | StellarQuote | SolanaQuote;
