import { DomainError, type ErrorReason } from '../errors.js';
import type { Attempt, Content, Intent, MinedAt, Transaction, TransactionStatus } from './transaction.js';

/**
 * The lifecycle: every way in which a stored transaction changes, as pure functions from one revision to the next.
 *
 *     pending → sent → submitted → mined → confirmed | failed | expired | canceled
 *
 * Two pointers, *intended* (`liveVersion`) and *mined*: a block that is taken back clears the mined one, and the intended version shows again.
 * A transaction with an attempt becomes final only through `resolved`, when a block at the required confirmations holds its slot, or where it stands alone
 * also through `endedDead`, when none of its versions can be mined any more.
 */

function next(transaction: Transaction, changes: Partial<Transaction>): Transaction {
  return { ...transaction, ...changes, revision: transaction.revision + 1 };
}

/** New content for a transaction of which nothing is signed. */
export function replacedInPlace(transaction: Transaction, content: Content, validUntilMs: number | null): Transaction {
  return next(transaction, { content, validUntilMs, statusReason: null });
}

/** Ends a transaction of which nothing is signed. */
export function endedUnsigned(transaction: Transaction, status: 'canceled' | 'expired' | 'failed', reason: string): Transaction {
  const intent: Intent = status === 'canceled' ? 'cancel' : status === 'expired' ? 'expire' : transaction.intent;
  return next(transaction, { status, intent, statusReason: reason });
}

/** A version is signed: the first takes the slot, later ones replace it there. `content`: what the caller now wants, when that is new. */
export function signed(
  transaction: Transaction,
  attempt: Pick<Attempt, 'version' | 'purpose' | 'nonce'>,
  wanted: { readonly content: Content; readonly validUntilMs: number | null } = transaction,
): Transaction {
  return next(transaction, {
    status: transaction.status === 'pending' ? 'sent' : transaction.status,
    statusReason: reasonOf(transaction, attempt.purpose),
    intent: attempt.purpose,
    content: wanted.content,
    queued: null,
    validUntilMs: wanted.validUntilMs,
    nonce: attempt.nonce,
    liveVersion: attempt.version,
  });
}

/** What takes a slot and does nothing, and what the network calls the slot. */
export function wordsOf({ content }: Pick<Transaction, 'content'>): { readonly filler: string; readonly slot: string } {
  return content.network === 'evm'
    ? { filler: 'a self-transfer', slot: 'nonce' }
    : { filler: 'a transaction that changes nothing', slot: 'sequence number' };
}

function reasonOf(transaction: Transaction, purpose: Intent): string | null {
  const { filler, slot } = wordsOf(transaction);
  switch (purpose) {
    case 'content':
      return null;
    case 'cancel':
      return `being cancelled: ${filler} takes its ${slot}`;
    case 'expire':
      return `valid_until has passed: ${filler} takes its ${slot}`;
    case 'release_slot':
      // What kept it from going is what the caller needs to know at the end, too.
      if (transaction.intent === 'release_slot') return transaction.statusReason;
      return `${transaction.statusReason ?? 'the account cannot pay it any more'}; ${filler} takes its ${slot}, for those behind it`;
  }
}

/**
 * New content for a transaction that stands alone and is out: it waits until no version that is out can be mined any more. What waited before is
 * dropped.
 */
export function replacementQueued(transaction: Transaction, queued: Content, validUntilMs: number | null): Transaction {
  return next(transaction, { queued, validUntilMs, statusReason: unsequencedReason({ ...transaction, queued }) });
}

/** A transaction that stands alone is not wanted any more: it is not sent again, and ends once no version that is out can be mined. */
export function givenUp(transaction: Transaction, intent: 'cancel' | 'expire'): Transaction {
  return next(transaction, { intent, queued: null, statusReason: unsequencedReason({ intent, queued: null }) });
}

/** Why a transaction that stands alone is where it is, once it is out. */
function unsequencedReason({ intent, queued }: Pick<Transaction, 'intent' | 'queued'>): string | null {
  const untilDead = 'it is not sent again, but may be mined until what was sent is no longer valid';
  if (intent === 'cancel') return `being cancelled: ${untilDead}`;
  if (intent === 'expire') return `valid_until has passed: ${untilDead}`;
  return queued === null ? null : 'replaced: the new content is queued, and sent once the version that is out can no longer be mined';
}

/** None of the versions of a transaction that stands alone can ever be mined. `reason`: why it failed, where it was still wanted. */
export function endedDead(transaction: Transaction, reason: string): Transaction {
  switch (transaction.intent) {
    case 'cancel':
      return next(transaction, { status: 'canceled', mined: null, statusReason: 'cancelled: what was sent can no longer be mined' });
    case 'expire':
      return next(transaction, {
        status: 'expired',
        mined: null,
        statusReason: 'valid_until passed: what was sent can no longer be mined',
      });
    case 'content':
    case 'release_slot':
      return next(transaction, { status: 'failed', mined: null, queued: null, statusReason: reason });
  }
}

/** A node has the live version. */
export function submitted(transaction: Transaction, nowMs: number): Transaction {
  return next(transaction, {
    status: transaction.status === 'sent' ? 'submitted' : transaction.status,
    statusReason: transaction.nonce === null ? unsequencedReason(transaction) : reasonOf(transaction, transaction.intent),
    sentAtMs: transaction.sentAtMs ?? nowMs,
  });
}

