import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors.js';
import { requireWaiting } from '../../../src/core/transaction/replaceable.js';
import type { Intent, TransactionStatus } from '../../../src/core/transaction/transaction.js';
import { aTransaction } from '../../support/stored-samples.js';

const cases: readonly (readonly [TransactionStatus, Intent, reason: string | null])[] = [
  ['pending', 'content', null],
  ['sent', 'content', null],
  ['submitted', 'content', null],
  ['sent', 'cancel', 'TRANSACTION_CANCELED'],
  ['submitted', 'cancel', 'TRANSACTION_CANCELED'],
  ['submitted', 'expire', 'TRANSACTION_EXPIRED'],
  ['submitted', 'release_slot', 'TRANSACTION_FAILED'],
  ['mined', 'content', 'TRANSACTION_MINED'],
  ['mined', 'cancel', 'TRANSACTION_MINED'],
  ['confirmed', 'content', 'TRANSACTION_CONFIRMED'],
  ['confirmed', 'cancel', 'TRANSACTION_CONFIRMED'],
  ['failed', 'content', 'TRANSACTION_FAILED'],
  ['expired', 'expire', 'TRANSACTION_EXPIRED'],
  ['canceled', 'cancel', 'TRANSACTION_CANCELED'],
];

describe('new content and a cancel', () => {
  for (const [status, intent, reason] of cases) {
    it(`${reason === null ? 'are taken' : `are refused with ${reason}`} for a transaction that is ${status} to become ${intent}`, () => {
      for (const verb of ['replaced', 'cancelled'] as const) {
        const ask = () => requireWaiting(aTransaction({ id: 't', status, intent }), verb);
        if (reason === null) assert.doesNotThrow(ask);
        else
          assert.throws(ask, (error) => {
            assert.ok(error instanceof DomainError);
            assert.deepEqual([error.kind, error.reason], ['precondition', reason]);
            assert.match(error.message, new RegExp(`so it cannot be ${verb} any more$`));
            return true;
          });
      }
    });
  }
});
