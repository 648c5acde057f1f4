import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { TransactionSchema, TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { isCancelable, mergeTransactions, statusesFrom } from '../../src/console/model/transaction-list.js';

const { PENDING, SENT, CONFIRMED } = TransactionStatus;
const record = (id: string, status = PENDING, revision = 1n) => create(TransactionSchema, { id, status, revision });
const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

describe('the list of transactions', () => {
  it('statuses: reads names, and ignores others', () => {
    assert.deepEqual(statusesFrom('sent,pending,toString,7'), [PENDING, SENT]);
    assert.deepEqual(statusesFrom(''), []);
  });

  it('cancel: is possible until a transaction is mined', () => {
    assert.deepEqual([PENDING, SENT, TransactionStatus.MINED, CONFIRMED].map(isCancelable), [true, true, false, false]);
  });

  it('merge: replaces a record by a newer revision only', () => {
    const rows = [record('3'), record('2', PENDING, 5n)];
    assert.equal(mergeTransactions(rows, [record('3', SENT, 2n)], [])[0]?.status, SENT);
    assert.equal(mergeTransactions(rows, [record('2', SENT, 4n)], []), rows, 'nothing changed');
  });

  it('merge: puts new records first, and leaves out those further back than what is loaded', () => {
    const rows = [record('5'), record('3')];
    assert.deepEqual(ids(mergeTransactions(rows, [record('6'), record('7'), record('1'), record('4')], [])), ['7', '6', '5', '4', '3']);
    assert.deepEqual(ids(mergeTransactions([], [record('1')], [])), ['1']);
  });

  it('merge: keeps to the filter', () => {
    const rows = [record('5'), record('3')];
    assert.deepEqual(ids(mergeTransactions(rows, [record('5', SENT, 2n), record('6', SENT), record('7')], [PENDING])), ['7', '3']);
  });
});
