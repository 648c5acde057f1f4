import type { Anvil } from '../support/anvil.js';
import { type Ledger, readLedger } from '../support/chain-ledger.js';
import type { CommonRecord, RelayerClient, TransactionRecord } from '../support/relayer-client.js';
import type { FaultRun } from './suite.js';
import { finalStatuses } from './until.js';

/** The records and the account to compare. */
export interface AuditInput {
  readonly anvil: Pick<Anvil, 'rpc'>;
  readonly account: string;
  readonly client: RelayerClient;
  /** Hashes that the suite signed with the same key. */
  readonly foreign?: ReadonlySet<string>;
}

/**
 * Compares every record and every attempt with the chain's own blocks. Violations: a record whose final status is not that of the chain, one that
 * failed, two attempts of one transaction in blocks, a transaction of the account in a block that no record has.
 */
export async function audit(run: Pick<FaultRun, 'violation'>, { anvil, account, client, foreign }: AuditInput): Promise<Ledger> {
  const ledger = await readLedger(anvil, account);
  const ownerOf = new Map<string, string>();
  for (const record of await client.list()) {
    const attempts = await client.attempts(record.id);
    const landed = attempts.filter(({ hash }) => ledger.byHash.has(hash));
    for (const { hash } of attempts) ownerOf.set(hash, record.id);
    if (landed.length > 1) run.violation('PAID TWICE: blocks contain several attempts of one transaction', { record, attempts });
    const marked = attempts.filter(({ is_mined }) => is_mined).map(({ hash }) => hash);
    const isSettled = finalStatuses.includes(record.status) && record.hash !== null;
    if (isSettled && (marked.length !== 1 || marked[0] !== record.hash))
      run.violation('the attempts marked as mined differ from the one that the record shows', { record, marked });
    compare(run, record, ledger);
  }
  for (const transaction of ledger.transactions) {
    if (!ownerOf.has(transaction.hash) && foreign?.has(transaction.hash) !== true)
      run.violation('a block contains a transaction that has no record', transaction);
  }
  return ledger;
}

function compare(run: Pick<FaultRun, 'violation'>, record: TransactionRecord, ledger: Ledger): void {
  const found = record.hash === null ? undefined : ledger.byHash.get(record.hash);
  switch (record.status) {
    case 'failed':
    case 'expired':
      run.violation(`a transaction is ${record.status}`, { record, found });
      return;
    case 'canceled':
      if (record.hash === null && record.nonce === null) return;
      if (found === undefined || found.to !== record.from.toLowerCase() || found.value !== 0n || found.nonce !== record.nonce)
        run.violation('a canceled record does not name a self-transfer that is on the chain', { record, found });
      return;
    case 'confirmed':
      if (found === undefined) {
        run.violation('a confirmed record names a transaction that is in no block', { record, height: ledger.height });
        return;
      }
      if (
        found.nonce !== record.nonce ||
        found.to !== (record.to?.toLowerCase() ?? null) ||
        found.value !== BigInt(record.value) ||
        found.input !== (record.data ?? '0x') ||
        !found.succeeded
      )
        run.violation('a confirmed record differs from the transaction in the block', { record, found });
      return;
    default:
      // The function that waited for open records reports them.
      return;
  }
}

/** The answers to the callers' payments, by value. */
export interface Answers {
  /** Answered 200, with the record's id. */
  readonly accepted: ReadonlyMap<bigint, string>;
  /** Not answered. */
  readonly unanswered: ReadonlySet<bigint>;
}

/** The chain contains every accepted payment exactly once, and every unanswered one at most once. */
export async function auditPayments(
  run: Pick<FaultRun, 'violation'>,
  client: { list(): Promise<readonly CommonRecord[]> },
  ledger: { readonly transactions: readonly { readonly value: bigint }[] },
  { accepted, unanswered }: Answers,
): Promise<void> {
  const records = new Map((await client.list()).map((record) => [record.id, record]));
  const paid = (value: bigint) => ledger.transactions.filter((transaction) => transaction.value === value);
  for (const [value, id] of accepted) {
    const record = records.get(id);
    const found = paid(value);
    if (record === undefined) run.violation('LOST: an accepted transaction has no record', { value, id });
    if (found.length === 0 && record !== undefined && finalStatuses.includes(record.status))
      run.violation('LOST: no block contains an accepted payment', { value, record });
    if (found.length > 1) run.violation('PAID TWICE: blocks contain an accepted payment more than once', { value, record, found });
  }
  for (const value of unanswered) {
    const found = paid(value);
    if (found.length > 1) run.violation('PAID TWICE: blocks contain an unanswered payment more than once', { value, found });
  }
}