/** It waits, and this is why. */
export function waiting(transaction: Transaction, reason: string): Transaction {
  return next(transaction, { statusReason: reason });
}

/** A block holds one of its versions. */
export function mined(transaction: Transaction, at: MinedAt, nowMs: number): Transaction {
  return next(transaction, {
    status: 'mined',
    mined: at,
    statusReason: minedReason(transaction, at),
    sentAtMs: transaction.sentAtMs ?? nowMs,
  });
}

function minedReason(transaction: Transaction, at: MinedAt): string | null {
  const isNewest = at.version === transaction.liveVersion;
  if (!isNewest) return `version ${at.version} was mined, not the newest one, version ${transaction.liveVersion}`;
  if (transaction.nonce !== null) return reasonOf(transaction, transaction.intent);
  if (transaction.queued !== null) return 'it was mined before what replaced it could be sent';
  switch (transaction.intent) {
    case 'cancel':
      return 'it was mined before it was cancelled';
    case 'expire':
      return 'it was mined, though valid_until has passed';
    case 'content':
    case 'release_slot':
      return null;
  }
}

/** The block that queued it is gone: the intended version shows again, and is to be broadcast again. */
export function takenBack(transaction: Transaction): Transaction {
  return next(transaction, {
    status: 'submitted',
    mined: null,
    statusReason: 'the block that queued it was taken back; it is broadcast again',
  });
}

/**
 * A transaction that is not ours took its slot for good: it is to have another nonce, unless it was to be given up anyway. Its versions of the old slot
 * can never be mined.
 */
export function displaced(transaction: Transaction, foreignHash: string): Transaction {
  const { slot } = wordsOf(transaction);
  const took = `${slot} ${transaction.nonce} was taken by ${foreignHash}, which is not ours`;
  switch (transaction.intent) {
    case 'content':
      return next(transaction, {
        status: 'pending',
        nonce: null,
        liveVersion: null,
        mined: null,
        statusReason: `${took}; it gets another ${slot}`,
      });
    case 'cancel':
      return next(transaction, { status: 'canceled', mined: null, statusReason: `cancelled: ${took}` });
    case 'expire':
      return next(transaction, { status: 'expired', mined: null, statusReason: `valid_until passed: ${took}` });
    case 'release_slot':
      return next(transaction, {
        status: 'failed',
        mined: null,
        statusReason: `${transaction.statusReason ?? 'it could not go'}; ${took}`,
      });
  }
}

/** Nobody can tell any more what took its slot, or where it stands alone whether it was mined: it is never sent again by us. */
export function unresolvable(transaction: Transaction): Transaction {
  const lost =
    transaction.nonce === null
      ? 'the nodes have dropped the blocks that might hold it'
      : `${wordsOf(transaction).slot} ${transaction.nonce} was used, and the nodes have forgotten by what`;
  return next(transaction, { status: 'failed', queued: null, statusReason: `${lost}; it is not sent again` });
}

/**
 * The block that holds it has the required confirmations: what the mined version was for decides how the transaction ends.
 * `whyFailed`: why it failed there; null where it did not.
 */
export function resolved(transaction: Transaction, minedPurpose: Intent, whyFailed: string | null, nowMs: number): Transaction {
  if (transaction.mined === null) throw new Error('a transaction is resolved by the version that was mined');
  const status = endOf(minedPurpose, transaction.mined.succeeded);
  return next(transaction, {
    status,
    queued: null,
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

function endReason(transaction: Transaction, minedPurpose: Intent): string | null {
  const { filler, slot } = wordsOf(transaction);
  switch (minedPurpose) {
    case 'cancel':
      return `cancelled: ${filler} took its ${slot}`;
    case 'expire':
      return `valid_until passed: ${filler} took its ${slot}`;
    case 'release_slot':
      return transaction.statusReason ?? `it could not go: ${filler} took its ${slot}`;
    case 'content':
      return transaction.mined === null ? null : minedReason(transaction, transaction.mined);
  }
}

/** Throws 400 naming the state, unless new content or a cancel can still be accepted for the transaction. */
export function requireWaiting(transaction: Transaction, verb: 'replaced' | 'cancelled'): void {
  const state = stateThatForbids(transaction);
  if (state !== null)
    throw new DomainError('precondition', state.reason, `the transaction ${state.words}, so it cannot be ${verb} any more`);
}

function stateThatForbids(transaction: Transaction): { reason: ErrorReason; words: string } | null {
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
      return { reason: 'TRANSACTION_CANCELED', words: 'is cancelled' };
    case 'pending':
    case 'sent':
    case 'submitted':
      switch (transaction.intent) {
        case 'content':
          return null;
        case 'cancel':
          return { reason: 'TRANSACTION_CANCELED', words: 'is being cancelled' };
        case 'expire':
          return { reason: 'TRANSACTION_EXPIRED', words: 'is expiring' };
        case 'release_slot':
          return { reason: 'TRANSACTION_FAILED', words: 'could not be paid and is being given up' };
      }
  }
}
