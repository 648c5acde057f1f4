import { DomainError } from '../errors/errors.js';
import {
  type Attempt,
  awaitsApproval,
  type Content,
  changed,
  type FailureReason,
  type Intent,
  isRestored,
  isSigned,
  type MinedAt,
  type Transaction,
  type TransactionStatus,
} from '../records/transaction.js';

/**
 * The lifecycle: every change of a stored transaction, as pure functions from one revision to the next.
 *
 *     pending → sent → submitted → mined → confirmed | failed | expired | canceled
 *
 * Two pointers, *intended* (`liveVersion`) and *mined*: a reorg clears the mined one, and the intended attempt shows again. A transaction
 * with an attempt becomes final only by `resolved`, when its slot is used at the required confirmations; an unsequenced one also by
 * `endedDead`, when all its attempts are dead.
 *
 * `statusReason` of a transaction that is not final always says what it waits for.
 */

/** Why an accepted transaction waits. A known obstacle follows after a colon. */
export const notSignedYet = 'waiting: queued for signing';
const notAcceptedYet = 'waiting: signed; no RPC node has accepted it yet';
/** Of a replacement, whose event is the last one until a block has it: true before a node has accepted it, and after. */
const beingBroadcast = 'waiting: signed and being broadcast; not mined yet';
const notMinedYet = 'waiting: an RPC node has accepted it; not mined yet';
const notFinalYet = 'waiting: mined; not final until it has the required confirmations';

const heldSince = 'waiting: nothing is signed or broadcast now: ';

const usualWaits: ReadonlySet<string> = new Set([notSignedYet, notAcceptedYet, beingBroadcast, notMinedYet, notFinalYet]);

/** True if this status reason names an obstacle: the transaction does not only wait for its signature, an RPC node or a block. */
export function isObstacle(statusReason: string | null): boolean {
  return statusReason?.startsWith('waiting: ') === true && !usualWaits.has(statusReason);
}

function next(transaction: Transaction, changes: Partial<Transaction>): Transaction {
  return changed(transaction, changes, transaction.revision + 1);
}

/** Replaces the content of an unsigned transaction. */
export function replacedInPlace(
  transaction: Transaction,
  { content, validUntilMs, statusReason, approval }: Pick<Transaction, 'content' | 'validUntilMs' | 'statusReason' | 'approval'>,
): Transaction {
  return next(transaction, { content, validUntilMs, statusReason, approval });
}

/** Ends an unsigned transaction that the caller no longer wants. */
export function endedUnsigned(transaction: Transaction, status: 'canceled' | 'expired', reason: string): Transaction {
  return next(transaction, { status, intent: status === 'canceled' ? 'cancel' : 'expire', statusReason: reason });
}

/** Fails a transaction that no block contains and that the service no longer sends. */
export function failed(transaction: Transaction, failureReason: FailureReason, reason: string): Transaction {
  return next(transaction, { status: 'failed', mined: null, queued: null, failureReason, statusReason: reason });
}

/** Records a signed attempt: the first takes the slot, later ones replace it there. `wanted`: the caller's new content, if there is one. */
export function signed(
  transaction: Transaction,
  { version, purpose, nonce }: Pick<Attempt, 'version' | 'purpose' | 'nonce'>,
  wanted: Pick<Transaction, 'content' | 'validUntilMs' | 'approval'> = transaction,
): Transaction {
  const status = transaction.status === 'pending' ? 'sent' : transaction.status;
  return next(transaction, {
    status,
    statusReason: reasonOf(transaction, purpose, nonce) ?? (status === 'sent' ? notAcceptedYet : beingBroadcast),
    intent: purpose,
    content: wanted.content,
    queued: null,
    validUntilMs: wanted.validUntilMs,
    approval: wanted.approval,
    nonce,
    liveVersion: version,
  });
}

/** The network's words for the content that takes a slot and does nothing, and for the number of a slot. */
export function slotTerms({ content }: Pick<Transaction, 'content'>): { readonly filler: string; readonly slot: string } {
  return content.network === 'evm'
    ? { filler: 'a self-transfer', slot: 'nonce' }
    : { filler: 'a no-op transaction', slot: 'sequence number' };
}

function slotOf(transaction: Transaction, nonce = transaction.nonce): string {
  return `${slotTerms(transaction).slot} ${nonce}`;
}

