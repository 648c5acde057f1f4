import { DomainError } from '../../core/errors.js';
import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { Head } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { outbid, versionsInSlot } from '../../core/transaction/outbid.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';
import { minable } from './minable.js';

/** So long, in blocks and in time, a version that the account cannot pay may block those behind it: funds often come back. */
const patienceBlocks = 5n;
const patienceMs = 60_000;

/** Since when the lowest version has been unpayable; null: it is not. */
export interface Unpayable {
  /** The head at which the balance was last asked for: once a head is enough. */
  askedAt: string | null;
  since: { readonly hash: string; readonly block: bigint; readonly atMs: number } | null;
}

/**
 * Frees the lowest slot when its version cannot be paid any more and others wait behind it: a filler takes the nonce, and the transaction fails once
 * that is resolved. While nobody waits behind it, or the filler cannot be paid either, it waits for funds. Throws `NODE_UNAVAILABLE`.
 */
export async function yieldSlot(lane: LaneContext, head: Head, unpayable: Unpayable): Promise<void> {
  if (unpayable.askedAt === head.hash) return;
  unpayable.askedAt = head.hash;
  const [lowest] = minable(lane);
  const live = lowest && shownAttempt(lowest.transaction, lowest.attempts);
  const isBlocking = lane.book.inFlightCount() > 1 || lane.book.waitingCount() > 0;
  if (lowest === undefined || live == null || !isBlocking || lane.taken.has(live.hash) || !(await isUnpayable(lane, lowest))) {
    unpayable.since = null;
    return;
  }
  const nowMs = lane.deps.clock.nowMs();
  if (unpayable.since?.hash !== live.hash) unpayable.since = { hash: live.hash, block: head.number, atMs: nowMs };
  if (head.number - unpayable.since.block < patienceBlocks || nowMs - unpayable.since.atMs < patienceMs) return;
  try {
    await outbid(lane.deps, lane.relayer(), lowest, 'yield', null, () => undefined);
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason === 'NODE_UNAVAILABLE') throw error;
  }
}

async function isUnpayable(lane: LaneContext, open: OpenTransaction): Promise<boolean> {
  if (open.transaction.intent !== 'content') return false;
  const balance = await lane.chain.balanceOf(lane.id.account);
  // Any version that can be paid may still be mined.
  return versionsInSlot(open).every(({ fields }) => balance < greatestCost(fields));
}
