import type { Selectable } from 'kysely';
import type { Content, MinedAt, MinedFacts, Transaction } from '../../core/transaction/transaction.js';
import type { TransactionTable } from '../schema.js';
import { exactJsonFrom, valueFromExactJson } from './exact-json.js';

/** A transaction's columns, without those that the store gives it. */
export type TransactionRow = Omit<Selectable<TransactionTable>, 'seq' | 'ordinal' | 'ended_at_ms'>;

/** The columns of a row, by name. */
export const transactionColumns = [
  'id',
  'relayer_id',
  'chain',
  'account',
  'status',
  'status_reason',
  'intent',
  'content',
  'queued',
  'nonce',
  'live_version',
  'mined_version',
  'mined_block_number',
  'mined_block_hash',
  'mined_succeeded',
  'mined_facts',
  'created_at_ms',
  'sent_at_ms',
  'confirmed_at_ms',
  'valid_until_ms',
  'trace_parent',
  'revision',
] as const satisfies readonly (keyof TransactionRow)[];

/** The row that stores a transaction. */
export function rowFromTransaction(transaction: Transaction): TransactionRow {
  const { mined } = transaction;
  return {
    id: transaction.id,
    relayer_id: transaction.relayerId,
    chain: transaction.chain,
    account: transaction.account,
    status: transaction.status,
    status_reason: transaction.statusReason,
    intent: transaction.intent,
    content: exactJsonFrom(transaction.content),
    queued: transaction.queued === null ? null : exactJsonFrom(transaction.queued),
    nonce: transaction.nonce?.toString() ?? null,
    live_version: transaction.liveVersion,
    mined_version: mined?.version ?? null,
    mined_block_number: mined?.blockNumber.toString() ?? null,
    mined_block_hash: mined?.blockHash ?? null,
    mined_succeeded: mined === null ? null : mined.succeeded ? 1 : 0,
    mined_facts: mined === null || mined.facts === null ? null : exactJsonFrom(mined.facts),
    created_at_ms: transaction.createdAtMs,
    sent_at_ms: transaction.sentAtMs,
    confirmed_at_ms: transaction.confirmedAtMs,
    valid_until_ms: transaction.validUntilMs,
    trace_parent: transaction.traceParent,
    revision: transaction.revision,
  };
}

function minedFromRow(row: TransactionRow): MinedAt | null {
  if (row.mined_version === null || row.mined_block_number === null || row.mined_block_hash === null) return null;
  return {
    version: row.mined_version,
    blockNumber: BigInt(row.mined_block_number),
    blockHash: row.mined_block_hash,
    succeeded: row.mined_succeeded === 1,
    facts: row.mined_facts === null ? null : valueFromExactJson<MinedFacts>(row.mined_facts),
  };
}

/** The transaction that a row stores. */
export function transactionFromRow(row: TransactionRow): Transaction {
  return {
    id: row.id,
    relayerId: row.relayer_id,
    chain: row.chain,
    account: row.account,
    status: row.status,
    statusReason: row.status_reason,
    intent: row.intent,
    content: valueFromExactJson<Content>(row.content),
    queued: row.queued === null ? null : valueFromExactJson<Content>(row.queued),
    nonce: row.nonce === null ? null : BigInt(row.nonce),
    liveVersion: row.live_version,
    mined: minedFromRow(row),
    createdAtMs: row.created_at_ms,
    sentAtMs: row.sent_at_ms,
    confirmedAtMs: row.confirmed_at_ms,
    validUntilMs: row.valid_until_ms,
    traceParent: row.trace_parent,
    revision: row.revision,
  };
}