function reasonOf(transaction: Transaction, purpose: Intent, nonce = transaction.nonce): string | null {
  if (purpose === 'content') return null;
  const replaced = `replaced by ${slotTerms(transaction).filler} at ${slotOf(transaction, nonce)}`;
  switch (purpose) {
    case 'cancel':
      return `being canceled: ${replaced}; waiting for that to be mined`;
    case 'expire':
      return `valid_until has passed: ${replaced}; waiting for that to be mined`;
    case 'release_slot':
      // The obstacle is what the caller needs to read at the end, too.
      if (transaction.intent === 'release_slot') return transaction.statusReason;
      return `${transaction.statusReason ?? 'insufficient balance'}; ${replaced} to unblock later transactions`;
  }
}

/**
 * Queues new content for an unsequenced transaction that was broadcast: it waits until all earlier attempts are dead. An earlier queued
 * replacement is dropped.
 */
export function replacementQueued(transaction: Transaction, queued: Content, validUntilMs: number | null): Transaction {
  return next(transaction, { queued, validUntilMs, statusReason: unsequencedReason({ ...transaction, queued }) });
}

/** Gives up an unsequenced transaction: it is not broadcast again, and ends when all its attempts are dead. */
export function givenUp(transaction: Transaction, intent: 'cancel' | 'expire'): Transaction {
  return next(transaction, { intent, queued: null, statusReason: unsequencedReason({ ...transaction, intent, queued: null }) });
}

const restoredReason = 'restored from a backup: a later attempt may have been sent since, so it is not signed again';

const restoredSlotReason = 'restored from a backup: it fails if a transaction that the backup lacks used its';

/**
 * Keeps a signed transaction of a restored database from being paid twice. An unsequenced one is not signed again: it ends with what the
 * attempts in the backup became, and fails if they are all dead. Another one stays in its slot: if an attempt that the backup lacks has
 * used that, it fails, and gets no other nonce (see `displaced`).
 */
export function restored(transaction: Transaction): Transaction {
  const { mined: at, statusReason } = transaction;
  if (transaction.nonce === null)
    return next(transaction, {
      intent: 'release_slot',
      queued: null,
      failureReason: 'unresolvable',
      statusReason: at === null ? restoredReason : statusReason,
    });
  const { slot } = slotTerms(transaction);
  return next(transaction, {
    failureReason: 'displaced',
    statusReason: at === null ? `${restoredSlotReason} ${slot}` : statusReason,
  });
}

/** The reason of an unsequenced transaction that was broadcast. */
function unsequencedReason(transaction: Pick<Transaction, 'intent' | 'queued' | 'nonce' | 'failureReason'>): string | null {
  const { intent, queued } = transaction;
  if (isRestored(transaction)) return restoredReason;
  const untilDead = 'it is not rebroadcast, but may still be mined until its attempts expire';
  if (intent === 'cancel') return `being canceled: ${untilDead}`;
  if (intent === 'expire') return `valid_until has passed: ${untilDead}`;
  return queued === null ? null : 'waiting: the replacement is queued; will send when the earlier attempts can no longer be mined';
}

/** Ends an unsequenced transaction that was given up and whose attempts are all dead. */
export function endedDead(transaction: Transaction): Transaction {
  const dead = 'its attempts can no longer be mined';
  if (isRestored(transaction))
    return failed(transaction, 'unresolvable', `${restoredReason}; check the account's history before you resend`);
  return transaction.intent === 'expire' ? ended(transaction, 'expired', dead) : ended(transaction, 'canceled', dead);
}

/** Ends a transaction as its caller or its time limit wanted. */
function ended(transaction: Transaction, status: 'canceled' | 'expired', why: string): Transaction {
  const statusReason = `${status === 'canceled' ? 'canceled' : 'valid_until passed'}: ${why}`;
  return next(transaction, { status, mined: null, failureReason: null, statusReason });
}

/** Records that a node accepted the live attempt. */
export function submitted(transaction: Transaction, nowMs: number): Transaction {
  return next(transaction, {
    status: transaction.status === 'sent' ? 'submitted' : transaction.status,
    statusReason: (transaction.nonce === null ? unsequencedReason(transaction) : reasonOf(transaction, transaction.intent)) ?? notMinedYet,
    sentAtMs: transaction.sentAtMs ?? nowMs,
  });
}

/** Records why a transaction waits. */
export function waiting(transaction: Transaction, reason: string): Transaction {
  return next(transaction, { statusReason: reason });
}

/** The status reason of a transaction while nothing may be signed or broadcast. */
export function heldReason(transaction: Transaction, hold: string): string {
  return isSigned(transaction) ? `${heldSince}${hold}` : `${notSignedYet}: ${hold}`;
}

/** Records that a signed transaction no longer waits for the end of such a hold; null: it does not say that it does. */
export function unheld(transaction: Transaction): Transaction | null {
  const { status, statusReason, mined: at, intent, nonce } = transaction;
  if (statusReason?.startsWith(heldSince) !== true) return null;
  if (at !== null) return next(transaction, { statusReason: minedReason(transaction, at) ?? notFinalYet });
  const own = nonce === null ? unsequencedReason(transaction) : reasonOf(transaction, intent);
  return next(transaction, { statusReason: own ?? (status === 'sent' ? notAcceptedYet : notMinedYet) });
}

