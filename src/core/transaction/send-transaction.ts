import type { ContentRequest } from '../ports/chain.js';
import type { DatabaseState } from '../ports/database-state.js';
import type { Directory } from '../ports/directory.js';
import type { Lanes } from '../ports/lanes.js';
import type { RecordEvent } from '../ports/record-event.js';
import type { AttemptChanges, AttemptReads } from '../ports/store/attempts.js';
import { ConflictError, StoreAwayError } from '../ports/store/change.js';
import type { StoreFor } from '../ports/store/store.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { TransactionChanges, TransactionReads } from '../ports/store/transactions.js';
import type { Ids } from '../records/ids.js';
import { chainKeyOf } from '../records/network.js';
import { laneOf, type Relayer, relayerNotFound } from '../records/relayer.js';
import type { Transaction, TransactionView } from '../records/transaction.js';
import type { Clock } from '../work/clock.js';
import type { Feed } from './feed.js';
import { type Journal, noOrigin, type Origin } from './journal.js';

/** The dependencies of the transaction use cases. */
export interface TransactionDeps {
  readonly store: StoreFor<AttemptReads & TransactionReads, AttemptChanges & TransactionChanges>;
  readonly directory: Directory;
  readonly lanes: Lanes;
  readonly database: DatabaseState;
  readonly recordEvent: RecordEvent;
  /** Gets every change. */
  readonly feed: Feed;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Accepts a transaction: it is durable when this resolves. Calls no node; estimation, funds and pricing come later and are reported in
 * `statusReason`. Throws 400 for a bad request, or one that the relayer's policies refuse, and `rate_limited` TOO_MANY_TRANSACTIONS while
 * too many wait.
 */
export async function sendTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  request: ContentRequest,
  saveResponse: SaveResponse<TransactionView> = () => [],
  origin: Origin = noOrigin,
): Promise<TransactionView> {
  const context = { relayer, nowMs: deps.clock.nowMs(), earlier: null };
  const { content, validUntilMs } = deps.directory.chainOf(relayer).contentOf(request, context);
  deps.lanes.requireCapacity(laneOf(relayer));
  const step = deps.journal.accepting(origin);
  const traceParent = step?.traceParent ?? origin.traceParent;
  const statusReason = deps.lanes.whyUnsigned(laneOf(relayer), content);
  const transaction = newTransaction(deps, relayer, { content, statusReason, validUntilMs, traceParent });
  const view: TransactionView = { transaction, shown: null };
  const changes = [deps.store.change.insertTransaction(transaction), ...deps.recordEvent(relayer, view), ...saveResponse(view)];
  await deps.store.commit(changes).catch((error: unknown) => {
    // It may still be stored, and a repeated call gets its stored response.
    if (error instanceof StoreAwayError) deps.lanes.noteUnanswered(transaction);
    // Another instance has deleted it, which this one is about to find out.
    if (error instanceof ConflictError && error.change === 'insertTransaction') throw relayerNotFound(relayer.id);
    throw error;
  });
  step?.end(null, { 'relayer.id': relayer.id, 'transaction.id': transaction.id });
  deps.journal.accepted(transaction, origin);
  deps.lanes.accept(transaction);
  return view;
}

/** Creates a pending transaction with a new id. The caller stores it. */
export function newTransaction(
  { clock, ids }: Pick<TransactionDeps, 'clock' | 'ids'>,
  relayer: Relayer,
  { content, statusReason, validUntilMs, traceParent }: Pick<Transaction, 'content' | 'statusReason' | 'validUntilMs' | 'traceParent'>,
): Transaction {
  const createdAtMs = clock.nowMs();
  return {
    id: ids.timeOrdered(),
    relayerId: relayer.id,
    chain: chainKeyOf(relayer.network),
    account: relayer.address,
    status: 'pending',
    statusReason,
    failureReason: null,
    intent: 'content',
    content,
    queued: null,
    nonce: null,
    liveVersion: null,
    mined: null,
    createdAtMs,
    updatedAtMs: createdAtMs,
    sentAtMs: null,
    confirmedAtMs: null,
    validUntilMs,
    traceParent,
    revision: 1,
  };
}
