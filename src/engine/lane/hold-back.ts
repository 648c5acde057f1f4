import { failureOf, type Refusal } from '../../core/ports/chain/drafts.js';
import type { OpenTransaction } from '../../core/records/transaction.js';
import { failed } from '../../core/transaction/lifecycle.js';
import { waitingReason, waitsFor } from './commit-moves.js';
import { followsOthers } from './draft-in-time.js';
import type { LaneContext } from './lane-context.js';
import { noteRefusal } from './tracked.js';

/** A transaction that could not be prepared is tried again after this time. */
const retryAfterMs = 500;

/** What passes with the market: later transactions may depend on one that waits for it. Funds may never come. */
const passing: ReadonlySet<Refusal['refused']> = new Set(['reverts', 'above_cap'] as const);

/** Why a transaction cannot be signed now. */
export type DraftObstacle = Refusal | { readonly sentence: string; readonly lasting: false };

/** Leaves a transaction unsigned: it fails if the obstacle lasts; if not, the lane tries it again later. */
export async function holdBack(
  lane: LaneContext,
  { transaction: seen }: OpenTransaction,
  obstacle: DraftObstacle,
  pauseMs = retryAfterMs,
): Promise<void> {
  const record = lane.transactions.tracked(seen.id);
  const nowMs = lane.deps.clock.elapsedMs();
  // Many can wait for one earlier transaction, each with several calls per try.
  const isUndecided = 'refused' in obstacle && obstacle.refused === 'reverts' && followsOthers(lane, seen);
  if ('refused' in obstacle && obstacle.refused === 'unusable') lane.doubts.suspectUnusable();
  if (record !== undefined) record.isHeldBack = 'refused' in obstacle && !passing.has(obstacle.refused);
  if (record !== undefined && isUndecided) noteRefusal(record, nowMs);
  else if (record !== undefined) record.notBeforeMs = nowMs + pauseMs;
  await lane.records.move(seen.id, ({ transaction }) => {
    if (transaction.revision !== seen.revision) return null;
    if (obstacle.lasting) return { steps: [failed(transaction, failureOf[obstacle.refused], obstacle.sentence)] };
    return waitsFor(transaction, waitingReason(obstacle.sentence));
  });
}
