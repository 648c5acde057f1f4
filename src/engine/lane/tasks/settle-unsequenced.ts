import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import { highestCost } from '../../../core/fees/funds.js';
import { maxCost } from '../../../core/fees/price.js';
import { type Draft, failureOf, isRefusal, type Refusal } from '../../../core/ports/chain/drafts.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { AttemptOutcome } from '../../../core/ports/chain/outcomes.js';
import type { Unsequenced } from '../../../core/ports/chain/slots.js';
import type { Decide } from '../../../core/ports/lanes.js';
import { isActive, type RelayerPolicies } from '../../../core/records/relayer.js';
import { type Attempt, approvalsOf, type OpenTransaction, type Transaction } from '../../../core/records/transaction.js';
import { endedDead, failed, mined, reorged, resolved, signed, unresolvable } from '../../../core/transaction/lifecycle.js';
import { signAttempt } from '../../../core/transaction/sign-attempt.js';
import { isOver, lasted, seenAt } from '../../../core/work/patience.js';
import { isInBlockOf, mayBeNewer, minedAt } from '../block-view.js';
import { duplicateOf, receiptsDiffer, waitingReason, waitsFor } from '../commit-moves.js';
import { followsOthers, undecided } from '../draft-in-time.js';
import { heldBackBy } from '../due-attempts.js';
import { splitByFunds } from '../funds.js';
import { isExpired, latestMs } from '../is-expired.js';
import type { LaneContext } from '../lane-context.js';
import { signerAwayError } from '../signer-away.js';
import { forgetRefusals, noteRefusal, type Tracked } from '../tracked.js';

const expiryProvedOnce =
  'waiting: its attempts have expired, as the only RPC node shows; goes on when the node shows that again some minutes later';
const expiryDoubted = 'waiting: its attempts should have expired, but no two RPC nodes agree on that; goes on when they do';

/** Networks drop accepted transactions without notice: the lane rebroadcasts one that is in no block after this time. */
const resendAfterMs = 2_000;
/** The maximum number of transactions signed again per head. */
const batchSize = 50;

/**
 * Brings unsequenced transactions to the state that the chain shows at a head: mined, back from a reorg, final, or dead. A dead one ends as
 * intended; if it is still wanted, its content (or the queued replacement) is signed again, and never before every earlier attempt is
 * proved dead, so that nothing is paid twice. An attempt that may still be mined is rebroadcast; a transaction whose outcome no node can
 * know any more fails. `signDeadAgain` is a task of its own. Throws `NODE_UNAVAILABLE`.
 */
export async function settleUnsequenced(
  lane: LaneContext,
  unsequenced: Unsequenced,
  head: Head,
  signDeadAgain: (dead: readonly Dead[], head: Head) => Promise<void>,
): Promise<void> {
  const open = [...lane.transactions.unsequenced()];
  const dead: Dead[] = [];
  if (open.length > 0) {
    const asked = open.flatMap(({ attempts }) => attempts.filter((attempt) => lane.transactions.stateOf(attempt)?.isDead === false));
    const outcomes = await unsequenced.outcomes(asked);
    await Promise.all(open.map((one) => settleOne(lane, head, one, outcomes, dead)));
  }
  // What follows asks nodes too: without their answer, the other transactions still go on.
  if (lane.chain.sequence === null) lane.heads.settle(head);
  if (dead.length > 0) await signDeadAgain(dead, head);
}

/** A transaction that is still wanted and whose attempts are all dead. */
export interface Dead {
  readonly open: OpenTransaction;
  readonly why: string;
}

interface DraftedAgain extends Dead {
  readonly draft: Draft;
  /** It was drafted under these. */
  readonly policies: RelayerPolicies;
}

