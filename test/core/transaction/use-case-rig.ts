import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Draft, DraftRequest, Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { RequestContext } from '../../../src/core/ports/chain/requests.js';
import type { Unsequenced } from '../../../src/core/ports/chain/slots.js';
import { soleDatabase } from '../../../src/core/ports/database-state.js';
import type { Decide } from '../../../src/core/ports/lanes.js';
import type { TransactionEvent } from '../../../src/core/ports/record-event.js';
import type { Change } from '../../../src/core/ports/store/change.js';
import type { Store } from '../../../src/core/ports/store/store.js';
import type { EvmContent } from '../../../src/core/records/evm.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { type Judgement, type NeededApproval, windowOf } from '../../../src/core/records/judgement.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import type { SpendLimit } from '../../../src/core/records/spending-rule.js';
import { type Attempt, isFinal, type Transaction, type TransactionView } from '../../../src/core/records/transaction.js';
import { createSpendLedger } from '../../../src/core/rules/spend-ledger.js';
import { createFeed, type Feed } from '../../../src/core/transaction/feed.js';
import { noJournal } from '../../../src/core/transaction/journal.js';
import type { SendDeps } from '../../../src/core/transaction/send-transaction.js';
import { transactionChanges } from '../../../src/core/transaction/transaction-changes.js';
import { openStore } from '../../../src/storage/open-store.js';
import { noBlockTimes } from '../../support/block-times.js';
import { evmContent, evmRelayer } from '../../support/evm.js';
import { anAttempt, anEvent, aTransaction, next, sampleLane, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

export const nowMs = 1_763_600_100_000;

/** What the chain of a rig answers; every other question to it is a failure of the test. */
export interface ChainAnswers {
  /** What a request asks for. Absent: a transfer of 5 wei without a limit in time. */
  wanted?: { readonly valueWei: bigint; readonly validUntilMs: number | null };
  /** The hash of the next attempt, or why it cannot be made. */
  draft?: string | Refusal;
  /** Absent: every transaction has a nonce. */
  unsequenced?: Partial<Unsequenced>;
  /** The limit of a rule that allows everything. Absent: no rules. */
  readonly limit?: SpendLimit;
  /** The approval that a rule asks for. Absent: none. */
  approval?: NeededApproval | null;
  /** While the draft is made. */
  whileDrafting?: () => Promise<void>;
}

export interface UseCaseRig {
  readonly deps: SendDeps;
  readonly relayer: Relayer;
  readonly store: Store;
  readonly feed: Feed;
  readonly answers: ChainAnswers;
  /** The requests for a draft. */
  readonly drafts: DraftRequest[];
  /** The contexts in which requests were checked. */
  readonly contexts: RequestContext[];
  /** The states that events were written for. */
  readonly events: Transaction[];
  /** What the lane was told: `accepted id`, `unanswered account`. */
  readonly told: string[];
  /** Stores a transaction of the relayer with these attempts. */
  add(transaction: Transaction, attempts?: readonly Attempt[]): Promise<void>;
  read(id: string): Promise<TransactionView>;
  /** Changes a stored transaction, and wakes its readers. */
  change(id: string, over: Partial<Transaction>): Promise<void>;
  close(): Promise<void>;
}

/** The use cases on a real database; the chain answers what a test says, and the lane changes one transaction at a time. */
export async function useCaseRig(answers: ChainAnswers = {}): Promise<UseCaseRig> {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const relayer = evmRelayer(sampleLane.account);
  const drafts: DraftRequest[] = [];
  const contexts: RequestContext[] = [];
  const events: Transaction[] = [];
  const told: string[] = [];
  const feed = createFeed(store.read);

  const chain = {
    receiversOf: () => [],
    contentOf(_request: unknown, context: RequestContext) {
      contexts.push(context);
      const { valueWei, validUntilMs } = answers.wanted ?? { valueWei: 5n, validUntilMs: null };
      return { content: evmContent({ valueWei }), validUntilMs };
    },
    judge: ({ valueWei: amount }: EvmContent): Judgement | null => {
      const { limit = null, approval = null } = answers;
      const spends = limit === null ? [] : [{ field: 'value', window: windowOf('small', limit, { apiKeyId: null }), limit, amount }];
      return limit === null && approval === null ? null : { verdict: 'allow', ruleId: 'small', spends, approval };
    },
    isUnsequenced: () => answers.unsequenced !== undefined,
    get unsequenced() {
      return answers.unsequenced ?? null;
    },
    async draft(request: DraftRequest): Promise<Draft | Refusal> {
      drafts.push(request);
      await answers.whileDrafting?.();
      assert.ok(answers.draft !== undefined, 'a draft was asked for');
      return typeof answers.draft === 'string' ? ({ hash: answers.draft } as unknown as Draft) : answers.draft;
    },
    async sign(draft: { hash: string }, nonce: bigint | null) {
      const { raw, fields } = anAttempt({ transactionId: 'signed' });
      return { hash: draft.hash, raw: `${raw}${nonce}`, fields };
    },
  };

  const deps = {
    store,
    ledger: createSpendLedger({ store, clock: { nowMs: () => nowMs }, blockTimes: noBlockTimes, ids: systemIds }),
    feed,
    journal: noJournal,
    database: soleDatabase,
    clock: { nowMs: () => nowMs },
    ids: { timeOrdered: () => 'new', random: () => assert.fail('a random id') },
    directory: { chainOf: () => chain, relayer: () => relayer, signerOf: () => ({}) },
    recordEvent: (_: Relayer, { transaction }: TransactionView, event?: TransactionEvent) => {
      events.push(transaction);
      if (event !== undefined) told.push(`${event} ${transaction.id}`);
      return [store.change.insertEvent(anEvent({ id: `event-${events.length}`, orderKey: transaction.id }))];
    },
    lanes: {
      takeRoom: () => () => undefined,
      accept: ({ id }: Transaction) => told.push(`accepted ${id}`),
      noteUnanswered: ({ account }: { account: string }) => told.push(`unanswered ${account}`),
      whyUnsigned: (_: unknown, content: { valueWei: bigint }) => `waiting: ${content.valueWei} wei`,
      async move({ id, revision }: Transaction, decide: Decide) {
        const [current] = await store.read.transactionsById([id]);
        assert.ok(current !== undefined && current.transaction.revision >= revision, 'the lane was given a later revision');
        if (isFinal(current.transaction.status)) return null;
        const move = await decide(current);
        if (move === null) return null;
        const { after, changes } = transactionChanges({ ...deps, store }, relayer, current, move);
        const commit = (reserving: readonly Change[]) => store.commit([...changes, ...reserving]);
        await (move.reserve?.(commit) ?? commit([]));
        return after;
      },
    },
  } as unknown as SendDeps;

  const rig: UseCaseRig = {
    deps,
    relayer,
    store,
    feed,
    answers,
    drafts,
    contexts,
    events,
    told,
    async add(transaction, attempts = []) {
      await store.commit([
        store.change.insertTransaction({ ...transaction, revision: 1, liveVersion: null, nonce: null, status: 'pending' }),
        ...attempts.map((attempt) => store.change.insertAttempt(attempt)),
        store.change.updateTransaction(next({ ...transaction, revision: 1 }, {})),
      ]);
    },
    async read(id) {
      return (await store.read.transaction(id)) ?? assert.fail(`${id} is not stored`);
    },
    async change(id, over) {
      const { transaction } = await rig.read(id);
      await store.commit([store.change.updateTransaction(next(transaction, over))]);
      feed.publish(await rig.read(id));
    },
    close: () => store.close(),
  };
  return rig;
}

/** A transaction of the rig's relayer. */
export function pendingOf(id: string, over: Partial<Transaction> = {}): Transaction {
  return aTransaction({ id, relayerId: 'r1', content: evmContent(), ...over });
}

/** One that has an attempt at nonce 0. */
export function signedOf(id: string, over: Partial<Transaction> = {}): Transaction {
  return pendingOf(id, { status: 'submitted', statusReason: 'waiting: it is signed', nonce: 0n, liveVersion: 1, ...over });
}

/** The kind, reason, sentence and values of the error that a call throws. */
export async function errorOf(call: Promise<unknown>): Promise<readonly [kind: string, reason: string, message: string, metadata: object]> {
  const error = await call.then(
    () => assert.fail('it was accepted'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof DomainError, String(error));
  return [error.kind, error.reason, error.message, error.metadata];
}