/** Records that a block contains an attempt. */
export function mined(transaction: Transaction, at: MinedAt, nowMs: number): Transaction {
  return next(transaction, {
    status: 'mined',
    mined: at,
    statusReason: minedReason(transaction, at) ?? notFinalYet,
    sentAtMs: transaction.sentAtMs ?? nowMs,
  });
}

function minedReason(transaction: Transaction, at: MinedAt): string | null {
  if (at.version !== transaction.liveVersion)
    return `attempt ${at.version} was mined instead of the newest, attempt ${transaction.liveVersion}`;
  if (transaction.nonce !== null) return reasonOf(transaction, transaction.intent);
  if (transaction.queued !== null) return 'mined before its queued replacement could be sent';
  switch (transaction.intent) {
    case 'cancel':
      return 'mined before the cancel took effect';
    case 'expire':
      return 'mined although valid_until has passed';
    case 'content':
    case 'release_slot':
      return null;
  }
}

/** Records a reorg that removed the mined attempt's block: the intended attempt shows again, and is rebroadcast. */
export function reorged(transaction: Transaction): Transaction {
  const { intent, mined: at, liveVersion, statusReason } = transaction;
  // The reason of a released slot names the obstacle, which the caller still needs when the transaction fails.
  const obstacle = at?.version === liveVersion ? statusReason : null;
  // An unsequenced attempt that is not wanted any more is not rebroadcast.
  const unwanted = transaction.nonce === null ? unsequencedReason(transaction) : null;
  return next(transaction, {
    status: 'submitted',
    mined: null,
    statusReason:
      intent === 'release_slot' && transaction.nonce !== null
        ? (obstacle ?? 'it could not be sent')
        : (unwanted ?? 'waiting: a reorg removed its block; rebroadcasting it'),
  });
}

/**
 * Records that a final foreign transaction used the slot. The transaction gets another nonce unless it was being given up; its attempts in
 * the old slot can never be mined.
 */
export function displaced(transaction: Transaction, foreignHash: string): Transaction {
  const taken = `${slotOf(transaction)} was used by the foreign transaction ${foreignHash}`;
  // Also if it was being given up: what was in the slot may have paid before.
  if (isRestored(transaction))
    return failed(transaction, 'displaced', `${taken}, which may be an attempt that the restored backup lacks; check it before you resend`);
  switch (transaction.intent) {
    case 'content':
      return next(transaction, {
        status: 'pending',
        nonce: null,
        liveVersion: null,
        mined: null,
        statusReason: `waiting: ${taken}; will send with another ${slotTerms(transaction).slot}`,
      });
    case 'cancel':
      return ended(transaction, 'canceled', taken);
    case 'expire':
      return ended(transaction, 'expired', taken);
    case 'release_slot':
      return failed(transaction, 'displaced', `${transaction.statusReason ?? 'it could not be sent'}; ${taken}`);
  }
}

/** Fails a transaction because one that the service signed for a caller did what it asks for: sending it too could pay twice. */
export function paidByCaller(transaction: Transaction, hash: string): Transaction {
  const paid = `transaction ${hash}, which the service signed for a caller, did exactly what this one asks for`;
  return failed(transaction, 'displaced', `${paid}; this one is not sent; send it again if you want both`);
}

/** Fails a transaction whose outcome no node can show any more. The service never sends it again. */
export function unresolvable(transaction: Transaction): Transaction {
  const lost =
    transaction.nonce === null
      ? 'the RPC nodes no longer have the blocks that might contain it'
      : `no RPC node has the transaction that used ${slotOf(transaction)}`;
  return failed(transaction, 'unresolvable', `outcome unknown: ${lost}; check the account's history before you send it again`);
}

/**
 * Ends a transaction whose mined attempt has the required confirmations. The purpose of that attempt decides the final status.
 * `whyFailed`: why it failed on chain; null if it succeeded.
 */
export function resolved(transaction: Transaction, minedPurpose: Intent, whyFailed: string | null, nowMs: number): Transaction {
  if (transaction.mined === null) throw new Error('only a mined transaction can be resolved');
  const status = endOf(minedPurpose, transaction.mined.succeeded);
  return next(transaction, {
    status,
    queued: null,
    failureReason: status === 'failed' ? failureOf(transaction, minedPurpose) : null,
    statusReason: transaction.mined.succeeded ? endReason(transaction, minedPurpose) : (whyFailed ?? 'failed on chain'),
    confirmedAtMs: status === 'confirmed' ? nowMs : null,
  });
}

