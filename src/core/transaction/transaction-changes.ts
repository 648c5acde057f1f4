import type { Move } from '../ports/lanes.js';
import type { RecordEvent } from '../ports/record-event.js';
import type { AttemptChanges } from '../ports/store/attempts.js';
import type { Change } from '../ports/store/change.js';
import type { LaneChanges } from '../ports/store/lanes.js';
import type { TransactionChanges } from '../ports/store/transactions.js';
import type { Relayer } from '../records/relayer.js';
import {
  type Approval,
  type Attempt,
  changed,
  type OpenTransaction,
  type Transaction,
  type TransactionView,
} from '../records/transaction.js';
import type { Clock } from '../work/clock.js';

/**
 * Builds the commit of a move: the row as the last step leaves it, the new attempt if there is one, and the events. Each change of status
 * and each replacement (`writesEvent`) writes one event, and so do each delay and content that needs approval; nothing else does.
 */
export function transactionChanges(
  deps: {
    readonly store: { readonly change: AttemptChanges & Pick<LaneChanges, 'useCallerSignature'> & TransactionChanges };
    readonly recordEvent: RecordEvent;
    readonly clock: Clock;
  },
  relayer: Relayer,
  before: OpenTransaction,
  move: Move,
): { readonly after: OpenTransaction; readonly changes: readonly Change[] } {
  const attempts = move.newAttempt === undefined ? before.attempts : [...before.attempts, move.newAttempt];
  const changes: Change[] = [];
  const nowMs = deps.clock.nowMs();
  let previous = before.transaction;
  for (const decided of move.steps) {
    const step = changed(decided, { updatedAtMs: Math.max(nowMs, previous.updatedAtMs) });
    const hasEvent = step.status !== previous.status || (move.writesEvent === true && decided === move.steps.at(-1));
    if (hasEvent) changes.push(...deps.recordEvent(relayer, viewOf({ transaction: step, attempts })));
    if (step.delays !== previous.delays)
      changes.push(...deps.recordEvent(relayer, viewOf({ transaction: step, attempts }), 'transaction_delayed'));
    if (step.approval !== null && step.approval !== previous.approval && isUndecided(step.approval))
      changes.push(...deps.recordEvent(relayer, viewOf({ transaction: step, attempts }), 'approval_required'));
    previous = step;
  }
  // The guard of the row comes before what refers to the row, which a database that went back in time may have lost.
  changes.push(deps.store.change.updateTransaction(previous, { revisionBefore: before.transaction.revision, endedAtMs: nowMs }));
  if (move.newAttempt !== undefined) changes.push(deps.store.change.insertAttempt(move.newAttempt));
  if (move.receivers !== undefined && move.receivers.length > 0) changes.push(deps.store.change.noteReceivers(previous.id, move.receivers));
  if (move.usedSignature !== undefined) changes.push(deps.store.change.useCallerSignature(move.usedSignature, previous.id));
  const after = { transaction: previous, attempts };
  if (move.saveResponse !== undefined) changes.push(...move.saveResponse(viewOf(after)));
  return { after, changes };
}

/** True if no key has decided yet. */
function isUndecided({ given, rejected }: Approval): boolean {
  return given.length === 0 && rejected === null;
}

/** Returns the transaction as its record shows it. */
export function viewOf({ transaction, attempts }: OpenTransaction): TransactionView {
  return { transaction, shown: shownAttempt(transaction, attempts) };
}

/** Returns the attempt that the record shows: the mined one, else the live one. */
export function shownAttempt(transaction: Transaction, attempts: readonly Attempt[]): Attempt | null {
  const version = transaction.mined?.version ?? transaction.liveVersion;
  return attempts.find((attempt) => attempt.version === version) ?? null;
}
