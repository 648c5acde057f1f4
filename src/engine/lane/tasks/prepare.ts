import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import { maxCost } from '../../../core/fees/price.js';
import { isRefusal, type Refusal } from '../../../core/ports/chain/drafts.js';
import { smallestUnits } from '../../../core/records/network.js';
import { isActive } from '../../../core/records/relayer.js';
import { awaitsApproval, isSigned, type OpenTransaction } from '../../../core/records/transaction.js';
import { createPause, inTime } from '../../../core/work/abort.js';
import { isOver, lasted, seenAt } from '../../../core/work/patience.js';
import { askAhead } from '../ask-ahead.js';
import { isMemoryFull, slotsLeft, unsequencedLeft } from '../capacity.js';
import { storedAtOnce, waitsFor } from '../commit-moves.js';
import { beginDraft, draftInTime, isBegun, keepDraft, retryUnansweredAfterMs, slowDraftMs } from '../draft-in-time.js';
import { createForbidden, type Forbidden } from '../forbidden.js';
import { splitByFunds } from '../funds.js';
import { type DraftObstacle, holdBack } from '../hold-back.js';
import { isExpired, latestMs } from '../is-expired.js';
import type { LaneContext } from '../lane-context.js';
import { afterFirst, type DraftedFirst, draftFirst, signFirst } from '../send-first.js';
import { type Drafted, signAll } from '../sign-drafts.js';
import type { SigningPace } from '../signing-pace.js';
import { forgetRefusals, type Tracked } from '../tracked.js';

/** Maximum number of large transactions in a batch, which are read from the store. */
const maxReads = 16;
/** Maximum number of drafts that are under way or wait for room. */
const maxDrafting = 100;
/** The same doubted refusal, or the same unknown words of every node, count as an answer after this many heads and this time. */
const rejection = { heads: 4, ms: 60_000 };
/** The same for a refusal that is doubted briefly: the chain may have no other block soon. */
const briefDoubt = { heads: 0, ms: 2_000 };

/** The lane looks at a transaction that waits for another one again after this time. */
const excludedPauseMs = 1_000;

const inUseReason = 'waiting: another transaction of its source account is in flight; will send when that one has finished';

const unanswered: DraftObstacle = { sentence: 'waiting: no RPC node could estimate this transaction; retrying', lasting: false };

/**
 * Makes the task that prepares the first attempt of waiting transactions, oldest first: estimated, priced, checked for funds, signed, and
 * stored together with the nonces they take. A transaction that cannot be sent takes no nonce and delays no other: a lasting refusal fails
 * it, any other makes it wait, and so does a missing approval. A paused or disabled relayer signs none.
 *
 * The lane asks nodes without a lock. The commit asserts the revisions that the attempts were made from, so content that was replaced
 * meanwhile is never signed over. Throws `NODE_UNAVAILABLE`.
 */
export function createPreparer(lane: LaneContext, pace: SigningPace): () => Promise<void> {
  const forbidden = createForbidden(lane);
  return () => prepare(lane, pace, forbidden);
}

async function prepare(lane: LaneContext, pace: SigningPace, forbidden: Forbidden): Promise<void> {
  // Once per round: otherwise the first of a long queue would be due again before the last had its turn.
  const tried = new Set<string>();
  for (;;) {
    if (lane.loops.isStopped() || !isActive(lane.relayer()) || pace.isPaused()) return;
    if (lane.heads.standing() !== 'settled') return beginDrafts(lane, pace, forbidden);
    if (lane.inFlightLimit.isOfNodes()) await readLimit(lane);
    const { due, excluded, slow } = dueCandidates(lane, pace, forbidden, tried);
    for (const { transaction } of excluded)
      await lane.records.move(transaction.id, (current) => waitsFor(current.transaction, inUseReason));
    if (due.length === 0) return;
    const candidates = await withContent(lane, due, tried);
    const again = due.filter((one) => tried.has(one.transaction.id) && one.forbidden !== null);
    const limitRead = isAlone(lane) ? null : readLimit(lane);
    const { policies } = lane.relayer();
    const outcomes = await draftAll(lane, candidates);
    await limitRead;
    // They were accepted earlier, and have ended by the same answers: all of them go on in their order.
    const late = await endedOf(lane, slow);
    for (const { transaction } of late) tried.delete(transaction.id);
    // If nodes answer nothing at all, this throws: then no transaction is to blame.
    if (outcomes.includes(null)) await lane.chain.balanceOf(lane.id.account);
    const drafted: (Drafted | DraftedFirst)[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const open = candidates[index];
      if (open === undefined || outcome === undefined || outcome === 'slow') continue;
      if (late.length > 0 && keepDraft(lane, open, outcome)) tried.delete(open.transaction.id);
      else if (outcome === null) await holdBack(lane, open, unanswered, retryUnansweredAfterMs);
      else if (isRefusal(outcome)) drafted.push(...(await draftedFirst(lane, forbidden, open, outcome)));
      else {
        forgetRejections(lane, open);
        drafted.push({ open, draft: outcome });
      }
    }
    const isShort = outcomes.some(
      (outcome) => typeof outcome === 'object' && outcome !== null && isRefusal(outcome) && outcome.refused === 'insufficient_funds',
    );
    if (isShort) await lane.funds.report((await lane.funds.read('several')).balance);
    const affordable = drafted.length === 0 ? [] : await withinFunds(lane, forbidden, drafted);
    forbidden.endRound(again, affordable.length > 0);
    for (const one of affordable) if ('first' in one) await signFirst(lane, one, policies);
    const others = affordable.filter((one) => !('first' in one));
    if (others.length > 0) await signAll(lane, pace, others, policies);
  }
}

