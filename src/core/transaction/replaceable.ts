import { DomainError, type ErrorReason } from '../errors.js';
import type { Transaction } from './transaction.js';

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
