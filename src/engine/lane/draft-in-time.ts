import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import { type Draft, isRefusal, type Refusal } from '../../core/ports/chain/drafts.js';
import { approvalsOf, awaitsApproval, type OpenTransaction, type Transaction } from '../../core/records/transaction.js';
import { inTime } from '../../core/work/abort.js';
import { waitingReason } from './commit-moves.js';
import type { LaneContext } from './lane-context.js';
import type { Tracked } from './tracked.js';

/** The maximum time that other transactions wait for nodes to estimate one, and a finished draft for what else nodes are asked. */
export const slowDraftMs = 2_000;
/**
 * A transaction that no node answered about is tried again after this time: each try can last as long as a node may take, and others wait
 * for it.
 */
export const retryUnansweredAfterMs = 2_000;
/** A draft that waited for room has an old price: it is used up to this age, or for this number of block times, the longer of the two. */
const usableFor = { ms: 15_000, blocks: 2 };

/**
 * Drafts a transaction, or returns `slow` if nodes take longer than others should wait. The draft goes on then, wakes the loop when it is
 * done, and is used in that round if the transaction has not changed.
 */
export async function draftInTime(lane: LaneContext, open: OpenTransaction): Promise<Draft | Refusal | null | 'slow'> {
  const record = lane.transactions.tracked(open.transaction.id);
  if (record === undefined) return 'slow';
  const drafting = draftingOf(lane, record, open);
  const drafted = await inTime(drafting.done, slowDraftMs, null, lane.deps.timers);
  if (drafted === null) {
    goOn(lane, drafting);
    return 'slow';
  }
  record.drafting = null;
  if ('error' in drafted) throw drafted.error;
  return drafted.outcome;
}

/**
 * Begins a draft before anything may be signed. It is used when that is so. If no node could answer, it is begun again after a while, and
 * wakes nothing: nodes that are known to be away answer at once, and the loop would take the whole time of the process.
 */
export function beginDraft(lane: LaneContext, open: OpenTransaction): void {
  const record = lane.transactions.tracked(open.transaction.id);
  if (record === undefined) return;
  const before = record.drafting;
  const drafting = draftingOf(lane, record, open);
  if (drafting === before) return;
  lane.funds.expectRead();
  void drafting.done.then((drafted) => {
    if (!('error' in drafted) && drafted.outcome !== null) return noteDone(lane, drafting);
    if (record.drafting !== drafting) return;
    record.drafting = null;
    record.notBeforeMs = lane.deps.clock.elapsedMs() + retryUnansweredAfterMs;
  });
}

/** Keeps an outcome for a later round. Returns false if there is none to keep. */
export function keepDraft(lane: LaneContext, { transaction }: OpenTransaction, outcome: Draft | Refusal | null): boolean {
  const record = lane.transactions.tracked(transaction.id);
  if (record === undefined || record.drafting !== null || outcome === null) return false;
  const nowMs = lane.deps.clock.elapsedMs();
  const { policies } = lane.relayer();
  record.drafting = { revision: transaction.revision, policies, done: Promise.resolve({ outcome }), doneAtMs: nowMs, slowAtMs: nowMs };
  return true;
}

/** Notes when the draft is done, and wakes the loop then. What else its signature needs is asked for meanwhile, since nodes are slow. */
function goOn(lane: LaneContext, drafting: RunningDraft): void {
  drafting.slowAtMs = lane.deps.clock.elapsedMs();
  lane.funds.expectRead();
  void drafting.done.then(() => noteDone(lane, drafting));
}

/** The loop is woken after all that end by the same answer of a node: they keep their order. */
function noteDone(lane: LaneContext, drafting: RunningDraft): void {
  drafting.doneAtMs ??= lane.deps.clock.elapsedMs();
  lane.deps.timers.after(0, lane.loops.wakePrepare);
}

type RunningDraft = NonNullable<Tracked['drafting']>;

/** Returns the draft that was begun, or begins one if it is too old, or the content or the policies have changed. */
function draftingOf(lane: LaneContext, record: Tracked, open: OpenTransaction): RunningDraft {
  const { revision } = open.transaction;
  const { policies } = lane.relayer();
  if (record.drafting !== null && isUsable(lane, record.drafting, revision)) return record.drafting;
  const done = draftOf(lane, open)
    .catch(nullIfUnavailable)
    .then((outcome) => ({ outcome }))
    .catch((error: unknown) => ({ error }));
  record.drafting = { revision, policies, done, doneAtMs: null, slowAtMs: lane.deps.clock.elapsedMs() + slowDraftMs };
  return record.drafting;
}

/** True if a draft of this content was begun, and may still be used. */
export function isBegun(lane: LaneContext, { drafting, transaction }: Tracked): boolean {
  return drafting !== null && isUsable(lane, drafting, transaction.revision);
}

function isUsable(lane: LaneContext, { revision: madeFrom, policies, doneAtMs }: RunningDraft, revision: number): boolean {
  if (policies !== lane.relayer().policies) return false;
  const longestMs = Math.max(usableFor.ms, usableFor.blocks * lane.relayer().network.averageBlockTimeMs);
  return madeFrom === revision && (doneAtMs === null || lane.deps.clock.elapsedMs() - doneAtMs <= longestMs);
}

async function draftOf(lane: LaneContext, { transaction }: OpenTransaction): Promise<Draft | Refusal> {
  const { journal } = lane.deps;
  const { content, validUntilMs } = transaction;
  const mayDepend = followsOthers(lane, transaction);
  const span = journal.step('transaction prepared', transaction);
  const approval = { approvals: approvalsOf(transaction) };
  const request = { relayer: lane.relayer(), content, outbids: [], validUntilMs, nextNonce: lane.numbers.next, ...approval };
  const drafted = await journal.within(span, () => lane.chain.draft(request));
  const draft = mayDepend ? undecided(drafted) : drafted;
  // A repeated try with the same result leaves no span.
  if (!isRefusal(draft)) span?.end();
  else if (waitingReason(draft.sentence) !== transaction.statusReason) span?.end(draft.sentence);
  return draft;
}

/** The maximum number of earlier transactions that are looked at: if none of them can be signed, a later one is taken to wait for more. */
const maxEarlier = 100;

/**
 * True if an earlier transaction of the account is not mined yet: this one may depend on it, and an estimate that begins now does not
 * include it. An unsigned one that waits for something else than a price, such as funds or approvals, does not count: it may never be
 * signed.
 */
export function followsOthers({ transactions }: LaneContext, { id }: Transaction): boolean {
  if (transactions.inFlightCount() > 0) return true;
  let seen = 0;
  for (const { transaction, isHeldBack } of transactions.waiting()) {
    if (transaction.id >= id) break;
    if (awaitsApproval(transaction)) continue;
    seen += 1;
    if (!isHeldBack || seen > maxEarlier) return true;
  }
  if (transactions.unminedUnsequencedCount() === 0) return false;
  for (const { transaction } of transactions.unsequenced()) if (transaction.mined === null && transaction.id < id) return true;
  return false;
}

/** Turns a refusal that earlier transactions may end into a reason to wait. */
export function undecided(draft: Draft | Refusal): Draft | Refusal {
  if (!isRefusal(draft) || draft.refused !== 'reverts' || (!draft.lasting && !draft.isDoubted)) return draft;
  return {
    ...draft,
    sentence: `waiting: ${draft.sentence}; will be decided when earlier transactions are mined`,
    lasting: false,
    isDoubted: false,
  };
}
