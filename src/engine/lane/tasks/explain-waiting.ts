import { awaitsApproval, isSigned, type Transaction } from '../../../core/records/transaction.js';
import { notSignedYet, waiting } from '../../../core/transaction/lifecycle.js';
import type { LaneContext } from '../lane-context.js';
import type { Tracked } from '../tracked.js';

/** The maximum number of records changed at once. */
const batchSize = 50;

/**
 * Makes the task that writes the obstacle of the whole lane into the records that wait for it, once when it changes. A transaction that
 * waits for a reason of its own, such as its funds, keeps that reason, and one whose draft is under way does not change until that is done.
 * The task walks the queue only at a change, since the queue may be long.
 */
export function createWaitingExplainer(
  lane: LaneContext,
  whyUnsigned: (isUnsequenced: boolean) => string,
): { readonly explain: () => Promise<void>; readonly look: () => void } {
  let explained = '';
  /** Those whose draft was under way at the last look. They are few, since the number of drafts is limited. */
  let unfinished: readonly Tracked[] = [];

  const explain = async (): Promise<void> => {
    const [slotted, unsequenced] = [whyUnsigned(false), whyUnsigned(true)];
    const now = `${slotted}\n${unsequenced}`;
    if (lane.loops.isStopped() || (now === explained && unfinished.length === 0)) return;
    const reasonOf = ({ transaction }: Tracked) => (transaction.isUnsequenced ? unsequenced : slotted);
    const looked = now === explained ? unfinished : [...lane.transactions.waiting()];
    const concerned = looked.filter((one) => isOutdated(one.transaction, reasonOf(one)));
    const outdated = concerned.filter(({ drafting }) => drafting === null);
    unfinished = concerned.filter(({ drafting }) => drafting !== null);
    // Before the first wait, so that a look that a caller requests meanwhile counts.
    explained = now;
    try {
      for (let at = 0; at < outdated.length; at += batchSize) {
        // The store writes them in one commit.
        await Promise.all(outdated.slice(at, at + batchSize).map((one) => rewrite(lane, one.transaction.id, reasonOf(one))));
      }
    } catch (error) {
      explained = '';
      throw error;
    }
  };

  return {
    explain,
    look() {
      explained = '';
    },
  };
}

/** True if the record states an obstacle of the lane that is not the present one. Without an obstacle it is signed next. */
function isOutdated({ statusReason, approval }: Pick<Transaction, 'statusReason' | 'approval'>, reason: string): boolean {
  if (awaitsApproval({ approval })) return false;
  return reason !== notSignedYet && statusReason !== reason && (statusReason === null || statusReason.startsWith(notSignedYet));
}

async function rewrite(lane: LaneContext, id: string, reason: string): Promise<void> {
  await lane.records.move(id, ({ transaction }) =>
    !isSigned(transaction) && isOutdated(transaction, reason) ? { steps: [waiting(transaction, reason)] } : null,
  );
}
