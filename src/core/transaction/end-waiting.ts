import type { Store } from '../ports/store.js';
import { endedUnsigned } from './lifecycle.js';
import { isSigned, type Transaction } from './transaction.js';

/** What a database that is older than the chain held open. */
export interface Ended {
  /** Nothing was signed of these; they failed. */
  readonly ended: readonly Transaction[];
  /** These are signed, and resolved by the chain. */
  readonly signed: readonly Transaction[];
}

const reason = 'restored from a backup: it may have been sent since, so it is not sent again; look on the chain before you do';
/** Ended in one commit. */
const batchSize = 200;

/** Ends all that waits unsigned in a store that was restored to an older state: signed now, it might be paid twice. Nobody is told by webhook. */
export async function endWaiting({ read, change, commit }: Pick<Store, 'read' | 'change' | 'commit'>, nowMs: number): Promise<Ended> {
  const open: Transaction[] = [];
  for (const lane of await read.openLanes()) open.push(...(await read.openTransactions(lane)).map(({ transaction }) => transaction));
  const waiting = open.filter((transaction) => !isSigned(transaction));
  for (let first = 0; first < waiting.length; first += batchSize) {
    const batch = waiting.slice(first, first + batchSize);
    const changes = batch.map((transaction) => [
      change.updateTransaction(endedUnsigned(transaction, 'failed', reason)),
      change.endTransaction(transaction.id, nowMs),
    ]);
    await commit(changes.flat());
  }
  return { ended: waiting, signed: open.filter(isSigned) };
}
