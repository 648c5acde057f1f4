import { TransactionBuilder } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import type { StellarAttempt, StellarClient, StellarRecord } from '../../support/network-service.js';
import { readStellarBooks, type StellarBooks } from '../../support/stellar-books.js';
import type { FaultRun } from '../suite.js';
import { finalStatuses } from '../until.js';

/** What is compared with what. */
export interface StellarAuditInput {
  readonly ledger: StellarLedger;
  /** The relayer's account. */
  readonly account: string;
  readonly client: StellarClient;
}

/**
 * Compares every record and every attempt with the ledgers. Violations: a record whose final status is not that of the ledgers, one that failed or expired,
 * two attempts of one transaction in ledgers, a transaction of the account in a ledger that no record has.
 */
export async function auditStellar(
  run: Pick<FaultRun, 'violation'>,
  { ledger, account, client }: StellarAuditInput,
): Promise<{ readonly books: StellarBooks /** How many were signed. */; readonly versions: number }> {
  const books = readStellarBooks(ledger, account);
  const owned = new Set<string>();
  for (const record of await client.list()) {
    const attempts = await client.attempts(record.id);
    for (const { hash } of attempts) owned.add(hash);
    const landed = attempts.filter(({ hash }) => books.byHash.has(hash));
    if (landed.length > 1) run.violation('PAID TWICE: ledgers contain several attempts of one transaction', { record, attempts });
    if (!finalStatuses.includes(record.status) || (record.status === 'canceled' && attempts.length === 0)) continue;
    const marked = attempts.filter(({ is_mined }) => is_mined).map(({ hash }) => hash);
    if (marked.length !== 1 || marked[0] !== record.hash)
      run.violation('the attempts marked as mined differ from the one that the record shows', { record, marked });
    compare(run, record, attempts, books, ledger.passphrase);
  }
  for (const landed of books.transactions)
    if (!owned.has(landed.hash)) run.violation('a ledger contains a transaction that has no record', landed);
  return { books, versions: owned.size };
}

function compare(
  run: Pick<FaultRun, 'violation'>,
  record: StellarRecord,
  attempts: readonly StellarAttempt[],
  books: StellarBooks,
  passphrase: string,
): void {
  const found = books.byHash.get(record.hash ?? '');
  const shown = attempts.find(({ hash }) => hash === record.hash);
  if (record.status === 'canceled') {
    if (found === undefined || !found.succeeded || found.receiver !== null)
      run.violation('a canceled record does not name the no-op transaction that used its sequence number', { record, found });
  } else if (record.status !== 'confirmed') run.violation(`a transaction is ${record.status}`, { record, found });
  else if (found === undefined || shown === undefined)
    run.violation('a confirmed record names a transaction that is in no ledger', { record, books });
  else if (!found.succeeded || String(found.sequence) !== record.sequence_number || found.value !== paidBy(shown, passphrase))
    run.violation('a confirmed record differs from the transaction in the ledger', { record, found });
}

/** Stroops that an attempt's only operation, a payment, pays. */
function paidBy({ envelope_xdr: envelope }: StellarAttempt, passphrase: string): bigint | undefined {
  const transaction = TransactionBuilder.fromXdr(envelope, passphrase);
  const [payment] = transaction.operations;
  return payment?.type === 'payment' ? BigInt(payment.amount.replace('.', '')) : undefined;
}
