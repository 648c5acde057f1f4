import { maxInFlightOf, type Relayer } from '../../core/records/relayer.js';
import { notSignedYet } from '../../core/transaction/lifecycle.js';
import { isMemoryFull, slotsLeft, whyNoUnsequenced } from './capacity.js';
import type { LaneContext } from './lane-context.js';
import { stillSentence } from './stillness.js';

/**
 * Returns why no transaction with a nonce, or no unsequenced one, can be signed now. Without such an obstacle, returns `notSignedYet`
 * alone.
 */
export function whyUnsigned(lane: LaneContext, signerAway: string | null, isUnsequenced: boolean): string {
  const obstacle = obstacleOf(lane, signerAway, isUnsequenced);
  return obstacle === null ? notSignedYet : `${notSignedYet}: ${obstacle}`;
}

/** Why a relayer signs nothing, also without its lane; null: it signs. */
export function whyRelayerSignsNone({ disabledReason, paused }: Relayer): string | null {
  if (disabledReason !== null) return `the relayer is disabled: ${disabledReason}`;
  return paused ? 'the relayer is paused; will send when it is no longer paused' : null;
}

function obstacleOf(lane: LaneContext, signerAway: string | null, isUnsequenced: boolean): string | null {
  const { policies } = lane.relayer();
  const hold = lane.deps.database.hold();
  if (hold !== null) return hold;
  const inactive = whyRelayerSignsNone(lane.relayer());
  if (inactive !== null) return inactive;
  if (lane.heads.isUnreachable) return 'no RPC node is reachable; retrying';
  if (lane.heads.settled === null) return 'the service is reading the state of the account from the RPC nodes';
  if (signerAway !== null) return `${signerAway}; retrying`;
  if (isMemoryFull(lane)) return 'the signed transactions of the account have reached their memory limit; will send when some are final';
  const still = lane.heads.stillSinceMs === null ? '' : `; ${stillSentence(lane.chain.network.name, lane.heads.stillSinceMs)}`;
  if (isUnsequenced) {
    const full = whyNoUnsequenced(lane);
    return full === null ? null : `${full}${still}`;
  }
  const doubt = lane.doubts.sentence();
  if (doubt !== null) return `an RPC node reports a problem that is not confirmed yet: ${doubt}`;
  if (lane.numbers.doubted !== null) return 'the RPC nodes have not confirmed the next nonce of the account yet; retrying';
  if (slotsLeft(lane) > 0) return null;
  const most = lane.inFlightLimit.current();
  if (most === 1) return `an earlier transaction of the account is not mined yet; will send after it${still}`;
  // Without a number, since each change of the sentence is written into all records that wait.
  return maxInFlightOf(policies) === null
    ? `the automatic limit of transactions in flight is reached; will send when one is mined${still}`
    : `${most} earlier transactions are in flight, as max_in_flight allows; will send when one is mined${still}`;
}