async function settleOne(
  lane: LaneContext,
  head: Head,
  seen: OpenTransaction,
  outcomes: ReadonlyMap<string, AttemptOutcome>,
  dead: Dead[],
): Promise<void> {
  const record = lane.transactions.tracked(seen.transaction.id);
  let whyDead = 'its attempts can no longer be mined';
  let isOpen = false;
  let isDoubted = false;
  let isProvedOnce = false;
  let isUnknown = false;
  for (const attempt of seen.attempts) {
    const outcome = outcomes.get(attempt.hash);
    if (outcome?.kind === 'landed') return land(lane, seen, attempt, outcome);
    if (outcome?.kind === 'open') isOpen = true;
    if (outcome?.kind === 'open' && outcome.isDoubted === true) isDoubted = true;
    if (outcome?.kind === 'open' && outcome.isProvedOnce === true) isProvedOnce = true;
    if (outcome?.kind === 'open' && record !== undefined) record.lost = null;
    if (outcome?.kind === 'unknown') isUnknown = true;
    if (outcome?.kind !== 'dead') continue;
    const state = lane.transactions.stateOf(attempt);
    if (state !== undefined) state.isDead = true;
    whyDead = outcome.sentence;
  }
  if (seen.transaction.mined !== null) {
    await lane.records.move(seen.transaction.id, ({ transaction }) =>
      isInBlockOf(transaction, seen.transaction) ? { steps: [reorged(transaction)] } : null,
    );
  } else if (isOpen) {
    if (await endRefused(lane, seen)) return;
    const why = isProvedOnce ? expiryProvedOnce : isDoubted ? expiryDoubted : null;
    // No node mines what has expired, and the answer to another broadcast would hide the reason.
    if (why === null) resend(lane, seen);
    else await lane.records.move(seen.transaction.id, ({ transaction }) => waitsFor(transaction, why));
  } else if (isUnknown) {
    await giveUp(lane, head, seen);
  } else if (seen.attempts.every((attempt) => lane.transactions.stateOf(attempt)?.isDead === true)) {
    const { id, intent } = seen.transaction;
    if (intent === 'content') dead.push({ open: seen, why: whyDead });
    else await lane.records.move(id, ({ transaction }) => (transaction.intent === intent ? { steps: [endedDead(transaction)] } : null));
  }
}

/** The lane accepts an unknown outcome after this many heads and this long: a node that was just started gets its ledgers back. */
const unknownPatience = { heads: 19, ms: 600_000 };

async function giveUp(lane: LaneContext, head: Head, seen: OpenTransaction): Promise<void> {
  const record = lane.transactions.tracked(seen.transaction.id);
  if (record === undefined) return;
  const nowMs = lane.deps.clock.elapsedMs();
  record.lost = seenAt(record.lost, head, nowMs);
  if (!isOver(unknownPatience, lasted(record.lost, nowMs))) return;
  await lane.records.move(seen.transaction.id, (current) =>
    isAsAsked(current, seen) ? { steps: [unresolvable(current.transaction)] } : null,
  );
}

/**
 * True if it still has only the attempts that the lane asked nodes about, in no block: an attempt that was signed meanwhile may be mined.
 */
function isAsAsked({ transaction, attempts }: OpenTransaction, seen: OpenTransaction): boolean {
  return transaction.mined === null && attempts.length === seen.attempts.length;
}

/** An attempt that every node calls invalid, and none ever accepted, is given up after this number of answers and this time. */
const invalidPatience = { answers: 3, ms: 60_000 };

/**
 * Fails a transaction that could be mined at any time, but that no node will ever accept. Others end when their attempts are dead: a node
 * that lies may have passed one on. Returns false if it may still be accepted.
 */
async function endRefused(lane: LaneContext, seen: OpenTransaction): Promise<boolean> {
  const { transaction, attempts } = seen;
  const { id, sentAtMs } = transaction;
  const isEndless = attempts.some((attempt) => lane.chain.unsequenced?.whyEndless(attempt) != null);
  if (sentAtMs !== null || !isEndless) return false;
  const nowMs = lane.deps.clock.elapsedMs();
  const states = attempts.map((attempt) => lane.transactions.stateOf(attempt));
  const isRefused = states.every((state) => {
    if (state?.obstacle?.because !== 'invalid' || state.obstacle.answers < invalidPatience.answers) return false;
    return nowMs - state.obstacle.sinceMs >= invalidPatience.ms;
  });
  const sentence = states.at(-1)?.obstacle?.sentence;
  if (!isRefused || sentence === undefined) return false;
  await lane.records.move(id, (current) =>
    current.transaction.sentAtMs === null && isAsAsked(current, seen)
      ? { steps: [failed(current.transaction, 'never_accepted', `no RPC node accepted it: ${sentence}`)] }
      : null,
  );
  return true;
}

