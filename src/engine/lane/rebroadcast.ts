import type { Head } from '../../core/ports/chain.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';
import { minable } from './minable.js';

/** Where no block comes, nodes are asked this often all the same. */
const askAgainAfterMs = 30_000;

/** When the lane last asked, and at which head. */
export interface Rebroadcast {
  atMs: number;
  headHash: string;
}

/**
 * Finds out whether nodes have forgotten what they took: pools are emptied by restarts, reorgs and dearer transactions. Only the lowest live version is asked
 * for, once a head, since nothing above it can be mined before it; when it is unknown, everything in flight is broadcast again.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function rebroadcast(lane: LaneContext, head: Head, rebroadcasted: Rebroadcast): Promise<void> {
  const { sequence } = lane.chain;
  const nowMs = lane.deps.clock.nowMs();
  if (sequence === null) return;
  if (rebroadcasted.headHash === head.hash && nowMs - rebroadcasted.atMs < askAgainAfterMs) return;
  const [first] = minable(lane);
  const lowest = first && shownAttempt(first.transaction, first.attempts);
  rebroadcasted.atMs = nowMs;
  rebroadcasted.headHash = head.hash;
  if (lowest == null || !lane.taken.has(lowest.hash) || (await sequence.knows(lowest.hash))) return;
  for (const open of lane.transactions.inFlight()) lane.forgetTaken(open);
}