function endOf(purpose: Intent, succeeded: boolean): TransactionStatus {
  switch (purpose) {
    case 'content':
      return succeeded ? 'confirmed' : 'failed';
    case 'cancel':
      return 'canceled';
    case 'expire':
      return 'expired';
    case 'release_slot':
      return 'failed';
  }
}

/** A released slot keeps the obstacle that it was released for. */
function failureOf({ failureReason }: Transaction, minedPurpose: Intent): FailureReason {
  return minedPurpose === 'release_slot' ? (failureReason ?? 'never_accepted') : 'reverted';
}

function endReason(transaction: Transaction, minedPurpose: Intent): string | null {
  const replaced = `replaced by ${slotTerms(transaction).filler} at ${slotOf(transaction)}`;
  switch (minedPurpose) {
    case 'cancel':
      return `canceled: ${replaced}`;
    case 'expire':
      return `valid_until passed: ${replaced}`;
    case 'release_slot':
      return transaction.statusReason ?? `it could not be sent; ${replaced}`;
    case 'content':
      return transaction.mined === null ? null : minedReason(transaction, transaction.mined);
  }
}

/** Throws 400 naming the state if the transaction can no longer be replaced, canceled, approved or rejected. */
export function requireWaiting(transaction: Transaction, verb: 'replaced' | 'canceled' | 'approved' | 'rejected'): void {
  const state = stateThatForbids(transaction);
  if (state !== null)
    throw new DomainError('precondition', state.reason, `the transaction ${state.words}, so it can no longer be ${verb}`, {
      metadata: { transaction_id: transaction.id },
    });
}

/**
 * Throws 400 if `valid_until` has passed and the replacement, which is valid until `givenUntilMs`, sets no other one (null); or if the
 * transaction was not approved in time.
 */
export function requireInTime(transaction: Transaction, givenUntilMs: number | null, nowMs: number): void {
  requireApprovable(transaction, nowMs);
  const { id, validUntilMs } = transaction;
  if (givenUntilMs !== null || validUntilMs === null || validUntilMs > nowMs) return;
  const sentence = `valid_until of the transaction has passed (${new Date(validUntilMs).toISOString()}); set a later valid_until to replace it`;
  throw new DomainError('precondition', 'TRANSACTION_EXPIRED', sentence, { metadata: { transaction_id: id } });
}

/** Throws 400 if the time has passed in which the transaction had to be approved, and it was not. */
function requireApprovable(transaction: Transaction, nowMs: number): void {
  const { id, approval } = transaction;
  if (approval === null || !awaitsApproval(transaction) || approval.expiresAtMs > nowMs) return;
  const sentence = `the transaction had to be approved by ${new Date(approval.expiresAtMs).toISOString()}; send it again`;
  throw new DomainError('precondition', 'TRANSACTION_EXPIRED', sentence, { metadata: { transaction_id: id } });
}

/** Throws 412 if the transaction does not have the revision that the caller expects. Null: any revision. */
export function requireRevision({ id, revision }: Transaction, expected: bigint | null): void {
  if (expected === null || BigInt(revision) === expected) return;
  const sentence = `the transaction has revision ${revision}, not ${expected}; read it again`;
  throw new DomainError('stale', 'REVISION_MISMATCH', sentence, { metadata: { transaction_id: id, revision: String(revision) } });
}

type StateReason = `TRANSACTION_${'MINED' | 'CONFIRMED' | 'FAILED' | 'EXPIRED' | 'CANCELED'}`;

function stateThatForbids(transaction: Transaction): { reason: StateReason; words: string } | null {
  switch (transaction.status) {
    case 'mined':
      return { reason: 'TRANSACTION_MINED', words: 'is mined' };
    case 'confirmed':
      return { reason: 'TRANSACTION_CONFIRMED', words: 'is confirmed' };
    case 'failed':
      return { reason: 'TRANSACTION_FAILED', words: 'failed' };
    case 'expired':
      return { reason: 'TRANSACTION_EXPIRED', words: 'expired' };
    case 'canceled':
      return { reason: 'TRANSACTION_CANCELED', words: 'is canceled' };
    case 'pending':
    case 'sent':
    case 'submitted':
      switch (transaction.intent) {
        case 'content':
          return null;
        case 'cancel':
          return { reason: 'TRANSACTION_CANCELED', words: 'is being canceled' };
        case 'expire':
          return { reason: 'TRANSACTION_EXPIRED', words: 'is expiring' };
        case 'release_slot':
          return { reason: 'TRANSACTION_FAILED', words: 'is failing' };
      }
  }
}
