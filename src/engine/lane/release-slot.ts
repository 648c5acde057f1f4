import { DomainError } from '../../core/errors.js';
import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { Head } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { attemptsInSlot, outbid } from '../../core/transaction/outbid.js';
import { nothingAlongside } from '../../core/transaction/send-transaction.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';
import { minable } from './minable.js';

/** So long, in blocks and in time, a version that cannot go may keep its slot: funds often come back, and nodes may be of another opinion. */
const patienceBlocks = 5n;
const patienceMs = 60_000;

const unpayable = 'the account cannot pay it any more';

/** Since when the lowest version has not been able to go; null: it is. */
export interface Stuck {
  /** The head at which the balance was last asked for: once a head is enough. */
  askedAt: string | null;
  since: { readonly hash: string; readonly block: bigint; readonly atMs: number } | null;
}

/**
 * Frees the lowest slot when no node takes its version as it is, or when it cannot be paid any more and others wait behind it: a filler takes the nonce, and
 * the transaction fails once that is resolved. While nobody waits behind it, or the filler cannot be paid either, it waits for funds.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function releaseSlot(lane: LaneContext, head: Head, stuck: Stuck): Promise<void> {
  if (stuck.askedAt === head.hash) return;
  stuck.askedAt = head.hash;
  const [lowest] = minable(lane);
  const live = lowest && shownAttempt(lowest.transaction, lowest.attempts);
  const isBlocking = lane.transactions.inFlightCount() > 1 || lane.transactions.waitingCount() > 0;
  const isCandidate = lowest?.transaction.intent === 'content' && live != null && !lane.taken.has(live.hash);
  if (!isCandidate || !(lane.hopeless.has(live.hash) || (isBlocking && (await isUnpayable(lane, lowest))))) {
    stuck.since = null;
    return;
  }
  const nowMs = lane.deps.clock.nowMs();
  if (stuck.since?.hash !== live.hash) stuck.since = { hash: live.hash, block: head.number, atMs: nowMs };
  if (head.number - stuck.since.block < patienceBlocks || nowMs - stuck.since.atMs < patienceMs) return;
  // Of a version that no node takes, what they said of it is just what must be told.
  const why = lane.hopeless.has(live.hash) ? lowest.transaction.statusReason : unpayable;
  try {
    await outbid(lane.deps, lane.relayer(), lowest, 'release_slot', null, () => undefined, nothingAlongside, why);
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason === 'NODE_UNAVAILABLE') throw error;
  }
}

async function isUnpayable(lane: LaneContext, open: OpenTransaction): Promise<boolean> {
  const balance = await lane.chain.balanceOf(lane.id.account);
  // Any version that can be paid may still be mined.
  return attemptsInSlot(open).every(({ fields }) => balance < greatestCost(fields));
}
