import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { AttemptOutcome, Head, Unsequenced } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { endedDead, mined, resolved, signed, takenBack, unresolvable, waiting } from '../../core/transaction/lifecycle.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { duplicateOf } from './duplicate.js';
import type { LaneContext } from './lane-context.js';
import { nullIfUnavailable } from './null-if-unavailable.js';
import { minedAt } from './settle-slots.js';

/** Networks drop what they took without a word: what is not in a block is sent again this often. */
const resendAfterMs = 2_000;
/** After this long a transaction that could not be signed anew is tried again. */
const retryAfterMs = 500;

/**
 * Brings transactions that stand alone to what the chain says at a head: mined, taken back, final, or dead. What is dead ends as it was meant to, or, while
 * it is wanted, its content (the one that was queued, if there is one) is signed anew: never before every version that is out is proved dead, so that
 * nothing is paid twice. What may still be mined is sent again; what nobody can tell of any more fails. Throws `NODE_UNAVAILABLE`.
 */
export async function settleUnsequenced(lane: LaneContext, unsequenced: Unsequenced, head: Head): Promise<void> {
  const open = [...lane.transactions.unsequenced()];
  if (open.length === 0) return;
  const asked = open.flatMap(({ attempts }) => attempts.filter(({ hash }) => !lane.dead.has(hash)));
  const outcomes = await unsequenced.outcomes(asked);
  await Promise.all(open.map((one) => settleOne(lane, one, outcomes, head)));
}

async function settleOne(
  lane: LaneContext,
  seen: OpenTransaction,
  outcomes: ReadonlyMap<string, AttemptOutcome>,
  head: Head,
): Promise<void> {
  let whyDead = 'what was sent can no longer be mined';
  let isOpen = false;
  let isLost = false;
  for (const attempt of seen.attempts) {
    const outcome = outcomes.get(attempt.hash);
    if (outcome?.kind === 'landed') return land(lane, seen, attempt, outcome);
    if (outcome?.kind === 'open') isOpen = true;
    if (outcome?.kind === 'unknown') isLost = true;
    if (outcome?.kind !== 'dead') continue;
    lane.dead.add(attempt.hash);
    whyDead = outcome.sentence;
  }
  if (seen.transaction.mined !== null) {
    await lane.move(seen.transaction.id, ({ transaction }) => (transaction.mined === null ? null : { steps: [takenBack(transaction)] }));
  } else if (isOpen) {
    resend(lane, seen);
  } else if (isLost) {
    await lane.move(seen.transaction.id, ({ transaction }) => ({ steps: [unresolvable(transaction)] }));
  } else if (seen.attempts.every(({ hash }) => lane.dead.has(hash))) {
    await bury(lane, seen, whyDead, head);
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
  const takenAtMs = live === undefined ? undefined : lane.taken.get(live.hash);
  if (takenAtMs !== undefined && lane.deps.clock.nowMs() - takenAtMs >= resendAfterMs) lane.forgetTaken(open);
}

/** None of its versions can be mined any more. */
async function bury(lane: LaneContext, seen: OpenTransaction, whyDead: string, head: Head): Promise<void> {
  const { id, intent, revision, queued, content, validUntilMs } = seen.transaction;
  if (intent !== 'content') {
    await lane.move(id, ({ transaction }) => (transaction.intent === intent ? { steps: [endedDead(transaction, whyDead)] } : null));
    return;
  }
  const nowMs = lane.deps.clock.nowMs();
  if (lane.isStopped() || nowMs < (lane.notBeforeMs.get(id) ?? 0) || (validUntilMs !== null && validUntilMs <= nowMs)) return;
  const request = { relayer: lane.relayer(), content: queued ?? content, outbids: [], validUntilMs };
  const draft = await lane.chain.draft(request).catch(nullIfUnavailable);
  if (draft === null) {
    lane.notBeforeMs.set(id, nowMs + retryAfterMs);
    return;
  }
  const isPayable = isRefusal(draft) || greatestCost(draft) <= (await lane.chain.balanceOf(lane.id.account));
  const after = await lane.move(id, async (current) => {
    const { transaction } = current;
    // It was replaced or cancelled meanwhile: the next head looks again.
    if (transaction.revision !== revision) return null;
    if (isRefusal(draft) && draft.lasting)
      return { steps: [endedDead(transaction, `${whyDead}, and it cannot be sent again: ${draft.sentence}`)] };
    const sentence = isRefusal(draft) ? draft.sentence : isPayable ? null : 'the account cannot pay it any more';
    if (isRefusal(draft) || sentence !== null)
      return sentence === null || transaction.statusReason === sentence ? null : { steps: [waiting(transaction, sentence)] };
    const newAttempt = await signAttempt(lane.deps, lane.relayer(), current, draft, null, 'content');
    const duplicate = await duplicateOf(lane, newAttempt, []);
    if (duplicate !== null) return transaction.statusReason === duplicate ? null : { steps: [waiting(transaction, duplicate)] };
    const wanted = { content: queued ?? content, validUntilMs };
    return { steps: [signed(transaction, newAttempt, wanted)], newAttempt, tell: queued !== null };
  });
  if (after?.attempts.length === seen.attempts.length || after === null) lane.notBeforeMs.set(id, nowMs + retryAfterMs);
  else lane.log.debug({ transaction: id, head: head.number }, 'signed anew: what was sent before can no longer be mined');
}
