import type { EvmAttemptFields, EvmContent } from './evm.js';
import type { SolanaAttemptFields, SolanaContent } from './solana.js';
import type { StellarAttemptFields, StellarContent } from './stellar.js';

/**
 * A transaction and its attempts.
 *
 * Terms: a *slot* is (chain, account, nonce); on Stellar, sequence numbers are the nonces. An *unsequenced* transaction (on Solana, or a
 * fee bump of a foreign envelope) has no nonce, and its slot is its own. An *attempt* is one signed version; it belongs to a slot and to a
 * transaction, and a stored attempt counts as broadcast. The *intent* is what the transaction should become: content, then perhaps cancel
 * or expire, never back.
 */

/** The status of a transaction; see `relayer.v1.TransactionStatus`. */
export type TransactionStatus = 'pending' | 'sent' | 'submitted' | 'mined' | 'confirmed' | 'failed' | 'expired' | 'canceled';

/** Statuses that never change again. */
export const finalStatuses: readonly TransactionStatus[] = ['confirmed', 'failed', 'expired', 'canceled'];

/** Statuses of a transaction that may still change. */
export const openStatuses: readonly TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined'];

/**
 * The intended outcome of a transaction. `release_slot`: it can never be mined or paid, so it fails and frees its slot for later
 * transactions.
 */
export type Intent = 'content' | 'cancel' | 'expire' | 'release_slot';

/** The content of a transaction, in the shape of its network. */
export type Content = EvmContent | StellarContent | SolanaContent;

/** The content of an attempt, in the shape of its network. */
export type AttemptFields = EvmAttemptFields | StellarAttemptFields | SolanaAttemptFields;

/** The account whose nonces a transaction uses. Each account has one lane. */
export interface LaneId {
  /** See `chainKeyOf`. */
  readonly chain: string;
  readonly account: string;
}

/** Why a transaction failed; see `relayer.v1.FailureReason`. */
export type FailureReason =
  | 'reverted'
  | 'would_revert'
  | 'insufficient_funds'
  | 'displaced'
  | 'never_accepted'
  | 'unresolvable'
  | 'fee_limit'
  | 'gas_limit'
  | 'not_allowed'
  | 'outdated';

/** Facts about a mined attempt that records show. */
export interface MinedFacts {
  /** On EVM networks; null: the network has no gas. */
  readonly gasUsed: bigint | null;
  /** The amount that the account paid, in the network's smallest unit; null: the node's receipt does not show it. */
  readonly feePaid: bigint | null;
  /** On Stellar the called function's return value, base64 XDR of an ScVal; null: none. */
  readonly returnValueXdr: string | null;
}

/** Where an attempt was mined. */
export interface MinedAt {
  readonly version: number;
  /** On Stellar the ledger, on Solana the slot of the block. */
  readonly blockNumber: bigint;
  readonly blockHash: string;
  /** False: it was mined and failed. */
  readonly succeeded: boolean;
  /** Null: none. */
  readonly facts: MinedFacts | null;
}

/** What a caller names a transaction by. It never changes. */
export interface TransactionTags {
  /** Unique for the relayer, for ever; null: none. */
  readonly externalId: string | null;
  readonly labels: readonly TransactionLabel[];
}

/** A label of a transaction. */
export interface TransactionLabel {
  readonly key: string;
  readonly value: string;
}

/** The delays of a transaction that were reported. */
export interface Delays {
  /** The kinds of its obstacles, see `obstacleKind`. */
  readonly kinds: readonly string[];
  readonly lastAtMs: number;
}

/** A label as one text. */
export function labelText({ key, value }: TransactionLabel): string {
  return `${key}:${value}`;
}

/** What an API key decided about a transaction. */
export interface ApprovalDecision {
  readonly apiKeyId: string;
  readonly atMs: number;
}

/** The approval that the present content of a transaction has needed since it was accepted. */
export interface Approval {
  /** The rule that asked for it. */
  readonly ruleId: string;
  /** How many API keys must approve. */
  readonly required: number;
  /** The keys that sent the transaction or replaced its content. None of them can approve it. */
  readonly senders: readonly string[];
  /** One for each key, in their order. */
  readonly given: readonly ApprovalDecision[];
  /** Who rejected it; null: no key did. */
  readonly rejected: ApprovalDecision | null;
  /** The transaction expires at this time unless it is approved. */
  readonly expiresAtMs: number;
}

