import type { EvmAttemptFields, EvmContent } from './evm.js';
import type { SolanaAttemptFields, SolanaContent } from './solana.js';
import type { StellarAttemptFields, StellarContent } from './stellar.js';

/**
 * A transaction and its signed versions.
 *
 * Words: a *slot* is (chain, account, nonce), where a Stellar account's sequence numbers are its nonces; a transaction that *stands alone* (on Solana,
 * or a fee bump of somebody else's envelope) has no nonce, and its slot is its own. An *attempt* is one signed version; it belongs to a slot and to a
 * transaction, and once stored it counts as out. An *intent* is what the transaction should become: content, then perhaps cancel or expire, never back.
 */

/** Where a transaction stands; see `relayer.v1.TransactionStatus`. */
export type TransactionStatus = 'pending' | 'sent' | 'submitted' | 'mined' | 'confirmed' | 'failed' | 'expired' | 'canceled';

/** Statuses that never change again. */
export const finalStatuses: readonly TransactionStatus[] = ['confirmed', 'failed', 'expired', 'canceled'];

/** Statuses of a transaction that may still change. */
export const openStatuses: readonly TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined'];

/** What the transaction should become. `yield`: it cannot go as it is, or be paid any more, and gives its slot up for those behind it. */
export type Intent = 'content' | 'cancel' | 'expire' | 'release_slot';

/** What a transaction does, in the shape of its network. */
export type Content = EvmContent | StellarContent | SolanaContent;

/** What one signed version says, in the shape of its network. */
export type AttemptFields = EvmAttemptFields | StellarAttemptFields | SolanaAttemptFields;

/** The account whose nonces a transaction uses: one lane each. */
export interface LaneId {
  /** See `chainKeyOf`. */
  readonly chain: string;
  readonly account: string;
}

/** What the chain tells of a mined version that records show. */
export interface MinedFacts {
  readonly network: 'stellar';
  readonly feeChargedStroops: bigint;
  /** What the called function gave back, base64 XDR of an ScVal; null where there is none. */
  readonly returnValueXdr: string | null;
}

/** Where the mined version was found. */
export interface MinedAt {
  readonly version: number;
  /** On Stellar the ledger, on Solana the slot of the block. */
  readonly blockNumber: bigint;
  readonly blockHash: string;
  /** False when it was mined and failed. */
  readonly succeeded: boolean;
  /** Null where there is nothing more to tell. */
  readonly facts: MinedFacts | null;
}

/** A transaction as stored. */
export interface Transaction extends LaneId {
  readonly id: string;
  readonly relayerId: string;
  readonly status: TransactionStatus;
  readonly statusReason: string | null;
  readonly intent: Intent;
  readonly content: Content;
  /** New content of a transaction that stands alone: it is signed once no version that is out can be mined any more. Null: none waits. */
  readonly queued: Content | null;
  /** Slot, once a version is signed; null before, and always where it stands alone. */
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
  /** W3C trace context that its steps are part of; null: none. */
  readonly traceParent: string | null;
  /** Grows with every write; what guards a write against another. */
  readonly revision: number;
}

/** One signed version. */
export interface Attempt extends LaneId {
  readonly transactionId: string;
  /** 1 for the first version of the transaction. */
  readonly version: number;
  readonly purpose: Intent;
  /** Null where the transaction stands alone. */
  readonly nonce: bigint | null;
  /** As the network writes it: lower-case hex, on EVM with `0x`; on Solana the base58 signature. */
  readonly hash: string;
  /** The signed bytes as nodes take them: hex with `0x` on EVM, else base64. */
  readonly raw: string;
  readonly fields: AttemptFields;
  readonly createdAtMs: number;
}

/**
 * The hashes by which a block may have what a version does: its own, and on Stellar that of the transaction inside a fee bump, around which anybody may put a
 * fee bump of his own.
 */
export function hashesOf({ hash, fields }: Pick<Attempt, 'hash' | 'fields'>): readonly string[] {
  return fields.network === 'stellar' && fields.innerHash !== null ? [hash, fields.innerHash] : [hash];
}

/** What a reader sees: the transaction and the attempt that its record shows (the mined one, else the live one). */
export interface TransactionView {
  readonly transaction: Transaction;
  readonly shown: Attempt | null;
}

/** True once a version is signed: it counts as out. */
export function isSigned({ liveVersion }: Pick<Transaction, 'liveVersion'>): boolean {
  return liveVersion !== null;
}

/** True when the status never changes again. */
export function isFinal(status: TransactionStatus): boolean {
  return finalStatuses.includes(status);
}
