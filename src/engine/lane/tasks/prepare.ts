import { maxCost } from '../../../core/fees/price.js';
import { type Head, isRefusal, type Refusal } from '../../../core/ports/chain.js';
import { smallestUnits } from '../../../core/records/network.js';
import { isActive } from '../../../core/records/relayer.js';
import { isSigned, type OpenTransaction } from '../../../core/records/transaction.js';
import { isMemoryFull, slotsLeft, unsequencedLeft } from '../capacity.js';
import { storedAtOnce, waitsFor } from '../commit-moves.js';
import { draftInTime } from '../draft-in-time.js';
import { splitByFunds } from '../funds.js';
import { holdBack, type Obstacle } from '../hold-back.js';
import { isExpired, latestMs } from '../is-expired.js';
import { type LaneContext, nullIfUnavailable } from '../lane-context.js';
import { type Drafted, signAll } from '../sign-drafts.js';
import { forgetRefusals, type Tracked } from '../tracked.js';

/** Maximum number of large transactions in a batch, which are read from the store. */
const maxReads = 16;
/** Maximum number of drafts that are under way or wait for room. */
const maxDrafting = 100;
/** Maximum number of batches of forbidden transactions that are tried again at one head while all of them are forbidden again. */
const maxForbiddenBatches = 2;
/**
 * A transaction that no node answered about is tried again after this time: each try can last as long as a node may take, and others wait
 * for it.
 */
const retryUnansweredAfterMs = 2_000;

/**
 * A transaction that the balance or the price cap forbids is not drafted again at the same head, unless no new head comes for this long.
 */
const forbiddenForMs = 3_000;
/** The same doubted refusal, or the same unknown words of every node, count as an answer after this many heads and this time. */
const rejection = { heads: 5, ms: 60_000 };

/** The lane looks at a transaction that waits for another one again after this time. */
const excludedPauseMs = 1_000;

const inUseReason = 'waiting: another transaction of its source account is in flight; will send when that one has finished';

const unanswered: Obstacle = { sentence: 'waiting: no RPC node could estimate this transaction; retrying', lasting: false };

/**
 * Makes the first attempt of waiting transactions, oldest first: estimated, priced, checked for funds, signed, and stored together with the
 * nonces they take. A transaction that cannot be sent takes no nonce and delays no other: a lasting refusal fails it, any other makes it
 * wait. A paused or disabled relayer signs none.
 *
 * The lane asks nodes without a lock. The commit asserts the revisions that the attempts were made from, so content that was replaced
 * meanwhile is never signed over. Throws `NODE_UNAVAILABLE`.
 */
