import { remembered } from '../../remembered.js';
import type { AppliedTransaction } from '../apply.js';
import type { ClosedLedger } from '../closed-ledger.js';
import { type Params, pageParam, textParam } from './params.js';
import { invalidParams, RpcError } from './rpc-error.js';
import { rangeOf, type View } from './view.js';

const maxLimit = 200;
const defaultLimit = 50;

/** `getTransaction` (stellar-rpc, methods/get_transaction.go): times are strings here. */
export function getTransaction(params: Params, view: View) {
  const hash = textParam(params, 'hash');
  if (hash.length !== 64) throw new RpcError(invalidParams, `unexpected hash length (${hash.length})`);
  if (!/^[0-9a-f]*$/i.test(hash)) throw new RpcError(invalidParams, 'incorrect hash: encoding/hex: invalid byte');
  const common = {
    latestLedger: view.latest.sequence,
    latestLedgerCloseTime: String(view.latest.closeTimeSeconds),
    oldestLedger: view.oldest.sequence,
    oldestLedgerCloseTime: String(view.oldest.closeTimeSeconds),
    txHash: hash,
  };
  const found = view.find(hash.toLowerCase());
  if (found === undefined) return { ...common, status: 'NOT_FOUND' };
  return { ...common, ...detailsOf(found.transaction, found.ledger), createdAt: String(found.ledger.closeTimeSeconds) };
}

/** `getTransactions` (stellar-rpc, methods/get_transactions.go): starts at a ledger or after a cursor; times are numbers here. */
export function getTransactions(params: Params, view: View) {
  const page = pageParam(params, rangeOf(view), maxLimit);
  const start = page.cursor === '' ? { ledger: page.startLedger, order: 1 } : placeAfter(page.cursor);
  const limit = page.limit === 0 ? defaultLimit : page.limit;
  const transactions: object[] = [];
  let cursor = 0n;
  for (let sequence = start.ledger; sequence <= view.latest.sequence && transactions.length < limit; sequence += 1) {
    const ledger = view.at(sequence);
    if (ledger === undefined) throw new RpcError(invalidParams, `database does not contain metadata for ledger: ${sequence}`);
    cursor = cursorOf(sequence, 0);
    for (const transaction of ledger.transactions.slice(sequence === start.ledger ? start.order - 1 : 0)) {
      transactions.push({
        ...detailsOf(transaction, ledger),
        txHash: transaction.frame.hash,
        createdAt: Number(ledger.closeTimeSeconds),
      });
      cursor = cursorOf(sequence, transaction.order);
      if (transactions.length >= limit) break;
    }
  }
  return {
    transactions,
    latestLedger: view.latest.sequence,
    latestLedgerCloseTimestamp: Number(view.latest.closeTimeSeconds),
    oldestLedger: view.oldest.sequence,
    oldestLedgerCloseTimestamp: Number(view.oldest.closeTimeSeconds),
    cursor: String(cursor),
  };
}

function detailsOf(transaction: AppliedTransaction, ledger: ClosedLedger) {
  const { frame, order, isSuccess } = transaction;
  return {
    status: isSuccess ? 'SUCCESS' : 'FAILED',
    applicationOrder: order,
    feeBump: frame.isFeeBump,
    ...textsOf(transaction),
    events: {},
    ledger: ledger.sequence,
  };
}

const textsOf = remembered(({ frame, result, meta }: AppliedTransaction) => ({
  envelopeXdr: frame.envelope.toXdr('base64'),
  resultXdr: result.toXdr('base64'),
  resultMetaXdr: meta.toXdr('base64'),
}));

/** Cursors are SEP-35 IDs: the ledger in the upper half, then the transaction, then the operation, which is always 1. */
function cursorOf(ledger: number, order: number): bigint {
  return (BigInt(ledger) << 32n) | (BigInt(order) << 12n) | 1n;
}

function placeAfter(cursor: string): { readonly ledger: number; readonly order: number } {
  const id = BigInt(cursor);
  return { ledger: Number(id >> 32n), order: Number((id >> 12n) & 0xfffffn) + 1 };
}
