import type { RecordEvent } from '../ports/record-event.js';
import type { Change, Store } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import type { Attempt, Transaction } from './transaction.js';

/**
 * What is committed when a transaction moves from one revision to the next: the row, a new attempt if there is one, and the event.
 *
 * One event for each change of status and for each replacement (`tell`), none for anything else.
 *
 * @param attempts all attempts of the transaction, the new one included
 */
export function transactionChanges(
  deps: { readonly store: Pick<Store, 'change'>; readonly recordEvent: RecordEvent },
  relayer: Relayer,
  before: Transaction,
  after: Transaction,
  attempts: readonly Attempt[],
  options: { readonly newAttempt?: Attempt; readonly tell?: boolean } = {},
): readonly Change[] {
  const changes: Change[] = [deps.store.change.updateTransaction(after)];
  if (options.newAttempt !== undefined) changes.push(deps.store.change.insertAttempt(options.newAttempt));
  if (options.tell === true || before.status !== after.status) {
    changes.push(...deps.recordEvent(relayer, { transaction: after, shown: shownAttempt(after, attempts) }));
  }
  return changes;
}

/** The attempt that the record shows: the mined one, else the live one. */
export function shownAttempt(transaction: Transaction, attempts: readonly Attempt[]): Attempt | null {
  const version = transaction.mined?.version ?? transaction.liveVersion;
  return attempts.find((attempt) => attempt.version === version) ?? null;
}
