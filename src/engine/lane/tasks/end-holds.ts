import { unheld } from '../../../core/transaction/lifecycle.js';
import type { LaneContext } from '../lane-context.js';
import { moveAll } from '../move-all.js';

/**
 * Makes the task that removes from the records of signed transactions that nothing may be signed: since the lane works, that is over.
 * Instances wrote it without the lane, so once is enough.
 */
export function createHoldEnder(lane: LaneContext): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    const signed = [...lane.transactions.slotted(), ...lane.transactions.unsequenced()];
    const held = signed.filter(({ transaction }) => unheld(transaction) !== null);
    await moveAll(
      lane,
      held.map(({ transaction: { id } }) => ({
        id,
        decide({ transaction }) {
          const step = unheld(transaction);
          return step === null ? null : { steps: [step] };
        },
      })),
    );
    isDone = true;
  };
}