/** Drafts the transaction that must be mined first, if there is one that ends a lasting refusal. Otherwise leaves this one unsigned. */
async function draftedFirst(
  lane: LaneContext,
  forbidden: Forbidden,
  open: OpenTransaction,
  outcome: Refusal,
): Promise<readonly DraftedFirst[]> {
  const refusal = judged(lane, forbidden, open, afterFirst(lane, outcome));
  const { first, lasting } = refusal;
  if (first === undefined || !lasting) {
    await holdBack(lane, open, refusal);
    return [];
  }
  const draft = await draftFirst(lane, open, first);
  if (draft !== null && !isRefusal(draft)) return [{ open, draft, first }];
  if (draft === null) await holdBack(lane, open, unanswered, retryUnansweredAfterMs);
  else {
    const sentence = `a transaction must be mined before this one, and cannot be sent: ${draft.sentence}`;
    await holdBack(lane, open, judged(lane, forbidden, open, { ...draft, sentence }));
  }
  return [];
}

/**
 * Begins drafts while nodes are still asked for the account: each answer may take seconds. Nothing is decided at a head that is old, and
 * nothing is signed.
 */
async function beginDrafts(lane: LaneContext, pace: SigningPace, forbidden: Forbidden): Promise<void> {
  const standing = lane.heads.standing();
  const isHeadKnown = standing !== 'no_head' && standing !== 'awaiting_head' && !lane.heads.isUnreachable;
  if (!isHeadKnown || lane.chain.sequence?.draftsAnyNumber !== true) return;
  const { due } = dueCandidates(lane, pace, forbidden, new Set());
  // The content of a large transaction is read from the store.
  const unbegun = due.filter((record) => !isBegun(lane, record));
  if (unbegun.length > 0) askAhead(lane, lane.inFlightLimit.read());
  for (const open of await withContent(lane, unbegun, new Set())) beginDraft(lane, open);
}

/** Asks nodes how many transactions they accept. Once that is known, a slow answer counts from the next round on. */
async function readLimit({ inFlightLimit, deps }: LaneContext): Promise<void> {
  const read = inFlightLimit.read().catch(nullIfUnavailable);
  await (inFlightLimit.wasRead() ? inTime(read, slowDraftMs, null, deps.timers) : read);
}

/**
 * Drafts a large batch in parts: many drafts at once delay one another until nodes seem slow, and slow drafts lose their place in the
 * order.
 */
async function draftAll(lane: LaneContext, candidates: readonly OpenTransaction[]): Promise<Awaited<ReturnType<typeof draftInTime>>[]> {
  const outcomes: Awaited<ReturnType<typeof draftInTime>>[] = [];
  for (let at = 0; at < candidates.length; at += storedAtOnce)
    outcomes.push(...(await Promise.all(candidates.slice(at, at + storedAtOnce).map((open) => draftInTime(lane, open)))));
  return outcomes;
}

/** Those of these slow drafts that have ended by now. */
async function endedOf({ deps }: LaneContext, slow: readonly Tracked[]): Promise<readonly Tracked[]> {
  if (slow.length > 0) await createPause(deps.timers)(0);
  return slow.filter(({ drafting }) => drafting !== null && drafting.doneAtMs !== null);
}

/** True if no limit of transactions in flight matters. */
function isAlone({ transactions }: LaneContext): boolean {
  return transactions.inFlightCount() + transactions.waitingCount() <= 1;
}

/**
 * `excluded`: transactions that wait for another one, and whose records are due to say so. `slow`: those before the last due one whose
 * draft takes long.
 */
