import { submitted } from '../../../core/transaction/lifecycle.js';
import { waitsFor } from '../commit-moves.js';
import type { LaneContext } from '../lane-context.js';
import { moveAll } from '../move-all.js';
import { whyStill } from '../stillness.js';

/**
 * Makes the task that says in the records of broadcast transactions that the network stands still, once when it begins, and removes that
 * when the network moves again. Transactions that wait for a reason of their own keep it.
 */
export function createStillnessExplainer(lane: LaneContext): () => Promise<void> {
  let explained: string | null = null;
  return async () => {
    const reason = whyStill(lane);
    if (reason === explained) return;
    const before = explained;
    explained = reason;
    const nowMs = lane.deps.clock.nowMs();
    const inFlight = [...lane.transactions.inFlight(), ...lane.transactions.unsequenced()];
    await moveAll(
      lane,
      inFlight.map(({ transaction: { id } }) => ({
        id,
        decide({ transaction }) {
          const { status, statusReason, mined } = transaction;
          if (status !== 'submitted' || mined !== null) return null;
          const usual = submitted(transaction, nowMs);
          if (reason === null) return statusReason === before ? { steps: [usual] } : null;
          return statusReason === usual.statusReason || statusReason === before ? waitsFor(transaction, reason) : null;
        },
      })),
    ).catch((error: unknown) => {
      explained = before;
      throw error;
    });
  };
}
