import { isNotIncreasedReason } from '../../../core/fees/escalation.js';
import type { BroadcastOutcome } from '../../../core/ports/chain/outcomes.js';
import type { Attempt } from '../../../core/records/transaction.js';
import { submitted } from '../../../core/transaction/lifecycle.js';
import { waitsFor } from '../commit-moves.js';
import { type Broadcast, dueAttempts, heldBackBy, keptAttempt, retryAfterMs } from '../due-attempts.js';
import { isExpired, latestMs } from '../is-expired.js';
import type { LaneContext } from '../lane-context.js';
import { type Decision, moveAll } from '../move-all.js';
import { whyStill } from '../stillness.js';
import { isUnpooled } from '../unpooled.js';

const unanswered: BroadcastOutcome = { kind: 'unknown', sentence: 'the RPC node did not answer' };

interface Answered extends Broadcast {
  readonly outcome: BroadcastOutcome;
}

/**
 * Makes the task that broadcasts the live attempts that no node has accepted yet: unsequenced ones first, then by nonce, one batch at a
 * time, since nodes accept nonces best in order. While nodes refuse a live attempt, the lane broadcasts an earlier one with the same
 * content. "Already known" is success. An answer never fails a transaction: a stored attempt counts as broadcast, and only the chain
 * decides.
 */
export function createBroadcaster(lane: LaneContext): () => Promise<void> {
  /** No broadcast before this `elapsedMs`: nodes hold the lowest attempt back. */
  let pausedUntilMs = 0;

  return async () => {
    const recording: Promise<void>[] = [];
    await reportHeldBack(lane);
    try {
      for (;;) {
        const elapsedMs = lane.deps.clock.elapsedMs();
        const batch = elapsedMs < pausedUntilMs ? [] : dueAttempts(lane);
        if (batch.length === 0 || lane.loops.isStopped()) return;
        // One request can carry only one trace.
        const traced = batch.find(({ span }) => span !== null)?.span ?? null;
        // An endpoint may take so long to fail that content expires before the next one is asked.
        const isStillDue = (index: number): boolean => batch[index] !== undefined && !isExpired(batch[index].open, latestMs(lane));
        const raws = batch.map(({ attempt }) => attempt.raw);
        const outcomes = await lane.deps.journal.within(traced, () => lane.chain.broadcastAll(raws, isStillDue));
        const answered = batch.map((one, index) => ({ ...one, outcome: outcomes[index] ?? unanswered }));
        for (const { attempt, outcome } of answered) note(lane, attempt, outcome, elapsedMs);
        // The next batch does not wait until this is stored.
        const recorded = recordAll(lane, answered);
        // It is awaited after the last batch, and a failure that nothing handles until then would end the process.
        recorded.catch(() => undefined);
        recording.push(recorded);
        // Nothing above the lowest nonce can be mined before it: while nodes make that one wait, sending the others again is useless.
        if (outcomes[0]?.kind === 'wait' && batch[0]?.attempt.nonce !== null) pausedUntilMs = elapsedMs + retryAfterMs;
      }
    } finally {
      await Promise.all(recording);
    }
  };
}

/** Says in the records of attempts that are held back what they wait for. */
async function reportHeldBack(lane: LaneContext): Promise<void> {
  for (const { transaction, attempts } of [...lane.transactions.untaken()]) {
    const live = attempts.at(-1);
    const own = live === undefined ? null : heldBackBy(lane, live);
    if (live === undefined || own === null) continue;
    const reason = `waiting: RPC nodes that have this transaction reject transaction ${own.transaction.id} of the relayer; will send after that one is mined`;
    if (transaction.statusReason !== reason)
      await lane.records.move(transaction.id, (current) =>
        current.transaction.liveVersion === live.version && current.transaction.mined === null
          ? waitsFor(current.transaction, reason)
          : null,
      );
  }
}

function nodeHasIt({ kind }: BroadcastOutcome): boolean {
  return kind === 'accepted' || kind === 'known';
}

function note(lane: LaneContext, attempt: Attempt, outcome: BroadcastOutcome, elapsedMs: number): void {
  const state = lane.transactions.stateOf(attempt);
  if (state === undefined) return;
  state.isKnownAgain = outcome.kind === 'known';
  if (nodeHasIt(outcome)) {
    lane.transactions.noteTaken(attempt, elapsedMs);
    return;
  }
  const because = outcome.kind === 'wait' || outcome.kind === 'unknown' ? outcome.because : undefined;
  // A node that does not answer refuses nothing.
  if (outcome.kind !== 'unknown' || because !== undefined) {
    state.refusals += 1;
    const { answers, sinceMs } =
      state.obstacle !== null && state.obstacle.because === because ? state.obstacle : { answers: 0, sinceMs: elapsedMs };
    state.obstacle =
      because === undefined || !('sentence' in outcome) ? null : { because, sentence: outcome.sentence, answers: answers + 1, sinceMs };
  }
  state.lacksFunds = outcome.kind === 'wait' && outcome.lacks === 'funds';
  if (outcome.kind === 'wait' && outcome.lacks === 'capacity') lane.inFlightLimit.noteCrowded();
  state.failedAtMs = elapsedMs;
  if (outcome.kind === 'underpriced') state.isUnderpriced = true;
}

function refusedReason(kept: Attempt | null, { transactions }: LaneContext, sentence: string): string {
  return kept === null || transactions.stateOf(kept)?.takenAtMs == null
    ? `waiting: no RPC node has accepted it; retrying: ${sentence}`
    : `waiting: attempt ${kept.version} stays live, since no RPC node has accepted the newest one: ${sentence}`;
}

async function recordAll(lane: LaneContext, answered: readonly Answered[]): Promise<void> {
  const nowMs = lane.deps.clock.nowMs();
  const moved = await moveAll(
    lane,
    answered.map((one) => decisionOn(lane, one, nowMs)),
  );
  for (const [index, { attempt, span, outcome }] of answered.entries()) {
    // A repeated broadcast with the same outcome leaves no span.
    if (moved[index] != null || (nodeHasIt(outcome) && attempt.nonce !== null))
      span?.end('sentence' in outcome ? outcome.sentence : null, { outcome: outcome.kind });
  }
}

function decisionOn(lane: LaneContext, { attempt, outcome }: Answered, nowMs: number): Decision {
  const decide: Decision['decide'] = (current) => {
    const { transaction } = current;
    // An answer about an earlier attempt changes nothing.
    if (transaction.liveVersion !== attempt.version || transaction.mined !== null) return null;
    switch (outcome.kind) {
      case 'accepted':
      case 'known': {
        const after = submitted(transaction, nowMs);
        // A hash proves nothing while nodes are known to answer with a hash without pooling the attempt.
        if (isUnpooled(transaction)) return null;
        const isNews =
          after.status !== transaction.status || after.statusReason !== transaction.statusReason || transaction.sentAtMs === null;
        // That a node still has it changes neither why its fee is not increased, nor that the network stands still.
        const isOwnReason = isNotIncreasedReason(transaction.statusReason) || transaction.statusReason === whyStill(lane);
        const keepsReason = transaction.status === 'submitted' && isOwnReason;
        return isNews && !keepsReason ? { steps: [after] } : null;
      }
      case 'nonce_used':
        // An attempt of ours or a foreign transaction used the slot. The next head shows which.
        return null;
      case 'underpriced':
      case 'wait':
      case 'unknown':
        return waitsFor(transaction, refusedReason(keptAttempt(lane, current, attempt), lane, outcome.sentence));
    }
  };
  return { id: attempt.transactionId, decide };
}
