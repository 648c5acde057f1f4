import { DomainError } from '../errors/errors.js';
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
import type { Transaction, TransactionTags, TransactionView } from '../records/transaction.js';
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

/** What may come with a transaction. */
export interface SendOptions {
  readonly saveResponse?: SaveResponse<TransactionView>;
  readonly origin?: Origin;
  readonly tags?: TransactionTags | null;
}

/**
 * Accepts a transaction: it is durable when this resolves. Calls no node; estimation, funds and pricing come later and are reported in
 * `statusReason`. Throws 400 for a bad request, or one that the relayer's policies refuse, `rate_limited` TOO_MANY_TRANSACTIONS while too
 * many wait, and `already_exists` EXTERNAL_ID_TAKEN.
 */
export async function sendTransaction(
  deps: TransactionDeps,
  relayer: Relayer,
  request: ContentRequest,
  { saveResponse = () => [], origin = noOrigin, tags = null }: SendOptions = {},
): Promise<TransactionView> {
  const context = { relayer, nowMs: deps.clock.nowMs(), earlier: null };
  const { content, validUntilMs } = deps.directory.chainOf(relayer).contentOf(request, context);
  deps.lanes.requireCapacity(laneOf(relayer));
  const step = deps.journal.accepting(origin);
  const traceParent = step?.traceParent ?? origin.traceParent;
  const statusReason = deps.lanes.whyUnsigned(laneOf(relayer), content);
  const transaction = newTransaction(deps, relayer, { content, statusReason, validUntilMs, traceParent, tags });
  const view: TransactionView = { transaction, shown: null };
  const { change } = deps.store;
  const changes = [
    change.insertTransaction(transaction),
    ...(tags?.externalId == null ? [] : [change.claimExternalId(transaction, tags.externalId)]),
    ...deps.recordEvent(relayer, view),
    ...saveResponse(view),
  ];
  await deps.store.commit(changes).catch(async (error: unknown) => {
    if (error instanceof ConflictError && error.change === 'claimExternalId') throw await externalIdTaken(deps, transaction);
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

async function externalIdTaken({ store }: Pick<TransactionDeps, 'store'>, { relayerId, tags }: Transaction): Promise<DomainError> {
  const externalId = tags?.externalId ?? '';
  const holder = (await store.read.externalIdHolder(relayerId, externalId)) ?? '';
  const sentence = `external_id ${externalId} belongs to transaction ${holder}; an external_id is never used twice`;
  return new DomainError('already_exists', 'EXTERNAL_ID_TAKEN', sentence, {
    metadata: { external_id: externalId, transaction_id: holder },
  });
}

/** Creates a pending transaction with a new id. The caller stores it. */
export function newTransaction(
  { clock, ids }: Pick<TransactionDeps, 'clock' | 'ids'>,
  relayer: Relayer,
  given: Pick<Transaction, 'content' | 'statusReason' | 'validUntilMs' | 'traceParent' | 'tags'>,
): Transaction {
  const createdAtMs = clock.nowMs();
  return {
    id: ids.timeOrdered(),
    relayerId: relayer.id,
    chain: chainKeyOf(relayer.network),
    account: relayer.address,
    status: 'pending',
    statusReason: given.statusReason,
    failureReason: null,
    intent: 'content',
    content: given.content,
    queued: null,
    nonce: null,
    liveVersion: null,
    mined: null,
    createdAtMs,
    updatedAtMs: createdAtMs,
    sentAtMs: null,
    confirmedAtMs: null,
    validUntilMs: given.validUntilMs,
    traceParent: given.traceParent,
    tags: given.tags,
    revision: 1,
  };
}
