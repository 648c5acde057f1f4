import type { SolanaChain } from '../../../src/sandbox/solana/chain.js';
import type { SolanaClient, SolanaRecord } from '../../support/network-service.js';
import { readSolanaLedger, type SolanaLedger } from '../../support/solana-ledger.js';
import type { FaultRun } from '../suite.js';
import { finalStatuses } from '../until.js';

/** What is compared with what. */
export interface SolanaAuditInput {
  readonly chain: SolanaChain;
  /** The relayer's account. */
  readonly payer: string;
  readonly client: SolanaClient;
}

/**
 * Compares every record and every attempt with the chain's own blocks. Violations: a record whose final status is not that of the chain, one that did
 * not end confirmed, two attempts of one transaction in blocks, a transaction of the account in a block that no record has.
 */
export async function auditSolana(
  run: Pick<FaultRun, 'violation'>,
  { chain, payer, client }: SolanaAuditInput,
): Promise<{ readonly ledger: SolanaLedger /** How many were signed. */; readonly versions: number }> {
  const ledger = readSolanaLedger(chain, payer);
  const owned = new Set<string>();
  for (const record of await client.list()) {
    const attempts = await client.attempts(record.id);
    for (const { hash } of attempts) owned.add(hash);
    if (attempts.filter(({ hash }) => ledger.byHash.has(hash)).length > 1)
      run.violation('PAID TWICE: blocks contain several attempts of one transaction', { record, attempts });
    if (!finalStatuses.includes(record.status)) continue;
    const marked = attempts.filter(({ is_mined }) => is_mined).map(({ hash }) => hash);
    if (marked.length !== 1 || marked[0] !== record.hash)
      run.violation('the attempts marked as mined differ from the one that the record shows', { record, marked });
    compare(run, record, ledger);
  }
  for (const landed of ledger.transactions)
    if (!owned.has(landed.hash)) run.violation('a block contains a transaction that has no record', landed);
  return { ledger, versions: owned.size };
}

function compare(run: Pick<FaultRun, 'violation'>, record: SolanaRecord, ledger: SolanaLedger): void {
  const found = ledger.byHash.get(record.hash ?? '');
  if (record.status !== 'confirmed') run.violation(`a transaction is ${record.status}`, { record, found });
  else if (found === undefined)
    run.violation('a confirmed record names a transaction that is in no block', { record, height: ledger.height });
  else if (!found.succeeded || found.value !== movedBy(record))
    run.violation('a confirmed record differs from the transaction in the block', { record, found });
}

/** The lamports that the record's only instruction, a transfer, moves. */
function movedBy({ instructions }: SolanaRecord): bigint | undefined {
  const [transfer] = instructions;
  return transfer === undefined ? undefined : Buffer.from(transfer.data, 'base64').readBigUInt64LE(4);
}