function dueCandidates(
  lane: LaneContext,
  pace: SigningPace,
  forbidden: Forbidden,
  tried: ReadonlySet<string>,
): Readonly<Record<'due' | 'excluded' | 'slow', readonly Tracked[]>> {
  const nowMs = latestMs(lane);
  const elapsedMs = lane.deps.clock.elapsedMs();
  const candidates: Tracked[] = [];
  const excluded: Tracked[] = [];
  const slow: Tracked[] = [];
  const { transactions } = lane;
  if (isMemoryFull(lane)) return { due: [], excluded: [], slow: [] };
  const isForbidden = forbidden.skipNow();
  let drafting = 0;
  // Without room the queue is not walked: it may be long, and this runs at every send.
  let slots = slotsLeft(lane);
  if (transactions.waitingCount() > 0 && transactions.inFlightCount() >= lane.inFlightLimit.current()) lane.inFlightLimit.noteReached();
  let unsequencedRoom = unsequencedLeft(lane);
  const inUse = soleUses(lane);
  const batchSize = pace.batchSize();
  for (const record of transactions.waiting()) {
    if (candidates.length === batchSize || drafting >= maxDrafting || (slots <= 0 && unsequencedRoom <= 0)) break;
    const { id, isUnsequenced, soleUse } = record.transaction;
    if (awaitsApproval(record.transaction)) continue;
    if (record.drafting !== null) drafting += 1;
    // One that has just begun keeps its place: transactions take nonces in the order in which they were accepted.
    if (record.drafting !== null && record.drafting.doneAtMs === null && record.drafting.slowAtMs <= elapsedMs) {
      slow.push(record);
      continue;
    }
    if (tried.has(id) || isExpired(record, nowMs) || elapsedMs < record.notBeforeMs) continue;
    if (isForbidden(record)) continue;
    if ((isUnsequenced ? unsequencedRoom : slots) <= 0) continue;
    if (soleUse !== null && inUse.has(soleUse)) {
      record.notBeforeMs = elapsedMs + excludedPauseMs;
      if (record.transaction.statusReason !== inUseReason) excluded.push(record);
      continue;
    }
    if (soleUse !== null) inUse.add(soleUse);
    if (isUnsequenced) unsequencedRoom -= 1;
    else slots -= 1;
    candidates.push(record);
  }
  return { due: candidates, excluded, slow };
}

/** The keys that transactions in flight use; each key allows only one transaction. */
function soleUses({ transactions }: LaneContext): Set<string> {
  return new Set([...transactions.unsequenced()].flatMap(({ transaction: { id } }) => transactions.tracked(id)?.transaction.soleUse ?? []));
}

/** Returns the due transactions with their content, reads as many from the store as a batch may hold, and marks them as tried. */
async function withContent(lane: LaneContext, due: readonly Tracked[], tried: Set<string>): Promise<readonly OpenTransaction[]> {
  const loaded: OpenTransaction[] = [];
  let reads = 0;
  for (const { transaction, open } of due) {
    if (open === null && reads === maxReads) break;
    if (open === null) reads += 1;
    tried.add(transaction.id);
    const read = open ?? (await lane.records.read(transaction.id));
    if (read !== null && !isSigned(read.transaction) && !awaitsApproval(read.transaction)) loaded.push(read);
  }
  return loaded;
}

/** The refusals of which a queue may be full, and which only the market or new funds end. */
const byMoney: ReadonlySet<Refusal['refused']> = new Set(['insufficient_funds', 'above_cap', 'above_max_cost'] as const);

/**
 * Counts the heads at which nodes reject a transaction in the same unknown words, or one node alone refuses it. Enough of them fail the
 * transaction.
 */
function judged(
  { transactions, heads: { settled }, deps }: LaneContext,
  forbidden: Forbidden,
  { transaction }: OpenTransaction,
  refusal: Refusal,
): Refusal {
  const record = transactions.tracked(transaction.id);
  if (record === undefined || settled === null) return refusal;
  if (byMoney.has(refusal.refused)) forbidden.note(record);
  const nowMs = deps.clock.elapsedMs();
  const { sentence } = refusal;
  // The amounts in a doubted refusal change with each block.
  const cause = refusal.isDoubted ? refusal.refused : sentence;
  if (refusal.refused !== 'rejected' && !refusal.isDoubted) record.rejected = null;
  else record.rejected = { ...seenAt(record.rejected?.cause === cause ? record.rejected : null, settled, nowMs), cause };
  const patience = refusal.isDoubted === 'briefly' ? briefDoubt : rejection;
  if (record.rejected === null || !isOver(patience, lasted(record.rejected, nowMs))) return refusal;
  return { ...refusal, sentence: refusal.refused === 'rejected' ? `no RPC node accepts it: ${sentence}` : sentence, lasting: true };
}

/** Forgets what was rejected before: only rejections in a row count. */
function forgetRejections({ transactions }: LaneContext, { transaction }: OpenTransaction): void {
  const record = transactions.tracked(transaction.id);
  if (record === undefined) return;
  record.rejected = null;
  forgetRefusals(record);
}

/** Transactions that the balance pays for in addition to everything in flight, in order. The others wait. */
async function withinFunds<D extends Drafted>(lane: LaneContext, forbidden: Forbidden, drafted: readonly D[]): Promise<readonly D[]> {
  const funds = await lane.funds.readFree(drafted.reduce((sum, { draft }) => sum + maxCost(draft), 0n));
  await lane.funds.report(funds.balance);
  const unit = smallestUnits[lane.relayer().networkType];
  const { payable, unpayable } = splitByFunds(drafted, funds.free, ({ draft }) => maxCost(draft));
  for (const { one, cost, free } of unpayable) {
    const sentence = `waiting: insufficient balance: it can cost ${cost} ${unit}, but only ${free} ${unit} are not reserved; will send when the account is funded`;
    const record = lane.transactions.tracked(one.open.transaction.id);
    if (record !== undefined) forbidden.note(record);
    await holdBack(lane, one.open, { sentence, lasting: false });
  }
  return payable;
}
