import { DomainError, invalidField, withinPart } from '../errors/errors.js';
import { type IsRefused, nothingRefused, readEachInTurn } from '../errors/read-all.js';
import type { ContentRequest } from '../ports/chain/requests.js';
import type { DatabaseState } from '../ports/database-state.js';
import type { Directory } from '../ports/directory.js';
import type { Lanes } from '../ports/lanes.js';
import type { RecordEvent } from '../ports/record-event.js';
import type { AttemptChanges, AttemptReads } from '../ports/store/attempts.js';
import { type Change, ConflictError, StoreAwayError } from '../ports/store/change.js';
import type { SpendingChanges, SpendingReads } from '../ports/store/spending.js';
import type { StoreFor } from '../ports/store/store.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { TransactionChanges, TransactionReads } from '../ports/store/transactions.js';
import type { Ids } from '../records/ids.js';
import type { Asker } from '../records/judgement.js';
import { chainKeyOf } from '../records/network.js';
import { laneOf, type Relayer, relayerNotFound } from '../records/relayer.js';
import type { Transaction, TransactionTags, TransactionView } from '../records/transaction.js';
import { firstReservation } from '../rules/reservation.js';
import type { SpendLedger } from '../rules/spend-ledger.js';
import type { Clock } from '../work/clock.js';
import { allowedContent } from './allowed-content.js';
import { approvalReason, neededApproval } from './approval.js';
import type { Feed } from './feed.js';
import { type Journal, noOrigin, type Origin } from './journal.js';
import { receiverKeys } from './receivers.js';

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

/** The dependencies of what accepts content. */
export interface SendDeps extends TransactionDeps {
  readonly store: StoreFor<
    AttemptReads & TransactionReads & Pick<SpendingReads, 'reservation'>,
    AttemptChanges & TransactionChanges & Pick<SpendingChanges, 'insertReservation' | 'updateReservation'>
  >;
  readonly ledger: SpendLedger;
}

/** A transaction as its caller wants it. */
export interface WantedTransaction {
  readonly request: ContentRequest;
  readonly tags?: TransactionTags | null;
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
  deps: SendDeps,
  relayer: Relayer,
  request: ContentRequest,
  { saveResponse, origin = noOrigin, tags = null }: SendOptions = {},
): Promise<TransactionView> {
  const save: SaveResponse<Accepted> = ([view]) => saveResponse?.(view) ?? [];
  const [view] = await acceptTogether(deps, relayer, [{ request, tags }], { saveResponse: save, origin, named: (error) => error });
  return view;
}

/** The maximum number of transactions that are sent together. */
const maxTogether = 100;

/**
 * Accepts transactions in one commit: all of them or none. They are signed in this order. Throws as `sendTransaction` does; an error about
 * one of them names it.
 */
export async function sendTransactions(
  deps: SendDeps,
  relayer: Relayer,
  wanted: readonly WantedTransaction[],
  { saveResponse = () => [], origin = noOrigin }: Pick<SendOptions, 'origin'> & { readonly saveResponse?: SaveResponse<Accepted> } = {},
): Promise<Accepted> {
  checkCount(wanted);
  return acceptTogether(deps, relayer, wanted, { saveResponse, origin, named: namedPart });
}

/** Throws what `sendTransactions` would throw for these requests; the relayer's other transactions do not matter. */
export async function checkTransactions(
  { directory, clock }: Pick<TransactionDeps, 'directory' | 'clock'>,
  relayer: Relayer,
  wanted: readonly WantedTransaction[],
  { asker, isRefused }: { readonly asker: Asker; readonly isRefused: IsRefused },
): Promise<void> {
  checkCount(wanted);
  const options = {
    asker,
    named: namedPart,
    isRefusedAt:
      (index: number): IsRefused =>
      (field) =>
        isRefused(`${partAt(index)}.${field}`),
  };
  await contentsOf({ directory, clock }, relayer, wanted, options);
}

