import type { Head, Sequence } from '../../core/ports/chain.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';

/** Without a new block, nodes are still asked this often. */
const askAgainAfterMs = 30_000;

/**
 * Makes the chore that notices when nodes have dropped what they accepted: restarts, reorgs and more expensive transactions empty their pools.
 *
 * Only the lowest live attempt is looked up, once per head, since nothing above it can be mined before it. If no node knows it, everything in flight is
 * broadcast again. Throws `NODE_UNAVAILABLE`.
 */
export function createRebroadcaster(lane: LaneContext, sequence: Sequence): (head: Head) => Promise<void> {
  let askedAtMs = 0;
  let askedAtHash = '';
  return async (head) => {
    const nowMs = lane.deps.clock.nowMs();
    if (askedAtHash === head.hash && nowMs - askedAtMs < askAgainAfterMs) return;
    const [first] = lane.transactions.minable(lane.chainNonce);
    const lowest = first && shownAttempt(first.transaction, first.attempts);
    askedAtMs = nowMs;
    askedAtHash = head.hash;
    if (lowest == null || lane.transactions.stateOf(lowest)?.takenAtMs == null || (await sequence.knows(lowest.hash))) return;
    for (const open of lane.transactions.inFlight()) lane.transactions.forgetTaken(open);
  };
}