/** A transaction as stored. */
export interface Transaction extends LaneId {
  readonly id: string;
  readonly relayerId: string;
  readonly status: TransactionStatus;
  readonly statusReason: string | null;
  /** Why it failed; with intent `release_slot`, why it will; if it is restored, why it may. Null in all other states. */
  readonly failureReason: FailureReason | null;
  readonly intent: Intent;
  readonly content: Content;
  /** The queued replacement of an unsequenced transaction: it is signed when all earlier attempts are dead. Null: none. */
  readonly queued: Content | null;
  /** The slot; null before an attempt is signed, and always for an unsequenced transaction. */
  readonly nonce: bigint | null;
  /** The version of the newest attempt, which is the intended one; null before one is signed. */
  readonly liveVersion: number | null;
  /** The mined attempt; null: none is known to be mined. */
  readonly mined: MinedAt | null;
  readonly createdAtMs: number;
  /** The last change of the record; never goes back, even if the clock does. */
  readonly updatedAtMs: number;
  /** First broadcast; never changes afterwards. */
  readonly sentAtMs: number | null;
  /** Set only with status `confirmed`. */
  readonly confirmedAtMs: number | null;
  readonly validUntilMs: number | null;
  /** W3C trace context of its steps; null: none. */
  readonly traceParent: string | null;
  /** Null: the caller gave none. */
  readonly tags: TransactionTags | null;
  /** Null: none was reported. */
  readonly delays: Delays | null;
  /** Null: its content needs none. */
  readonly approval: Approval | null;
  /** Grows with every write; it guards a write against a concurrent one. */
  readonly revision: number;
}

/**
 * True if a backup of the database had this signed transaction when it was restored. An attempt that the backup lacks may have been sent
 * since, so it gets no other nonce, and an unsequenced one is not signed again.
 */
export function isRestored({ intent, nonce, failureReason }: Pick<Transaction, 'intent' | 'nonce' | 'failureReason'>): boolean {
  if (intent === 'release_slot') return nonce === null;
  return failureReason === 'displaced' || failureReason === 'unresolvable';
}

/** A signed version of a transaction. */
export interface Attempt extends LaneId {
  readonly transactionId: string;
  /** 1 for the transaction's first attempt. */
  readonly version: number;
  readonly purpose: Intent;
  /** Null for an unsequenced transaction. */
  readonly nonce: bigint | null;
  /** As the network writes it: lower-case hex, on EVM with `0x`; on Solana the base58 signature. */
  readonly hash: string;
  /** The signed bytes as nodes take them: hex with `0x` on EVM, else base64. */
  readonly raw: string;
  readonly fields: AttemptFields;
  readonly createdAtMs: number;
}

/**
 * Returns the hashes under which a block may contain an attempt: its own, and on Stellar the hash of the transaction inside a fee bump,
 * because anyone may wrap that transaction in another fee bump.
 */
export function hashesOf({ hash, fields }: Pick<Attempt, 'hash' | 'fields'>): readonly string[] {
  return fields.network === 'stellar' && fields.innerHash !== null ? [hash, fields.innerHash] : [hash];
}

/** A transaction that may still change, with all its attempts, oldest first. */
export interface OpenTransaction {
  readonly transaction: Transaction;
  readonly attempts: readonly Attempt[];
}

/** A transaction as readers see it, with the attempt that its record shows: the mined one, else the live one. */
export interface TransactionView {
  readonly transaction: Transaction;
  readonly shown: Attempt | null;
}

/**
 * Returns a copy with changes and this revision. It names each field, so that all transactions have the same hidden class: V8 spreads
 * objects of several classes property by property, which takes several times as long.
 */
export function changed(transaction: Transaction, changes: Partial<Transaction>, revision = transaction.revision): Transaction {
  const copy: Transaction = {
    id: transaction.id,
    relayerId: transaction.relayerId,
    chain: transaction.chain,
    account: transaction.account,
    status: transaction.status,
    statusReason: transaction.statusReason,
    failureReason: transaction.failureReason,
    intent: transaction.intent,
    content: transaction.content,
    queued: transaction.queued,
    nonce: transaction.nonce,
    liveVersion: transaction.liveVersion,
    mined: transaction.mined,
    createdAtMs: transaction.createdAtMs,
    updatedAtMs: transaction.updatedAtMs,
    sentAtMs: transaction.sentAtMs,
    confirmedAtMs: transaction.confirmedAtMs,
    validUntilMs: transaction.validUntilMs,
    traceParent: transaction.traceParent,
    tags: transaction.tags,
    delays: transaction.delays,
    approval: transaction.approval,
    revision,
  };
  return Object.assign(copy, changes);
}

/** True if nothing may be signed for the transaction yet: keys must approve its content before. */
export function awaitsApproval({ approval }: Pick<Transaction, 'approval'>): boolean {
  return approval !== null && approval.given.length < approval.required;
}

/** True if the content has needed approvals, and has them. */
export function isApproved(transaction: Pick<Transaction, 'approval'>): boolean {
  return transaction.approval !== null && !awaitsApproval(transaction);
}

/** How many approvals the content has, if that is as many as it needed; 0: it needed none, or waits for some. */
export function approvalsOf(transaction: Pick<Transaction, 'approval'>): number {
  return isApproved(transaction) ? (transaction.approval?.given.length ?? 0) : 0;
}

/** True if an attempt is signed; it then counts as broadcast. */
export function isSigned({ liveVersion }: Pick<Transaction, 'liveVersion'>): boolean {
  return liveVersion !== null;
}

/** True if the status never changes again. */
export function isFinal(status: TransactionStatus): boolean {
  return finalStatuses.includes(status);
}
