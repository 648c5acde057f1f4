import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import type { Span } from '../../core/ports/tracer.js';
import { submitted, waiting } from '../../core/transaction/lifecycle.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';

/** So many go to the node in one request. */
const batchSize = 50;
/** After this long a version that no node took is tried again. */
const retryAfterMs = 1_000;

interface Broadcast {
  readonly open: OpenTransaction;
  readonly attempt: Attempt;
  readonly step: Span | null;
}

/**
 * Broadcasts the live versions that no node has taken yet, what stands alone first, then lowest nonce first, one batch at a time: nodes take nonces best in order. "Already known" is
 * success. An answer never fails a transaction: a stored version counts as out, and only the chain says what became of it.
 */
export async function broadcast(lane: LaneContext): Promise<void> {
  const recording: Promise<void>[] = [];
  try {
    for (;;) {
      const batch = dueVersions(lane);
      if (batch.length === 0 || lane.isStopped()) return;
      const nowMs = lane.deps.clock.nowMs();
      // Nodes are told of one trace, though the request may be for many.
      const first = batch.find(({ step }) => step !== null)?.step ?? null;
      const outcomes = await lane.deps.journal.within(first, () => lane.chain.broadcastAll(batch.map(({ attempt }) => attempt.raw)));
      for (const [index, one] of batch.entries()) {
        const outcome = outcomes[index] ?? { kind: 'unknown', sentence: 'the node did not answer for it' };
        note(lane, one, outcome, nowMs);
        // The next batch need not wait for this to be stored.
        recording.push(record(lane, one, outcome, nowMs));
      }
      // Nothing above the lowest can be mined before it: while nodes make that wait, sending thousands more again and again helps nobody.
      if (outcomes[0]?.kind === 'wait' && batch[0]?.attempt.nonce !== null) lane.broadcastPausedUntilMs = nowMs + retryAfterMs;
    }
  } finally {
    await Promise.all(recording);
  }
}

function dueVersions(lane: LaneContext): readonly Broadcast[] {
  const due: Omit<Broadcast, 'step'>[] = [];
  if (lane.settled === null || lane.deps.clock.nowMs() < lane.broadcastPausedUntilMs) return [];
  const nowMs = lane.deps.clock.nowMs();
  for (const id of lane.untaken) {
    const open = lane.transactions.get(id);
    const attempt = open === undefined ? null : shownAttempt(open.transaction, open.attempts);
    if (open === undefined || attempt === null || nowMs < (lane.notBeforeMs.get(attempt.hash) ?? 0)) continue;
    due.push({ open, attempt });
  }
  due.sort((a, b) => ((a.attempt.nonce ?? 0n) < (b.attempt.nonce ?? 0n) ? -1 : 1));
  return due
    .slice(0, batchSize)
    .map((one) => ({ ...one, step: lane.deps.journal.step('transaction broadcast', one.open.transaction, 'client') }));
}

function note(lane: LaneContext, { attempt }: Broadcast, outcome: BroadcastOutcome, nowMs: number): void {
  if (outcome.kind === 'accepted' || outcome.kind === 'known') {
    lane.noteTaken(attempt);
    lane.notBeforeMs.delete(attempt.hash);
    lane.hopeless.delete(attempt.hash);
  } else if (lane.transactions.get(attempt.transactionId) !== undefined) {
    lane.notBeforeMs.set(attempt.hash, nowMs + retryAfterMs);
    if (outcome.kind === 'underpriced') lane.underpriced.add(attempt.hash);
    if (outcome.kind === 'wait' && outcome.isHopeless === true) lane.hopeless.add(attempt.hash);
  }
}

async function record(lane: LaneContext, { attempt, step }: Broadcast, outcome: BroadcastOutcome, nowMs: number): Promise<void> {
  const moved = await lane.move(attempt.transactionId, ({ transaction }) => {
    // An answer about a superseded version triggers nothing.
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
        // Some version took the slot, ours or another's: the next head tells.
        return null;
      case 'underpriced':
      case 'wait':
      case 'unknown': {
        const reason = `no node takes it yet, it is tried again: ${outcome.sentence}`;
        return transaction.statusReason === reason ? null : { steps: [waiting(transaction, reason)] };
      }
    }
  });
  const isTaken = outcome.kind === 'accepted' || outcome.kind === 'known';
  // It is sent again and again; what is no news is not told.
  if (moved !== null || (isTaken && attempt.nonce !== null))
    step?.end('sentence' in outcome ? outcome.sentence : null, { outcome: outcome.kind });
}
