import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import type { Span } from '../../core/ports/telemetry.js';
import { submitted } from '../../core/transaction/lifecycle.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import { waitsFor } from './commit-moves.js';
import { isExpired } from './expire.js';
import type { LaneContext } from './lane-context.js';

/** The maximum number of attempts in one request to a node. */
const batchSize = 50;
/** An attempt that no node accepted is sent again after this time. */
const retryAfterMs = 1_000;

interface Broadcast {
  readonly open: OpenTransaction;
  readonly attempt: Attempt;
  readonly span: Span | null;
}

/**
 * Broadcasts the live attempts that no node has accepted yet: unsequenced ones first, then by nonce, one batch at a time, since nodes accept nonces best
 * in order. "Already known" is success. An answer never fails a transaction: a stored attempt counts as broadcast, and only the chain decides.
 */
export async function broadcast(lane: LaneContext): Promise<void> {
  const recording: Promise<void>[] = [];
  try {
    for (;;) {
      const batch = dueAttempts(lane);
      if (batch.length === 0 || lane.isStopped()) return;
      const nowMs = lane.deps.clock.nowMs();
      // One request can carry only one trace.
      const traced = batch.find(({ span }) => span !== null)?.span ?? null;
      const outcomes = await lane.deps.journal.within(traced, () => lane.chain.broadcastAll(batch.map(({ attempt }) => attempt.raw)));
      for (const [index, one] of batch.entries()) {
        const outcome = outcomes[index] ?? { kind: 'unknown', sentence: 'the RPC node did not answer' };
        note(lane, one.attempt, outcome, nowMs);
        // The next batch does not wait until this is stored.
        recording.push(record(lane, one, outcome, nowMs));
      }
      // Nothing above the lowest nonce can be mined before it: while nodes make that one wait, sending the others again is useless.
      if (outcomes[0]?.kind === 'wait' && batch[0]?.attempt.nonce !== null) lane.broadcastPausedUntilMs = nowMs + retryAfterMs;
    }
  } finally {
    await Promise.all(recording);
  }
}

function dueAttempts(lane: LaneContext): readonly Broadcast[] {
  const nowMs = lane.deps.clock.nowMs();
  if (lane.settled === null || nowMs < lane.broadcastPausedUntilMs) return [];
  const due: Omit<Broadcast, 'span'>[] = [];
  for (const open of lane.transactions.untaken()) {
    const attempt = shownAttempt(open.transaction, open.attempts);
    // What has expired is not wanted any more, also before a self-transfer could replace it.
    if (attempt === null || isExpired(open, nowMs) || nowMs < (lane.transactions.stateOf(attempt)?.notBeforeMs ?? 0)) continue;
    due.push({ open, attempt });
  }
  due.sort((a, b) => ((a.attempt.nonce ?? 0n) < (b.attempt.nonce ?? 0n) ? -1 : 1));
  return due
    .slice(0, batchSize)
    .map((one) => ({ ...one, span: lane.deps.journal.step('transaction broadcast', one.open.transaction, 'client') }));
}

function isTaken({ kind }: BroadcastOutcome): boolean {
  return kind === 'accepted' || kind === 'known';
}

function note(lane: LaneContext, attempt: Attempt, outcome: BroadcastOutcome, nowMs: number): void {
  if (isTaken(outcome)) {
    lane.transactions.noteTaken(attempt, nowMs);
    return;
  }
  const state = lane.transactions.stateOf(attempt);
  if (state === undefined) return;
  state.notBeforeMs = nowMs + retryAfterMs;
  if (outcome.kind === 'underpriced') state.isUnderpriced = true;
  if (outcome.kind === 'wait' && outcome.isHopeless === true) state.rejection = outcome.sentence;
}

async function record(lane: LaneContext, { attempt, span }: Broadcast, outcome: BroadcastOutcome, nowMs: number): Promise<void> {
  const moved = await lane.move(attempt.transactionId, ({ transaction }) => {
    // An answer about an earlier attempt changes nothing.
    if (transaction.liveVersion !== attempt.version || transaction.mined !== null) return null;
    switch (outcome.kind) {
      case 'accepted':
      case 'known': {
        const after = submitted(transaction, nowMs);
        const isNews =
          after.status !== transaction.status || after.statusReason !== transaction.statusReason || transaction.sentAtMs === null;
        return isNews ? { steps: [after] } : null;
      }
      case 'nonce_used':
        // An attempt of ours or of somebody else took the slot: the next head shows which.
        return null;
      case 'underpriced':
      case 'wait':
      case 'unknown':
        return waitsFor(transaction, `waiting: no RPC node has accepted it; retrying: ${outcome.sentence}`);
    }
  });
  // Repeated attempts without news leave no span.
  if (moved !== null || (isTaken(outcome) && attempt.nonce !== null))
    span?.end('sentence' in outcome ? outcome.sentence : null, { outcome: outcome.kind });
}
