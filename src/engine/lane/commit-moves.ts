import type { Move } from '../../core/ports/lanes.js';
import { type Change, StoreAwayError } from '../../core/ports/store/change.js';
import type { Span } from '../../core/ports/telemetry.js';
import type { Relayer } from '../../core/records/relayer.js';
import { type Attempt, isSigned, type OpenTransaction, type Transaction } from '../../core/records/transaction.js';
import { noOrigin } from '../../core/transaction/journal.js';
import { waiting } from '../../core/transaction/lifecycle.js';
import { transactionChanges, viewOf } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';
import type { LaneWork } from './lane-inputs.js';

/**
 * The maximum number of transactions changed in one commit: more would hold the event loop for longer than 10 ms. A local key signs as many
 * at once.
 */
export const storedAtOnce = 50;

/** A decided change of one transaction. */
export interface PlannedMove {
  readonly before: OpenTransaction;
  readonly move: Move;
  /** The lane itself made the transaction: this commit stores it. */
  readonly isNew?: true;
}

/**
 * The one place where a lane changes transactions: commits the changes with their events, then takes the results into the index and wakes
 * the loops that have work now.
 *
 * `nonces`: the changes that take nonces, which come first. Throws ConflictError if anything is no longer as it was when this was decided;
 * nothing is written then.
 */
export async function commitMoves(
  lane: Omit<LaneContext, 'records'>,
  planned: readonly PlannedMove[],
  nonces: readonly Change[] = [],
): Promise<readonly OpenTransaction[]> {
  const results = await commitPlanned(lane.deps, lane.relayer(), planned, nonces).catch((error: unknown) => {
    if (error instanceof StoreAwayError) lane.loops.noteUnanswered();
    throw error;
  });
  for (const [index, after] of results.entries()) {
    lane.deps.feed.publish(viewOf(after));
    lane.transactions.put(after);
    if (planned[index]?.move.newAttempt !== undefined) lane.loops.wakeBroadcast();
    if (!isSigned(after.transaction)) lane.loops.wakePrepare();
  }
  return results;
}

/** Commits changes with their events, and reports every step. Throws as `commitMoves` does. */
export async function commitPlanned(
  deps: LaneWork,
  relayer: Relayer,
  planned: readonly PlannedMove[],
  nonces: readonly Change[] = [],
): Promise<readonly OpenTransaction[]> {
  const inserts: Change[] = [];
  const changes: Change[] = [];
  const results: OpenTransaction[] = [];
  const spans: (Span | null)[] = [];
  for (const { before, move, isNew } of planned) {
    const made = transactionChanges(deps, relayer, before, move);
    if (isNew) inserts.push(deps.store.change.insertTransaction(before.transaction));
    changes.push(...made.changes);
    results.push(made.after);
    if (move.newAttempt === undefined) continue;
    deps.journal.signed(before.transaction, move.newAttempt);
    spans.push(deps.journal.step('transaction stored', before.transaction));
  }
  const commit = planned.reduce<(reserving: readonly Change[]) => Promise<void>>(
    (inner, { move: { reserve } }) => (reserve === undefined ? inner : (outer) => reserve((own) => inner([...outer, ...own]))),
    (reserving) => deps.store.commit([...inserts, ...nonces, ...changes, ...reserving]),
  );
  await commit([]);
  for (const span of spans) span?.end();
  for (const [index, after] of results.entries()) {
    const { before, move, isNew } = planned[index] as PlannedMove;
    if (isNew) deps.journal.accepted(before.transaction, noOrigin);
    deps.journal.moved(before.transaction, move, after);
  }
  return results;
}

/**
 * Why an unsequenced attempt may not be sent yet: another transaction has an attempt with the same bytes, so the chain would execute both
 * only once. Null: none has. `others`: attempts that are about to be stored.
 */
export async function duplicateOf(
  lane: LaneContext,
  { transactionId, hash, nonce }: Attempt,
  others: readonly Attempt[] = [],
): Promise<string | null> {
  if (nonce !== null) return null;
  const owner =
    others.find((other) => other.hash === hash)?.transactionId ?? (await lane.deps.store.read.transactionIdOf(lane.id.chain, hash));
  if (owner === undefined || owner === transactionId) return null;
  return `waiting: identical to transaction ${owner} (same signature); will be signed again when that one has finished`;
}

/** The `status_reason` of a transaction that waits because of this obstacle. */
export function waitingReason(obstacle: string): string {
  return obstacle.startsWith('waiting: ') ? obstacle : `waiting: ${obstacle}; retrying`;
}

/** The `status_reason` of a mined transaction about whose result in this block endpoints differ. */
export function receiptsDiffer(blockNumber: bigint): string {
  return `waiting: RPC nodes show different receipts for it in block ${blockNumber}; final when they agree`;
}

/**
 * The move of a transaction that waits for this reason. Null: its record says so already, or its slot is being released. The record then
 * keeps the obstacle, which becomes the reason of the failure.
 */
export function waitsFor(transaction: Transaction, reason: string): Move | null {
  return transaction.statusReason === reason || transaction.intent === 'release_slot' ? null : { steps: [waiting(transaction, reason)] };
}