async function land(
  lane: LaneContext,
  seen: OpenTransaction,
  attempt: Attempt,
  outcome: Extract<AttemptOutcome, { kind: 'landed' }>,
): Promise<void> {
  const at = minedAt(attempt, outcome.receipt);
  const isShownBy = ({ mined: shown }: Transaction): boolean => shown?.blockHash === at.blockHash && shown.version === at.version;
  const isDisputed = outcome.isDisputed === true;
  if (isShownBy(seen.transaction) && !outcome.isFinal && !isDisputed) return;
  const whyFailed = at.succeeded || !outcome.isFinal ? null : await lane.chain.whyFailed(outcome.receipt, lane.relayer());
  await lane.records.move(seen.transaction.id, (current) => {
    const { transaction } = current;
    if (mayBeNewer(attempt, outcome.receipt, seen, current)) return null;
    const nowMs = lane.deps.clock.nowMs();
    // The transaction may have changed since the lane asked nodes: another answer may have removed its block.
    if (isShownBy(transaction) && !outcome.isFinal) return isDisputed ? waitsFor(transaction, receiptsDiffer(at.blockNumber)) : null;
    const { mined: before } = transaction;
    // A final block also shows the fee that was paid, and one node alone may have shown another result before.
    const isSame = isShownBy(transaction) && before?.succeeded === at.succeeded && before.facts?.feePaid === at.facts?.feePaid;
    const step = isSame ? transaction : mined(transaction, at, nowMs);
    if (!outcome.isFinal) return { steps: [step] };
    const last = resolved(step, 'content', whyFailed, nowMs);
    return { steps: isSame ? [last] : [step, last] };
  });
}

function resend(lane: LaneContext, open: OpenTransaction): void {
  const live = open.attempts.at(-1);
  if (live === undefined || heldBackBy(lane, live) !== null) return;
  const takenAtMs = lane.transactions.stateOf(live)?.takenAtMs;
  if (takenAtMs != null && lane.deps.clock.elapsedMs() - takenAtMs >= resendAfterMs) lane.transactions.forgetTaken(open);
}

/**
 * Signs dead transactions again, oldest first, as far as the balance pays for them. One read of the balance serves all of them. A
 * transaction that the balance does not cover is not drafted, so it costs no call; the next head looks again.
 */
export async function signAgain(lane: LaneContext, dead: readonly Dead[], head: Head): Promise<void> {
  const { clock } = lane.deps;
  const due = dead
    .filter(({ open }) => !isExpired(open, latestMs(lane)) && clock.elapsedMs() >= (recordOf(lane, open)?.notBeforeMs ?? 0))
    .toSorted((a, b) => (a.open.transaction.id < b.open.transaction.id ? -1 : 1));
  if (due.length === 0 || lane.loops.isStopped() || !isActive(lane.relayer())) return;
  const ofDead = dead.reduce((sum, { open }) => sum + highestCost(open), 0n);
  const { free } = await lane.funds.readFree(ofDead, ofDead);
  // The price may have fallen since the earlier attempts: the oldest one is drafted regardless of their cost.
  const isPriced = (one: Dead) => one !== due[0] && one.open.transaction.queued === null;
  const candidates = await withinFunds(lane, due, free, (one) => (isPriced(one) ? highestCost(one.open) : 0n));
  const drafts = await Promise.all(candidates.slice(0, batchSize).map((one) => draftAgain(lane, one)));
  const drafted = drafts.flatMap((one) => one ?? []);
  const payable = await withinFunds(lane, drafted, free, ({ draft }) => maxCost(draft));
  // All at once, since a hosted key takes a while for each.
  const signatures = await Promise.allSettled(payable.map(({ open, draft }) => signOnce(lane, open, draft)));
  for (const one of drafted) if (!payable.includes(one)) noteRefused(lane, one.open);
  for (const [index, one] of payable.entries()) {
    const signature = signatures[index];
    if (signature?.status === 'fulfilled') {
      await store(lane, one, signature.value, head);
      continue;
    }
    const away = signerAwayError(signature?.reason);
    // A signer that is away must not stop settling.
    if (away === null) throw signature?.reason;
    noteRefused(lane, one.open);
    await wait(lane, one, waitingReason(away.message));
  }
}

