import { DomainError } from '../../../core/errors/errors.js';
import { isUnavailable, nullIfUnavailable } from '../../../core/errors/unavailable.js';
import { maxCost, maxCostPerGasWei } from '../../../core/fees/price.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { Obstacle } from '../../../core/ports/chain/outcomes.js';
import type { Attempt, OpenTransaction } from '../../../core/records/transaction.js';
import { attemptsInSlot, earlierAlike, outbid } from '../../../core/transaction/outbid.js';
import { shownAttempt } from '../../../core/transaction/transaction-changes.js';
import { isOver, type Lasting, lasted, type Patience, seenAt } from '../../../core/work/patience.js';
import type { LaneContext } from '../lane-context.js';
import { waitedSince } from '../moment.js';
import type { AttemptState } from '../tracked.js';
import { isUnpooled } from '../unpooled.js';

/**
 * An attempt that no node accepts keeps its slot for this many blocks and this long: the account may be funded, and another node may accept
 * it.
 */
const patience = { heads: 5, ms: 60_000 };
/** The same, if nodes may still accept it unchanged, or if their words are unknown. */
const longPatience = { heads: 20, ms: 600_000 };
/** The same, if nodes call it known although no pool shows it: some keep their pools to themselves. */
const hiddenPatience = { heads: 60, ms: 3_600_000 };
/** The same, if every node says that no block can ever include it. */
const noPatience = { heads: 0, ms: 0 };
/** One or two refusals may be accidental. */
const minAnswers = 3;

/**
 * Makes the task that releases the lowest slot if no node accepts its attempt as it is, in any words, or if the account cannot pay for it
 * and others wait behind it: a self-transfer takes the nonce, and the transaction fails when that is resolved. A self-transfer that no node
 * accepts is itself replaced by another one. If nothing waits behind it, or the self-transfer cannot be paid either, it waits for funds.
 * One node may show for ever that it has what no other one takes: what the account cannot pay does not keep its slot by that.
 * Throws `NODE_UNAVAILABLE`.
 */
export function createSlotReleaser(lane: LaneContext): (head: Head) => Promise<void> {
  let refusedBecause: string | null = null;
  let blocked: (Lasting & { readonly nonce: bigint | null }) | null = null;

  return async (head) => {
    const { transactions } = lane;
    const [lowest] = transactions.minable(lane.numbers.onChain);
    const live = lowest && shownAttempt(lowest.transaction, lowest.attempts);
    const state = live == null ? undefined : transactions.stateOf(live);
    const isCandidate = lowest !== undefined && live != null && state !== undefined;
    const isPooled = isCandidate && isInPool(lane, lowest);
    if (!isCandidate || (isPooled && !hasWaited(lane, state))) {
      blocked = null;
      return;
    }
    const othersWait = transactions.inFlightCount() > 1 || transactions.waitingCount() > 0;
    const obstacles = [live, ...earlierAlike(lowest, live)].flatMap((one) => transactions.stateOf(one)?.obstacle ?? []);
    const [obstacle] = obstacles;
    const isRefused = !isPooled && obstacle !== undefined && obstacles.reduce((sum, { answers }) => sum + answers, 0) >= minAnswers;
    const isUnpaid = !isRefused && othersWait && (await isUnpayable(lane, lowest));
    const isUntaken = !isPooled && !isRefused && !isUnpaid && (isHidden(lane, lowest) || state.refusals >= minAnswers);
    // It can be paid later, and nothing waits behind it.
    const waitsForFunds = isUntaken && state.lacksFunds && !othersWait;
    if ((!isRefused && !isUnpaid && !isUntaken) || waitsForFunds) {
      blocked = null;
      return;
    }
    const nowMs = lane.deps.clock.elapsedMs();
    // New attempts that nodes also refuse do not extend this time.
    blocked = { ...seenAt(blocked?.nonce === live.nonce ? blocked : null, head, nowMs), nonce: live.nonce };
    const isFiller = lowest.transaction.intent !== 'content';
    const usual = isRefused && !isFiller ? patienceWith(obstacle.because, othersWait) : longPatience;
    const needed = isUnpaid ? patience : isHidden(lane, lowest) ? hiddenPatience : usual;
    if (!isOver(needed, lasted(blocked, nowMs))) return;
    if (isUntaken && (await isPricedOut(lane, live))) return;
    // The nodes' own words say best why a rejected attempt failed.
    const why = isUnpaid
      ? ({ failureReason: 'insufficient_funds', statusReason: 'insufficient balance' } as const)
      : ({
          failureReason: 'never_accepted',
          statusReason: `no RPC node accepted it${obstacle === undefined ? '' : `: ${obstacle.sentence}`}`,
        } as const);
    try {
      await outbid(lane.deps, lane.relayer(), lowest, {
        purpose: isFiller ? lowest.transaction.intent : 'release_slot',
        replacement: null,
        require: () => undefined,
        untaken: attemptsInSlot(lowest).filter((attempt) => attempt.purpose !== 'content' && isRefusedAlways(lane, attempt)),
        ...(isFiller ? {} : { why }),
      });
      blocked = null;
      refusedBecause = null;
    } catch (error) {
      if (!(error instanceof DomainError) || isUnavailable(error)) throw error;
      // Once: it is tried again at each head, and the amounts in the sentence may change with it.
      if (refusedBecause !== error.reason) {
        const facts = { relayer: lane.relayer().id, transaction: lowest.transaction.id, detail: error.message };
        lane.deps.log.warn(facts, 'a slot that no RPC node accepts cannot be released by a self-transfer yet; retrying');
      }
      refusedBecause = error.reason;
    }
  };
}