export async function prepare(lane: LaneContext): Promise<void> {
  // Once per round: otherwise the first of a long queue would be due again before the last had its turn.
  const tried = new Set<string>();
  for (;;) {
    if (lane.heads.settled === null || lane.heads.isStale || lane.isStopped() || !isActive(lane.relayer()) || isSignerAway(lane)) return;
    if (lane.inFlightLimit.isOfNodes()) await lane.inFlightLimit.read().catch(nullIfUnavailable);
    const { due, excluded } = dueCandidates(lane, tried);
    for (const { transaction } of excluded) await lane.move(transaction.id, (current) => waitsFor(current.transaction, inUseReason));
    if (due.length === 0) return;
    const candidates = await withContent(lane, due, tried);
    const again = due.filter(({ transaction, forbidden }) => tried.has(transaction.id) && forbidden !== null);
    const limitRead = isAlone(lane) ? null : lane.inFlightLimit.read().catch(nullIfUnavailable);
    const outcomes = await draftAll(lane, candidates);
    await limitRead;
    // If nodes answer nothing at all, this throws: then no transaction is to blame.
    if (outcomes.includes(null)) await lane.chain.balanceOf(lane.id.account);
    const drafted: Drafted[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const open = candidates[index];
      if (open === undefined || outcome === undefined || outcome === 'slow') continue;
      if (outcome === null) await holdBack(lane, open, unanswered, retryUnansweredAfterMs);
      else if (isRefusal(outcome)) await holdBack(lane, open, judged(lane, open, outcome));
      else {
        forgetRejections(lane, open);
        drafted.push({ open, draft: outcome });
      }
    }
    const isShort = outcomes.some(
      (outcome) => typeof outcome === 'object' && outcome !== null && isRefusal(outcome) && outcome.refused === 'insufficient_funds',
    );
    if (isShort) await lane.funds.report((await lane.funds.read()).balance);
    const affordable = drafted.length === 0 ? [] : await withinFunds(lane, drafted);
    noteForbidden(lane, again, affordable.length > 0);
    if (affordable.length > 0) await signAll(lane, affordable);
  }
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

function isSignerAway({ signerAway, deps }: LaneContext): boolean {
  return signerAway !== null && deps.clock.elapsedMs() < signerAway.untilMs;
}

function isHosted({ deps, relayer }: LaneContext): boolean {
  return deps.directory.signerOf(relayer()).isHosted === true;
}

/** True if no limit of transactions in flight matters. */
function isAlone({ transactions }: LaneContext): boolean {
  return transactions.inFlightCount() + transactions.waitingCount() <= 1;
}

/** `excluded`: those that wait for another one, and whose records are due to say so. */
function dueCandidates(lane: LaneContext, tried: ReadonlySet<string>): Readonly<Record<'due' | 'excluded', readonly Tracked[]>> {
  const nowMs = latestMs(lane);
  const elapsedMs = lane.deps.clock.elapsedMs();
  const candidates: Tracked[] = [];
  const excluded: Tracked[] = [];
  const { transactions } = lane;
  if (isMemoryFull(lane)) return { due: [], excluded: [] };
  const { batches, after } = forbiddenAgain(lane);
  let drafting = 0;
  // Without room the queue is not walked: it may be long, and this runs at every send.
  let slots = slotsLeft(lane);
  if (transactions.waitingCount() > 0 && transactions.inFlightCount() >= lane.inFlightLimit.current()) lane.inFlightLimit.noteReached();
  let unsequencedRoom = unsequencedLeft(lane);
  const inUse = soleUses(lane);
  const batchSize = isHosted(lane) ? lane.hostedBatchSize : storedAtOnce;
  for (const record of transactions.waiting()) {
    if (candidates.length === batchSize || drafting >= maxDrafting || (slots <= 0 && unsequencedRoom <= 0)) break;
    const { id, isUnsequenced, soleUse } = record.transaction;
    if (record.drafting !== null) drafting += 1;
    if (tried.has(id) || isExpired(record, nowMs) || elapsedMs < record.notBeforeMs) continue;
    if (record.drafting !== null && record.drafting.doneAtHash === null) continue;
    if (record.forbidden?.atHash === lane.heads.settled?.hash && elapsedMs < (record.forbidden?.untilMs ?? 0)) continue;
    const isDone = record.forbidden !== null && (batches >= maxForbiddenBatches || (batches > 0 && id <= after));
    if (isDone && record.drafting === null) continue;
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
  return { due: candidates, excluded };
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
    const read = open ?? (await lane.read(transaction.id));
    if (read !== null && !isSigned(read.transaction)) loaded.push(read);
  }
  return loaded;
}

/** Returns how much of the queue was forbidden again at this head. */
function forbiddenAgain({ forbiddenAgain: known, heads: { settled }, deps }: LaneContext): LaneContext['forbiddenAgain'] {
  if (known.atHash === settled?.hash && deps.clock.elapsedMs() < known.untilMs) return known;
  return { ...known, atHash: settled?.hash ?? '', untilMs: deps.clock.elapsedMs() + forbiddenForMs, batches: 0 };
}

/**
 * Avoids drafting thousands of transactions that share one obstacle. At each head the lane tries the oldest ones that were forbidden
 * before, then those after the ones of the last head. It tries the others only if one of these can be sent.
 */
function noteForbidden(lane: LaneContext, again: readonly Tracked[], isProgress: boolean): void {
  const now = forbiddenAgain(lane);
  const last = again.at(-1)?.transaction.id ?? '';
  if (isProgress) lane.forbiddenAgain = { ...now, batches: 0, after: '' };
  else if (again.some(({ forbidden }) => forbidden?.atHash === now.atHash))
    lane.forbiddenAgain = { ...now, batches: now.batches + 1, after: now.batches === 0 && now.after > last ? now.after : last };
}

/**
 * Counts the heads at which nodes reject a transaction in the same unknown words, or one node alone refuses it. Enough of them fail the
 * transaction.
 */
function judged({ transactions, heads: { settled }, deps }: LaneContext, { transaction }: OpenTransaction, refusal: Refusal): Refusal {
  const record = transactions.tracked(transaction.id);
  if (record === undefined || settled === null) return refusal;
  if (refusal.refused === 'insufficient_funds' || refusal.refused === 'above_cap') forbid(record, settled, deps.clock.elapsedMs());
  const nowMs = deps.clock.elapsedMs();
  const { sentence } = refusal;
  // The amounts in a doubted refusal change with each block.
  const cause = refusal.isDoubted === true ? refusal.refused : sentence;
  if (refusal.refused !== 'rejected' && refusal.isDoubted !== true) record.rejected = null;
  else if (record.rejected?.cause !== cause) record.rejected = { cause, heads: 1, lastHash: settled.hash, sinceMs: nowMs };
  else if (record.rejected.lastHash !== settled.hash)
    record.rejected = { ...record.rejected, heads: record.rejected.heads + 1, lastHash: settled.hash };
  const isAnswer = record.rejected !== null && record.rejected.heads >= rejection.heads && nowMs - record.rejected.sinceMs >= rejection.ms;
  if (!isAnswer) return refusal;
  return { ...refusal, sentence: refusal.refused === 'rejected' ? `no RPC node accepts it: ${sentence}` : sentence, lasting: true };
}

/** Forgets what was rejected before: only rejections in a row count. */
function forgetRejections({ transactions }: LaneContext, { transaction }: OpenTransaction): void {
  const record = transactions.tracked(transaction.id);
  if (record === undefined) return;
  record.rejected = null;
  forgetRefusals(record);
}

function forbid(record: Tracked, { hash }: Head, elapsedMs: number): void {
  record.forbidden = { atHash: hash, untilMs: elapsedMs + forbiddenForMs };
}

/** Those that the balance pays for in addition to everything in flight, in order. The others wait. */
async function withinFunds(lane: LaneContext, drafted: readonly Drafted[]): Promise<readonly Drafted[]> {
  const funds = await lane.funds.readFree();
  await lane.funds.report(funds.balance);
  const unit = smallestUnits[lane.relayer().networkType];
  const { payable, unpayable } = splitByFunds(drafted, funds.free, ({ draft }) => maxCost(draft));
  for (const { one, cost, free } of unpayable) {
    const sentence = `waiting: insufficient balance: it can cost ${cost} ${unit}, but only ${free} ${unit} are not reserved; will send when the account is funded`;
    const record = lane.transactions.tracked(one.open.transaction.id);
    if (record !== undefined && lane.heads.settled !== null) forbid(record, lane.heads.settled, lane.deps.clock.elapsedMs());
    await holdBack(lane, one.open, { sentence, lasting: false });
  }
  return payable;
}