type Accepted = readonly [TransactionView, ...TransactionView[]];

/** Names the transaction that an error is about. */
type NamePart = (error: DomainError, index: number) => DomainError;

const partAt = (index: number): string => `transactions[${index}]`;
const namedPart: NamePart = (error, index) => withinPart(error, partAt(index));

function checkCount({ length }: readonly WantedTransaction[]): void {
  if (length === 0) throw invalidField('transactions', 'must have at least one item');
  if (length > maxTogether) throw invalidField('transactions', `must have at most ${maxTogether} items; it has ${length}`);
}

/** Each in a turn of its own, since reading a large transaction takes a while. */
function contentsOf(
  { directory, clock }: Pick<TransactionDeps, 'directory' | 'clock'>,
  relayer: Relayer,
  wanted: readonly WantedTransaction[],
  {
    asker,
    named,
    isRefusedAt = () => nothingRefused,
  }: { readonly asker: Asker; readonly named: NamePart; readonly isRefusedAt?: (index: number) => IsRefused },
) {
  const chain = directory.chainOf(relayer);
  const nowMs = clock.nowMs();
  const holders = new Map<string, number>();
  return readEachInTurn(wanted, ({ request, tags = null }, index) => {
    try {
      const externalId = tags?.externalId ?? null;
      const holder = externalId === null ? undefined : holders.get(externalId);
      if (holder !== undefined) throw invalidField('external_id', `is ${externalId}, which ${partAt(holder)} has already`);
      if (externalId !== null) holders.set(externalId, index);
      const context = { relayer, nowMs, earlier: null, isRefused: isRefusedAt(index), asker };
      const { content, validUntilMs, spends, approval } = allowedContent(chain, request, context);
      return { content, validUntilMs, tags, spends, approval: neededApproval(approval, [asker.apiKeyId], nowMs) };
    } catch (error) {
      throw error instanceof DomainError ? named(error, index) : error;
    }
  });
}

interface Acceptance {
  readonly saveResponse: SaveResponse<Accepted>;
  readonly origin: Origin;
  readonly named: NamePart;
}

async function acceptTogether(
  deps: SendDeps,
  relayer: Relayer,
  wanted: readonly WantedTransaction[],
  { saveResponse, origin, named }: Acceptance,
): Promise<Accepted> {
  const contents = await contentsOf(deps, relayer, wanted, { asker: origin, named });
  const lane = laneOf(relayer);
  const toApprove = contents.filter(({ approval }) => approval !== null).length;
  const leaveRoom = deps.lanes.takeRoom(lane, { toSign: wanted.length - toApprove, toApprove });
  try {
    return await store(deps, relayer, contents, { saveResponse, origin, named });
  } finally {
    leaveRoom();
  }
}