/** True if the next block takes no bid as low as this one, as with a price cap below the market: it goes when the market allows. */
async function isPricedOut(lane: LaneContext, live: Attempt): Promise<boolean> {
  if (live.fields.network !== 'evm') return false;
  const { baseFeeWei } = (await lane.chain.market(lane.relayer())) ?? { baseFeeWei: null };
  return baseFeeWei !== null && maxCostPerGasWei(live.fields.price) < baseFeeWei;
}

function patienceWith(because: Obstacle, othersWait: boolean): Patience {
  if (because === 'invalid') return noPatience;
  return because === 'content' || (because === 'words_of_all' && othersWait) ? patience : longPatience;
}

/** True if nodes call its attempts known although no pool shows them. */
function isHidden({ transactions }: LaneContext, open: OpenTransaction): boolean {
  return isUnpooled(open.transaction) && attemptsInSlot(open).some((attempt) => transactions.stateOf(attempt)?.isKnownAgain === true);
}

/** True if no node took it, and none holds another one in its slot that outbids it. */
function isRefusedAlways({ transactions }: LaneContext, attempt: Attempt): boolean {
  const state = transactions.stateOf(attempt);
  return state !== undefined && state.refusals > 0 && !state.wasTaken && !state.isUnderpriced && !state.isKnownAgain;
}

/** True if a node has an earlier attempt in the slot, which may still be mined. */
function isInPool(lane: LaneContext, open: OpenTransaction): boolean {
  return !isHidden(lane, open) && attemptsInSlot(open).some((attempt) => lane.transactions.stateOf(attempt)?.takenAtMs != null);
}

/** True if a pool has shown it for so long that the block that includes it should have come. */
function hasWaited(lane: LaneContext, { waitingSince }: AttemptState): boolean {
  return waitingSince !== null && isOver(patience, waitedSince(lane, waitingSince));
}

/** By the word of several endpoints: the content fails if the account cannot pay for it. */
async function isUnpayable(lane: LaneContext, open: OpenTransaction): Promise<boolean> {
  // Any attempt that can be paid may still be mined.
  const isEachAbove = (balance: bigint | null): boolean =>
    balance !== null &&
    attemptsInSlot(open).every((one) => balance < maxCost(one.fields) || lane.transactions.stateOf(one)?.lacksFunds === true);
  const { account } = lane.id;
  return (
    isEachAbove(await lane.chain.balanceOf(account).catch(nullIfUnavailable)) &&
    isEachAbove(await lane.chain.balanceOf(account, 'several').catch(nullIfUnavailable))
  );
}
