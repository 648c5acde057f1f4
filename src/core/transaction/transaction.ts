/**
 * A transaction and its signed versions.
 *
 * Words: a *slot* is (chain, account, nonce). An *attempt* is one signed version; it belongs to a slot and to a transaction, and once stored it
 * counts as out. An *intent* is what the transaction should become: content, then perhaps cancel or expire, never back.
 */

/** Where a transaction stands; see `relayer.v1.TransactionStatus`. */
export type TransactionStatus = 'pending' | 'sent' | 'submitted' | 'mined' | 'confirmed' | 'failed' | 'expired' | 'canceled';

/** Statuses that never change again. */
export const finalStatuses: readonly TransactionStatus[] = ['confirmed', 'failed', 'expired', 'canceled'];

/** Statuses of a transaction that may still change. */
export const openStatuses: readonly TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined'];

/** What the transaction should become. `yield`: it cannot be paid any more, and gives its slot up for those behind it. */
export type Intent = 'content' | 'cancel' | 'expire' | 'yield';

/** How fast, and so how dear. */
export type Speed = 'fastest' | 'fast' | 'average' | 'safeLow';

/** How the caller wants an EVM transaction priced. Explicit prices are the first bid. */
export type EvmPricing =
  | { readonly kind: 'speed'; readonly speed: Speed }
  | { readonly kind: 'legacy'; readonly gasPriceWei: bigint }
  | { readonly kind: 'eip1559'; readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint };

/** What an EVM transaction does. */
export interface EvmContent {
  readonly network: 'evm';
  /** EIP-55; null creates a contract. */
  readonly to: string | null;
  readonly valueWei: bigint;
  /** Lower-case hex with `0x`. */
  readonly data: string | null;
  /** Null: estimated. */
  readonly gasLimit: bigint | null;
  readonly pricing: EvmPricing;
}

/** What a transaction does, in the shape of its network. */
export type Content = EvmContent;

/** The account whose nonces a transaction uses: one lane each. */
export interface LaneId {
  /** See `chainKeyOf`. */
  readonly chain: string;
  readonly account: string;
}

/** Where the mined version was found. */
export interface MinedAt {
  readonly version: number;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  /** False when it was mined and reverted. */
  readonly succeeded: boolean;
}

/** A transaction as stored. */
export interface Transaction extends LaneId {
  readonly id: string;
  readonly relayerId: string;
  readonly status: TransactionStatus;
  readonly statusReason: string | null;
  readonly intent: Intent;
  readonly content: Content;
  /** Slot, once a version is signed. */
  readonly nonce: bigint | null;
  /** The newest attempt, which is the intended one; null before one is signed. */
  readonly liveVersion: number | null;
  /** The attempt that a block holds; null when none is known to be in one. */
  readonly mined: MinedAt | null;
  readonly createdAtMs: number;
  /** First broadcast; never changes after. */
  readonly sentAtMs: number | null;
  /** With status `confirmed` only. */
  readonly confirmedAtMs: number | null;
  readonly validUntilMs: number | null;
  /** Grows with every write; what guards a write against another. */
  readonly revision: number;
}

/** A secp256k1 signature in its parts. */
export interface EvmSignature {
  /** 64 lower-case hex digits without `0x`. */
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

/** The price of one signed version, in wei per gas. */
export type EvmPrice =
  | { readonly kind: 'legacy'; readonly gasPriceWei: bigint }
  | { readonly kind: 'eip1559'; readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint };

/** What one signed version says. */
export interface EvmAttemptFields {
  readonly network: 'evm';
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
  readonly gasLimit: bigint;
  readonly price: EvmPrice;
  readonly signature: EvmSignature;
}

/** One signed version. */
export interface Attempt extends LaneId {
  readonly transactionId: string;
  /** 1 for the first version of the transaction. */
  readonly version: number;
  readonly purpose: Intent;
  readonly nonce: bigint;
  /** Lower-case hex with `0x`. */
  readonly hash: string;
  /** The signed bytes, lower-case hex with `0x`. */
  readonly raw: string;
  readonly fields: EvmAttemptFields;
  readonly createdAtMs: number;
}

/** What a reader sees: the transaction and the attempt that its record shows (the mined one, else the live one). */
export interface TransactionView {
  readonly transaction: Transaction;
  readonly shown: Attempt | null;
}

/** True when the status never changes again. */
export function isFinal(status: TransactionStatus): boolean {
  return finalStatuses.includes(status);
}