/** Stores transactions in one commit, and takes them into their lane. */
async function store(
  deps: SendDeps,
  relayer: Relayer,
  contents: Awaited<ReturnType<typeof contentsOf>>,
  { saveResponse, origin, named }: Acceptance,
): Promise<Accepted> {
  const lane = laneOf(relayer);
  const chain = deps.directory.chainOf(relayer);
  const sent = contents.map(({ content, validUntilMs, tags, approval }) => {
    const step = deps.journal.accepting(origin);
    const traceParent = step?.traceParent ?? origin.traceParent;
    const statusReason = approval === null ? deps.lanes.whyUnsigned(lane, content) : approvalReason(approval);
    return { step, transaction: newTransaction(deps, relayer, { content, statusReason, validUntilMs, traceParent, tags, approval }) };
  });
  const views = sent.map(({ transaction }): TransactionView => ({ transaction, shown: null })) as readonly TransactionView[] as Accepted;
  const { change } = deps.store;
  const changes = [
    ...views.flatMap((view) => {
      const { transaction } = view;
      const externalId = transaction.tags?.externalId ?? null;
      const claims = externalId === null ? [] : [change.claimExternalId(transaction, externalId)];
      const receivers = receiverKeys(chain, transaction.content, relayer.address);
      const asking = transaction.approval === null ? [] : deps.recordEvent(relayer, view, 'approval_required');
      return [change.insertTransaction(transaction, receivers), ...claims, ...deps.recordEvent(relayer, view), ...asking];
    }),
    ...saveResponse(views),
  ];
  const spends = contents.map((one) => one.spends);
  const commit = (reserving: readonly Change[]) => deps.store.commit([...reserving, ...changes]);
  const committed = spends.every(({ length }) => length === 0)
    ? commit([])
    : deps.ledger.withReserved(
        relayer.id,
        spends,
        ({ changes: counting, reserved }) => {
          const kept = views.flatMap(({ transaction }, index) =>
            reserved[index]?.length ? [change.insertReservation(transaction.id, firstReservation(reserved[index]))] : [],
          );
          return commit([...counting, ...kept]);
        },
        named,
      );
  await committed.catch(async (error: unknown) => {
    if (error instanceof ConflictError && error.change === 'claimExternalId') throw await externalIdTaken(deps, views, named);
    // The first send of a repeated one may have taken the room.
    if (error instanceof DomainError && error.kind === 'forbidden')
      for (const { transaction } of views) await requireFreeExternalId(deps.store.read, relayer.id, transaction.tags);
    // They may still be stored, and a repeated call gets its stored response.
    if (error instanceof StoreAwayError) deps.lanes.noteUnanswered(lane);
    // Another instance has deleted the relayer, which this one is about to find out.
    if (error instanceof ConflictError && error.change === 'insertTransaction') throw relayerNotFound(relayer.id);
    throw error;
  });
  for (const { step, transaction } of sent) {
    step?.end(null, { 'relayer.id': relayer.id, 'transaction.id': transaction.id });
    deps.journal.accepted(transaction, origin);
    deps.lanes.accept(transaction);
  }
  return views;
}

/** Finds the first of the transactions whose external id belongs to another one. */
async function externalIdTaken({ store }: Pick<TransactionDeps, 'store'>, views: Accepted, named: NamePart): Promise<DomainError> {
  const tagged = views.flatMap(({ transaction: { relayerId, tags } }, index) =>
    tags?.externalId == null ? [] : [{ relayerId, externalId: tags.externalId, index }],
  );
  const held = await Promise.all(
    tagged.map(async (one) => ({ ...one, holder: await store.read.externalIdHolder(one.relayerId, one.externalId) })),
  );
  const { externalId, index, holder = '' } = held.find((one) => one.holder !== undefined) ?? { externalId: '', index: 0 };
  return named(takenError(externalId, holder), index);
}

/** Throws EXTERNAL_ID_TAKEN if a transaction of the relayer has or had the external id. */
export async function requireFreeExternalId(
  read: Pick<TransactionReads, 'externalIdHolder'>,
  relayerId: string,
  tags: TransactionTags | null,
): Promise<void> {
  const externalId = tags?.externalId ?? null;
  const holder = externalId === null ? undefined : await read.externalIdHolder(relayerId, externalId);
  if (externalId !== null && holder !== undefined) throw takenError(externalId, holder);
}

function takenError(externalId: string, holder: string): DomainError {
  const sentence = `external_id ${externalId} belongs to transaction ${holder}; an external_id is never used twice`;
  return new DomainError('already_exists', 'EXTERNAL_ID_TAKEN', sentence, {
    metadata: { external_id: externalId, transaction_id: holder },
  });
}

/** Creates a pending transaction with a new id. The caller stores it. */
export function newTransaction(
  { clock, ids }: Pick<TransactionDeps, 'clock' | 'ids'>,
  relayer: Relayer,
  given: Pick<Transaction, 'content' | 'statusReason' | 'validUntilMs' | 'traceParent' | 'tags' | 'approval'>,
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
    delays: null,
    approval: given.approval,
    revision: 1,
  };
}
