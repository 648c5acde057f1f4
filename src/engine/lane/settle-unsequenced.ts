import { maxCost } from '../../core/fees/price.js';
import { type AttemptOutcome, failureOf, type Head, isRefusal, type Unsequenced } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { endedDead, failed, mined, reorged, resolved, signed, unresolvable } from '../../core/transaction/lifecycle.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { duplicateOf, waitingReason, waitsFor } from './commit-moves.js';
import { isExpired } from './expire.js';
import { type LaneContext, nullIfUnavailable } from './lane-context.js';
import { minedAt } from './settle-slots.js';

/** Networks drop what they accepted without notice: what is in no block is sent again after this time. */
const resendAfterMs = 2_000;
/** A transaction that could not be signed again is tried again after this time. */
const retryAfterMs = 500;

/**
 * Brings unsequenced transactions to the state that the chain shows at a head: mined, back from a reorg, final, or dead. A dead one ends as intended;
 * if it is still wanted, its content (or the queued replacement) is signed again, and never before every earlier attempt is proved dead, so that nothing
 * is paid twice. What may still be mined is sent again; a transaction whose outcome no node can know any more fails. Throws `NODE_UNAVAILABLE`.
 */
export async function settleUnsequenced(lane: LaneContext, unsequenced: Unsequenced, head: Head): Promise<void> {
  const open = [...lane.transactions.unsequenced()];
  if (open.length > 0) {
    const asked = open.flatMap(({ attempts }) => attempts.filter((attempt) => lane.transactions.stateOf(attempt)?.isDead === false));
    const outcomes = await unsequenced.outcomes(asked);
    await Promise.all(open.map((one) => settleOne(lane, one, outcomes, head)));
  }
  if (lane.chain.sequence === null) lane.settled = head;
}

async function settleOne(
  lane: LaneContext,
  seen: OpenTransaction,
  outcomes: ReadonlyMap<string, AttemptOutcome>,
  head: Head,
): Promise<void> {
  let whyDead = 'its attempts can no longer be mined';
  let isOpen = false;
  let isUnknown = false;
  for (const attempt of seen.attempts) {
    const outcome = outcomes.get(attempt.hash);
    if (outcome?.kind === 'landed') return land(lane, seen, attempt, outcome);
    if (outcome?.kind === 'open') isOpen = true;
    if (outcome?.kind === 'unknown') isUnknown = true;
    if (outcome?.kind !== 'dead') continue;
    const state = lane.transactions.stateOf(attempt);
    if (state !== undefined) state.isDead = true;
    whyDead = outcome.sentence;
  }
  if (seen.transaction.mined !== null) {
    await lane.move(seen.transaction.id, ({ transaction }) => (transaction.mined === null ? null : { steps: [reorged(transaction)] }));
  } else if (isOpen) {
    resend(lane, seen);
  } else if (isUnknown) {
    await lane.move(seen.transaction.id, ({ transaction }) => ({ steps: [unresolvable(transaction)] }));
  } else if (seen.attempts.every((attempt) => lane.transactions.stateOf(attempt)?.isDead === true)) {
    await endOrSignAgain(lane, seen, whyDead, head);
  }
}

async function land(
  lane: LaneContext,
  seen: OpenTransaction,
  attempt: Attempt,
  outcome: Extract<AttemptOutcome, { kind: 'landed' }>,
): Promise<void> {
  const at = minedAt(attempt, outcome.receipt);
  const isNews = seen.transaction.mined?.blockHash !== at.blockHash || seen.transaction.mined.version !== at.version;
  if (!isNews && !outcome.isFinal) return;
  const whyFailed = at.succeeded || !outcome.isFinal ? null : await lane.chain.whyFailed(outcome.receipt, lane.relayer());
  await lane.move(seen.transaction.id, ({ transaction }) => {
    const nowMs = lane.deps.clock.nowMs();
    const step = mined(transaction, at, nowMs);
    if (!outcome.isFinal) return { steps: [step] };
    return isNews
      ? { steps: [step, resolved(step, 'content', whyFailed, nowMs)] }
      : { steps: [resolved(transaction, 'content', whyFailed, nowMs)] };
  });
}

function resend(lane: LaneContext, open: OpenTransaction): void {
  const live = open.attempts.at(-1);
  const takenAtMs = live && lane.transactions.stateOf(live)?.takenAtMs;
  if (takenAtMs != null && lane.deps.clock.elapsedMs() - takenAtMs >= resendAfterMs) lane.transactions.forgetTaken(open);
}

/** All of its attempts are dead. */
async function endOrSignAgain(lane: LaneContext, seen: OpenTransaction, whyDead: string, head: Head): Promise<void> {
  const { id, intent, revision, queued, content, validUntilMs } = seen.transaction;
  if (intent !== 'content') {
    await lane.move(id, ({ transaction }) => (transaction.intent === intent ? { steps: [endedDead(transaction)] } : null));
    return;
  }
  const { clock } = lane.deps;
  const record = lane.transactions.tracked(id);
  if (record === undefined || lane.isStopped() || clock.elapsedMs() < record.notBeforeMs || isExpired(seen, clock.nowMs())) return;
  record.notBeforeMs = clock.elapsedMs() + retryAfterMs;
  const wanted = { content: queued ?? content, validUntilMs };
  const draft = await lane.chain.draft({ relayer: lane.relayer(), ...wanted, outbids: [] }).catch(nullIfUnavailable);
  if (draft === null) return;
  const isPayable = isRefusal(draft) || maxCost(draft) <= (await lane.chain.balanceOf(lane.id.account));
  const after = await lane.move(id, async (current) => {
    const { transaction } = current;
    // It was replaced or canceled meanwhile: the next head looks again.
    if (transaction.revision !== revision) return null;
    if (isRefusal(draft))
      return draft.lasting
        ? { steps: [failed(transaction, failureOf[draft.refused], `${whyDead}, and it cannot be sent again: ${draft.sentence}`)] }
        : waitsFor(transaction, waitingReason(draft.sentence));
    if (!isPayable) return waitsFor(transaction, 'waiting: insufficient balance; will be signed again when the account is funded');
    const newAttempt = await signAttempt(lane.deps, lane.relayer(), current, { draft, nonce: null, purpose: 'content' });
    const duplicate = await duplicateOf(lane, newAttempt);
    if (duplicate !== null) return waitsFor(transaction, duplicate);
    return { steps: [signed(transaction, newAttempt, wanted)], newAttempt, tell: queued !== null };
  });
  if (after === null || after.attempts.length === seen.attempts.length) return;
  record.notBeforeMs = 0;
  lane.log.debug({ transaction: id, head: head.number }, 'signed again: the earlier attempts can no longer be mined');
}
