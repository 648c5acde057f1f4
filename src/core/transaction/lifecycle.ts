import type { Attempt, Content, Intent, MinedAt, Transaction, TransactionStatus } from './transaction.js';

/**
 * The lifecycle: every way in which a stored transaction changes, as pure functions from one revision to the next.
 *
 *     pending → sent → submitted → mined → confirmed | failed | expired | canceled
 *
 * Two pointers, *intended* (`liveVersion`) and *mined*: a block that is taken back clears the mined one, and the intended version shows again.
 * A transaction with an attempt becomes final only through `resolved`, when a block at the required confirmations holds its slot.
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
    statusReason: reasonOf(attempt.purpose),
    intent: attempt.purpose,
    content: wanted.content,
    validUntilMs: wanted.validUntilMs,
    nonce: attempt.nonce,
    liveVersion: attempt.version,
  });
}

function reasonOf(purpose: Intent): string | null {
  switch (purpose) {
    case 'content':
      return null;
    case 'cancel':
      return 'being cancelled: a self-transfer takes its nonce';
    case 'expire':
      return 'valid_until has passed: a self-transfer takes its nonce';
    case 'yield':
      return 'the account cannot pay it any more: a self-transfer takes its nonce, for those behind it';
  }
}

/** A node has the live version. */
export function submitted(transaction: Transaction, nowMs: number): Transaction {
  return next(transaction, {
    status: transaction.status === 'sent' ? 'submitted' : transaction.status,
    statusReason: reasonOf(transaction.intent),
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
    statusReason:
      at.version === transaction.liveVersion
        ? reasonOf(transaction.intent)
        : `version ${at.version} was mined, not the newest one, version ${transaction.liveVersion}`,
    sentAtMs: transaction.sentAtMs ?? nowMs,
  });
}

/** The block that held it is gone: the intended version shows again, and is to be broadcast again. */
export function takenBack(transaction: Transaction): Transaction {
  return next(transaction, {
    status: 'submitted',
    mined: null,
    statusReason: 'the block that held it was taken back; it is broadcast again',
  });
}

/**
 * A transaction that is not ours took its slot for good: it is to have another nonce, unless it was to be given up anyway. Its versions of the old slot
 * can never be mined.
 */
export function displaced(transaction: Transaction, foreignHash: string): Transaction {
  const took = `nonce ${transaction.nonce} was taken by ${foreignHash}, which is not ours`;
  switch (transaction.intent) {
    case 'content':
      return next(transaction, {
        status: 'pending',
        nonce: null,
        liveVersion: null,
        mined: null,
        statusReason: `${took}; it gets another nonce`,
      });
    case 'cancel':
      return next(transaction, { status: 'canceled', mined: null, statusReason: `cancelled: ${took}` });
    case 'expire':
      return next(transaction, { status: 'expired', mined: null, statusReason: `valid_until passed: ${took}` });
    case 'yield':
      return next(transaction, { status: 'failed', mined: null, statusReason: `the account could not pay it any more: ${took}` });
  }
}

/** Nobody can tell any more what took its slot: it is never sent again by us. */
export function unresolvable(transaction: Transaction): Transaction {
  return next(transaction, {
    status: 'failed',
    statusReason: `nonce ${transaction.nonce} was used, and the nodes have forgotten by what; it is not sent again`,
  });
}

/**
 * The block that holds it has the required confirmations: what the mined version was for decides how the transaction ends.
 * `revertReason`: why it failed, when it did and that is known.
 */
export function resolved(transaction: Transaction, minedPurpose: Intent, revertReason: string | null, nowMs: number): Transaction {
  if (transaction.mined === null) throw new Error('a transaction is resolved by the version that was mined');
  const status = endOf(minedPurpose, transaction.mined.succeeded);
  return next(transaction, {
    status,
    statusReason: transaction.mined.succeeded ? endReason(transaction, minedPurpose) : (revertReason ?? 'reverted on chain'),
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
    case 'yield':
      return 'failed';
  }
}

function endReason(transaction: Transaction, minedPurpose: Intent): string | null {
  switch (minedPurpose) {
    case 'cancel':
      return 'cancelled: a self-transfer took its nonce';
    case 'expire':
      return 'valid_until passed: a self-transfer took its nonce';
    case 'yield':
      return 'the account could not pay it any more: a self-transfer took its nonce';
    case 'content':
      return transaction.mined?.version === transaction.liveVersion ? null : transaction.statusReason;
  }
}
