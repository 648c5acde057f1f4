import { type Transaction, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';

/** The statuses by their names in addresses of the page, in the order of a transaction's life. */
export const statusNames: Readonly<Partial<Record<TransactionStatus, string>>> = {
  [TransactionStatus.PENDING]: 'pending',
  [TransactionStatus.SENT]: 'sent',
  [TransactionStatus.SUBMITTED]: 'submitted',
  [TransactionStatus.MINED]: 'mined',
  [TransactionStatus.CONFIRMED]: 'confirmed',
  [TransactionStatus.FAILED]: 'failed',
  [TransactionStatus.EXPIRED]: 'expired',
  [TransactionStatus.CANCELED]: 'canceled',
};

/** Reads statuses from an address of the page; ignores texts that are none. */
export function statusesFrom(names: string): TransactionStatus[] {
  const wanted = new Set(names.split(','));
  return Object.entries(statusNames)
    .filter(([, name]) => wanted.has(name))
    .map(([status]) => Number(status));
}

/** True if the service may still cancel a transaction with this status. */
export function isCancelable(status: TransactionStatus): boolean {
  return status === TransactionStatus.PENDING || status === TransactionStatus.SENT || status === TransactionStatus.SUBMITTED;
}

/**
 * Brings changed records into a list that is newest first. A record that is in the list is replaced unless it is older; one that is newer
 * than the whole list is put before it; one that lies further back than what is loaded stays out. A record that no longer has one of the
 * statuses leaves.
 * @param statuses the filter of the list; empty: all
 */
export function mergeTransactions(
  rows: readonly Transaction[],
  changed: readonly Transaction[],
  statuses: readonly TransactionStatus[],
): readonly Transaction[] {
  const fits = ({ status }: Transaction) => statuses.length === 0 || statuses.includes(status);
  const byId = new Map(changed.map((record) => [record.id, record]));
  const oldest = rows.at(-1)?.id ?? '';
  let isSame = true;
  const kept: Transaction[] = [];
  const known = new Set<string>();
  for (const row of rows) {
    known.add(row.id);
    const change = byId.get(row.id);
    const next = change !== undefined && change.revision > row.revision ? change : row;
    if (next !== row) isSame = false;
    if (next === row || fits(next)) kept.push(next);
  }
  // Ids are ordered by time, so they say where a record belongs.
  const added = [...byId.values()].filter((record) => !known.has(record.id) && fits(record) && record.id > oldest);
  if (added.length === 0) return isSame ? rows : kept;
  return [...added, ...kept].sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
}
