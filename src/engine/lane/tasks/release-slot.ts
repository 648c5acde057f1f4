import { DomainError } from '../../../core/errors/errors.js';
import { maxCost } from '../../../core/fees/price.js';
import type { Head, Obstacle } from '../../../core/ports/chain.js';
import type { OpenTransaction } from '../../../core/records/transaction.js';
import { attemptsInSlot, earlierAlike, outbid } from '../../../core/transaction/outbid.js';
import { shownAttempt } from '../../../core/transaction/transaction-changes.js';
import { isUnavailable, type LaneContext } from '../lane-context.js';

/**
 * An attempt that no node accepts keeps its slot for this many blocks and this long: the account may be funded, and another node may accept
 * it.
 */
const patience = { blocks: 5n, ms: 60_000 };
/** The same, if nodes may still accept it unchanged, or if their words are unknown. */
const longPatience = { blocks: 20n, ms: 600_000 };
/** The same, if every node says that no block can ever include it. */
const noPatience = { blocks: 0n, ms: 0 };
/** One or two refusals may be accidental. */
const minAnswers = 3;

/**
 * Makes the task that releases the lowest slot if no node accepts its attempt as it is, or if the account cannot pay for it and others wait
 * behind it: a self-transfer takes the nonce, and the transaction fails when that is resolved. If nothing waits behind it, or the
 * self-transfer cannot be paid either, it waits for funds. Throws `NODE_UNAVAILABLE`.
 */
export function createSlotReleaser(lane: LaneContext): (head: Head) => Promise<void> {
  /** The balance is read once per head. */
  let askedAtHash: string | null = null;
  let blocked: { readonly nonce: bigint | null; readonly sinceBlock: bigint; readonly sinceMs: number } | null = null;

  return async (head) => {
    if (askedAtHash === head.hash) return;
    askedAtHash = head.hash;
    const { transactions } = lane;
    const [lowest] = transactions.minable(lane.numbers.onChain);
    const live = lowest && shownAttempt(lowest.transaction, lowest.attempts);
    const state = live == null ? undefined : transactions.stateOf(live);
    const isCandidate = lowest?.transaction.intent === 'content' && live != null && state?.takenAtMs === null;
    const othersWait = transactions.inFlightCount() > 1 || transactions.waitingCount() > 0;
    const obstacles =
      lowest === undefined || live == null
        ? []
        : [live, ...earlierAlike(lowest, live)].flatMap((one) => transactions.stateOf(one)?.obstacle ?? []);
    const [obstacle] = obstacles;
    const isRefused = obstacle !== undefined && obstacles.reduce((sum, { answers }) => sum + answers, 0) >= minAnswers;
    if (!isCandidate || isHeld(lane, lowest) || !(isRefused || (othersWait && (await isUnpayable(lane, lowest))))) {
      blocked = null;
      return;
    }
    const nowMs = lane.deps.clock.elapsedMs();
    // New attempts that nodes also refuse do not extend this time.
    if (blocked?.nonce !== live.nonce) blocked = { nonce: live.nonce, sinceBlock: head.number, sinceMs: nowMs };
    const { blocks, ms } = isRefused ? patienceWith(obstacle.because) : patience;
    if (head.number - blocked.sinceBlock < blocks || nowMs - blocked.sinceMs < ms) return;
    // The nodes' own words say best why a rejected attempt failed.
    const why = isRefused
      ? ({ failureReason: 'never_accepted', statusReason: `no RPC node accepted it: ${obstacle.sentence}` } as const)
      : ({ failureReason: 'insufficient_funds', statusReason: 'insufficient balance' } as const);
    try {
      await outbid(lane.deps, lane.relayer(), lowest, { purpose: 'release_slot', replacement: null, require: () => undefined, why });
    } catch (error) {
      if (!(error instanceof DomainError) || isUnavailable(error)) throw error;
    }
  };
}

function patienceWith(because: Obstacle): typeof patience {
  return because === 'invalid' ? noPatience : because === 'content' ? patience : longPatience;
}

/** True if a node has an earlier attempt in the slot, which may still be mined. */
function isHeld({ transactions }: LaneContext, open: OpenTransaction): boolean {
  return attemptsInSlot(open).some((attempt) => transactions.stateOf(attempt)?.takenAtMs != null);
}

async function isUnpayable(lane: LaneContext, open: OpenTransaction): Promise<boolean> {
  const balance = await lane.chain.balanceOf(lane.id.account);
  // Any attempt that can be paid may still be mined.
  return attemptsInSlot(open).every((one) => balance < maxCost(one.fields) || lane.transactions.stateOf(one)?.lacksFunds === true);
}