function signOnce(lane: LaneContext, open: OpenTransaction, draft: Draft): Promise<Attempt> {
  return signAttempt(lane.deps, lane.relayer(), open, { draft, nonce: null, purpose: 'content' });
}

/** Returns the transactions that these funds pay for, in order. The others wait. */
async function withinFunds<T extends Dead>(lane: LaneContext, all: readonly T[], funds: bigint, costOf: (one: T) => bigint) {
  const { payable, unpayable } = splitByFunds(all, funds, costOf);
  for (const { one } of unpayable) await wait(lane, one, 'waiting: insufficient balance; will be signed again when the account is funded');
  return payable;
}

/** Null: it cannot be sent now. */
async function draftAgain(lane: LaneContext, dead: Dead): Promise<DraftedAgain | null> {
  const { transaction } = dead.open;
  const mayDepend = followsOthers(lane, transaction);
  const wanted = wantedOf(transaction);
  const relayer = lane.relayer();
  const { content, validUntilMs } = wanted;
  const hasWaited = transaction.queued === null;
  const request = { relayer, content, validUntilMs, outbids: [], approvals: approvalsOf(wanted), hasWaited };
  const drafted = await lane.chain.draft(request).catch(nullIfUnavailable);
  const draft = drafted !== null && mayDepend ? undecided(drafted) : drafted;
  if (draft !== null && !isRefusal(draft)) return { ...dead, draft, policies: relayer.policies };
  noteRefused(lane, dead.open);
  if (draft?.refused === 'unusable') lane.doubts.suspectUnusable();
  if (draft?.lasting === true) await fail(lane, dead, draft);
  else if (draft !== null) await wait(lane, dead, waitingReason(draft.sentence));
  return null;
}

/** Stores a new attempt, unless the transaction may no longer be sent: a signature can take seconds. */
async function store(lane: LaneContext, { open, policies }: DraftedAgain, newAttempt: Attempt, head: Head): Promise<void> {
  const { id } = open.transaction;
  const after = await moveUnchanged(lane, open, async (current) => {
    const { transaction } = current;
    if (isExpired(current, latestMs(lane)) || !isActive(lane.relayer()) || policies !== lane.relayer().policies) return null;
    const duplicate = await duplicateOf(lane, newAttempt);
    if (duplicate !== null) return waitsFor(transaction, duplicate);
    return { steps: [signed(transaction, newAttempt, wantedOf(transaction))], newAttempt, writesEvent: transaction.queued !== null };
  });
  if (after === null || after.attempts.length === open.attempts.length) {
    noteRefused(lane, open);
    return;
  }
  const record = recordOf(lane, open);
  if (record !== undefined) forgetRefusals(record);
  lane.deps.log.debug({ transaction: id, head: head.number }, 'signed again: the earlier attempts can no longer be mined');
}

/** A queued replacement needs no approval: a transaction that is signed gets no other. */
function wantedOf({ queued, content, validUntilMs, approval }: Transaction) {
  return { content: queued ?? content, validUntilMs, approval: queued === null ? approval : null };
}

function recordOf({ transactions }: LaneContext, { transaction }: OpenTransaction): Tracked | undefined {
  return transactions.tracked(transaction.id);
}

function noteRefused(lane: LaneContext, open: OpenTransaction): void {
  const record = recordOf(lane, open);
  if (record !== undefined) noteRefusal(record, lane.deps.clock.elapsedMs());
}

async function wait(lane: LaneContext, { open }: Dead, reason: string): Promise<void> {
  await moveUnchanged(lane, open, async ({ transaction }) => waitsFor(transaction, reason));
}

async function fail(lane: LaneContext, { open, why }: Dead, { refused, sentence }: Refusal): Promise<void> {
  const reason = `${why}, and it cannot be sent again: ${sentence}`;
  await moveUnchanged(lane, open, async ({ transaction }) => ({ steps: [failed(transaction, failureOf[refused], reason)] }));
}

/** Changes a transaction unless it was replaced or canceled meanwhile: the next head looks again. */
function moveUnchanged(lane: LaneContext, { transaction: seen }: OpenTransaction, decide: Decide): Promise<OpenTransaction | null> {
  return lane.records.move(seen.id, async (current) => (current.transaction.revision === seen.revision ? decide(current) : null));
}
