import { maxInFlightOf, type Relayer } from '../../core/records/relayer.js';
import { isSigned, type Transaction } from '../../core/records/transaction.js';
import { notSignedYet, waiting } from '../../core/transaction/lifecycle.js';
import type { LaneContext } from './lane-context.js';
import { isMemoryFull, maxUnsequenced, slotsLeft, unsequencedLeft } from './room.js';
import type { Tracked } from './tracked.js';

/** The maximum number of records changed at once. */
const batchSize = 50;

/** Returns why no transaction with a nonce, or no unsequenced one, can be signed now. Without such an obstacle, returns `notSignedYet` alone. */
export function whyUnsigned(lane: LaneContext, isUnsequenced: boolean): string {
  const obstacle = obstacleOf(lane, isUnsequenced);
  return obstacle === null ? notSignedYet : `${notSignedYet}: ${obstacle}`;
}

/** Why a relayer signs nothing, also without its lane; null: it signs. */
export function whyRelayerSignsNone({ disabledReason, paused }: Relayer): string | null {
  if (disabledReason !== null) return `the relayer is disabled: ${disabledReason}`;
  return paused ? 'the relayer is paused; will send when it is no longer paused' : null;
}

function obstacleOf(lane: LaneContext, isUnsequenced: boolean): string | null {
  const { policies } = lane.relayer();
  const inactive = whyRelayerSignsNone(lane.relayer());
  if (inactive !== null) return inactive;
  if (lane.isUnreachable) return 'no RPC node is reachable; retrying';
  if (lane.settled === null) return 'the service is reading the state of the account from the RPC nodes';
  if (lane.signerAway !== null) return `${lane.signerAway.sentence}; retrying`;
  if (isMemoryFull(lane)) return 'the signed transactions of the account have reached their memory limit; will send when some are final';
  if (isUnsequenced) {
    return unsequencedLeft(lane) > 0 ? null : `${maxUnsequenced} transactions of the account are in flight; will send when one has ended`;
  }
  const [doubt] = lane.doubts.values();
  if (doubt !== undefined) return `an RPC node reports a problem that is not confirmed yet: ${doubt.sentence}`;
  if (lane.numbers.doubted !== null) return 'the RPC nodes have not confirmed the next nonce of the account yet; retrying';
  if (slotsLeft(lane) > 0) return null;
  const most = lane.inFlightLimit.current();
  if (most === 1) return 'an earlier transaction of the account is not mined yet; will send after it';
  // Without a number, since each change of the sentence is written into all records that wait.
  return maxInFlightOf(policies) === null
    ? 'the automatic limit of transactions in flight is reached; will send when one is mined'
    : `${most} earlier transactions are in flight, as max_in_flight allows; will send when one is mined`;
}

/**
 * Makes the chore that writes the obstacle of the whole lane into the records that wait for it, once when it changes. A transaction that waits for a reason
 * of its own, such as its funds, keeps that reason, and one whose draft is under way does not change until that is done. The chore
 * walks the queue only at a change, since the queue may be long.
 */
export function createWaitingExplainer(lane: LaneContext): { readonly explain: () => Promise<void>; readonly look: () => void } {
  let explained = '';
  /** Those whose draft was under way at the last look. They are few, since the number of drafts is limited. */
  let unfinished: readonly Tracked[] = [];

  const explain = async (): Promise<void> => {
    const [slotted, unsequenced] = [whyUnsigned(lane, false), whyUnsigned(lane, true)];
    const now = `${slotted}\n${unsequenced}`;
    if (lane.isStopped() || (now === explained && unfinished.length === 0)) return;
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
function isOutdated({ statusReason }: Pick<Transaction, 'statusReason'>, reason: string): boolean {
  return reason !== notSignedYet && statusReason !== reason && (statusReason === null || statusReason.startsWith(notSignedYet));
}

async function rewrite(lane: LaneContext, id: string, reason: string): Promise<void> {
  await lane.move(id, ({ transaction }) =>
    !isSigned(transaction) && isOutdated(transaction, reason) ? { steps: [waiting(transaction, reason)] } : null,
  );
}
