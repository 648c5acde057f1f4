import type { Sequence } from '../../../core/ports/chain/slots.js';
import type { Attempt, OpenTransaction } from '../../../core/records/transaction.js';
import { attemptsInSlot } from '../../../core/transaction/outbid.js';
import type { LaneContext } from '../lane-context.js';
import type { AttemptState } from '../tracked.js';
import { whenPooled, whenUnpooled } from '../unpooled.js';

/** The number of heads until the next rebroadcast doubles with each loss, at most this many times. */
const maxDoublings = 5;
/** After this many heads that did not mine it, what a node shows in its pool is sent again. It doubles, too. */
const pooledHeads = 8;

/** The attempt that nodes should have; undefined: none, or the newest one is on its way to them and may replace it at any time. */
function newestTaken({ transactions }: LaneContext, open: OpenTransaction): Attempt | undefined {
  const newest = open.attempts.at(-1);
  const state = newest && transactions.stateOf(newest);
  if (state?.takenAtMs === null && state.refusals === 0) return undefined;
  return attemptsInSlot(open).findLast((attempt) => transactions.stateOf(attempt)?.takenAtMs != null);
}

/**
 * A node that has the lowest and the highest transaction in flight has those between them: a full pool drops the highest first, or does not
 * take them.
 */
async function lookUpHighest(lane: LaneContext, sequence: Sequence): Promise<void> {
  const last = lane.transactions.atNonce(lane.numbers.signed - 1n);
  const highest = last && newestTaken(lane, last);
  // Its answer is on its way.
  if (highest === undefined) return;
  if ((await sequence.knows(highest.hash)) === true) lane.inFlightLimit.noteHeld();
  else lane.inFlightLimit.noteCrowded();
}

/**
 * Makes the task that notices when nodes have dropped attempts that they accepted: restarts, reorgs and more expensive transactions empty
 * their pools.
 *
 * Only the lowest transaction is looked up, once per head (and the highest, if the automatic limit in flight was reached), since nothing
 * above it can be mined before it: its newest attempt that a node accepted. If no node knows that, everything in flight is broadcast again.
 * Some nodes answer with a hash to an attempt that they do not pool, so lookups become less frequent, and the record says so. Others do not
 * show an attempt that they have: they call it known when it is sent again, and lookups become less frequent while the lane advances too.
 * A node without peers shows what it passes on to no other one: what it has shown for some heads is sent again, also to another endpoint.
 * Throws `NODE_UNAVAILABLE`.
 */
export function createRebroadcaster(lane: LaneContext, sequence: Sequence): () => Promise<void> {
  /** The attempt that nodes did not know, and the number of consecutive lookups that did not find it. */
  let lostHash: string | null = null;
  let losses = 0;
  /** The `Heads.count` at which everything is sent again. */
  let nextAtHead = 0;
  /** The lowest attempt when everything was sent again. */
  let resent: AttemptState | undefined;
  /** The lowest attempt that a node shows in its pool, how often that was sent again, and the `Heads.count` of the next time. */
  let pooled: { readonly hash: string; readonly times: number; readonly nextAtHead: number } | null = null;

  /** True if the attempt has been in a pool for so long that another endpoint must have it, too. */
  function isLongPooled(hash: string): boolean {
    const { count } = lane.heads;
    const times = pooled?.hash === hash ? pooled.times + 1 : 0;
    if (pooled?.hash === hash && count < pooled.nextAtHead) return false;
    pooled = { hash, times, nextAtHead: count + pooledHeads * 2 ** Math.min(times, maxDoublings) };
    return times > 0;
  }
  return async () => {
    const [first] = lane.transactions.minable(lane.numbers.onChain);
    const lowest = first && newestTaken(lane, first);
    if (first === undefined) lane.inFlightLimit.noteHeld();
    if (first === undefined || lowest === undefined) return;
    const isKnown = await sequence.knows(lowest.hash);
    if (isKnown === true && lane.inFlightLimit.isReached()) await lookUpHighest(lane, sequence);
    // A newer attempt may have replaced it in the pool meanwhile.
    if (newestTaken(lane, lane.transactions.get(first.transaction.id) ?? first) !== lowest) return;
    if (isKnown === true) {
      if (losses > 0) await lane.records.move(first.transaction.id, ({ transaction }) => whenPooled(transaction, lane.deps.clock.nowMs()));
      losses = 0;
      nextAtHead = 0;
      resent = undefined;
      if (isLongPooled(lowest.hash)) sendAgain();
      return;
    }
    if (isKnown === false) {
      // The lane advances: a small pool takes the next attempts only when they are sent again.
      const isHidden = resent?.isKnownAgain === true;
      if (lowest.hash !== lostHash && !isHidden) [losses, nextAtHead] = [0, 0];
      lostHash = lowest.hash;
      if (lane.heads.count < nextAtHead) return;
      losses += 1;
      nextAtHead = lane.heads.count + 2 ** Math.min(losses - 1, maxDoublings);
      // The first loss is a pool that was emptied.
      if (losses > 1 && !isHidden) {
        lane.inFlightLimit.noteCrowded();
        await lane.records.move(first.transaction.id, ({ transaction }) => whenUnpooled(transaction));
      }
    }
    resent = lane.transactions.stateOf(lowest);
    sendAgain();
  };

  function sendAgain(): void {
    for (const open of lane.transactions.inFlight()) lane.transactions.forgetTaken(open);
  }
}
