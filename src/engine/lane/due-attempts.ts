import type { Span } from '../../core/ports/telemetry.js';
import type { Attempt, OpenTransaction } from '../../core/records/transaction.js';
import { attemptsInSlot, earlierAlike } from '../../core/transaction/outbid.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import { isExpired, latestMs } from './is-expired.js';
import type { LaneContext } from './lane-context.js';
import type { AttemptState } from './tracked.js';

/** The maximum number of attempts in one request to a node. */
const batchSize = 50;
/**
 * An attempt that no node accepted is sent again after this time, which doubles with each refusal up to the longest. For the lowest nonce
 * it does not double: nodes that keep no gaps refuse all others until they accept that one.
 */
export const retryAfterMs = 1_000;
const longestRetryMs = 8_000;
/** The same for an attempt that a node calls invalid, and behind which nothing waits. */
const longestHopelessRetryMs = 60_000;

/** An attempt to send. */
export interface Broadcast {
  readonly open: OpenTransaction;
  readonly attempt: Attempt;
  readonly span: Span | null;
}

/**
 * The attempts to broadcast now, lowest nonce first and at most a batch: attempts that no node has accepted, or an earlier one with the
 * same content while nodes refuse the newest one. Expired content is none of them.
 */
export function dueAttempts(lane: LaneContext): readonly Broadcast[] {
  const nowMs = latestMs(lane);
  const elapsedMs = lane.deps.clock.elapsedMs();
  if (lane.heads.settled === null) return [];
  const due: Omit<Broadcast, 'span'>[] = [];
  const lowest = lowestUntaken(lane);
  for (const open of lane.transactions.untaken()) {
    const live = shownAttempt(open.transaction, open.attempts);
    // Expired content must not be broadcast any more, even before a self-transfer has replaced it.
    if (live === null || isExpired(open, nowMs) || heldBackBy(lane, live) !== null) continue;
    for (const attempt of [keptAttempt(lane, open, live), live]) {
      const state = attempt === null ? undefined : lane.transactions.stateOf(attempt);
      if (attempt === null || state === undefined || state.takenAtMs !== null) continue;
      const isLowest = attempt.nonce !== null && attempt.nonce === lowest;
      const pauseMs = isLowest ? retryAfterMs : longerWith(state);
      if (state.failedAtMs === null || elapsedMs >= state.failedAtMs + pauseMs) due.push({ open, attempt });
    }
  }
  due.sort((a, b) => Number((a.attempt.nonce ?? 0n) - (b.attempt.nonce ?? 0n)));
  return due
    .slice(0, batchSize)
    .map((one) => ({ ...one, span: lane.deps.journal.step('transaction broadcast', one.open.transaction, 'client') }));
}

/** After this many heads the account's own transaction goes first, whichever was signed first. */
const maxTurnHeads = 8;

/**
 * The account's own transaction that nodes would keep out if they got this unsequenced attempt; null: none. Whichever was signed first goes
 * first, so that neither kind starves.
 */
export function heldBackBy({ transactions, chain, numbers, heads }: LaneContext, attempt: Attempt): OpenTransaction | null {
  if (attempt.nonce !== null || chain.unsequenced === null) return null;
  const [own] = transactions.minable(numbers.onChain);
  const first = own && attemptsInSlot(own)[0];
  const live = own?.attempts.at(-1);
  if (own === undefined || first === undefined || live === undefined || !chain.unsequenced.excludes(attempt, live)) return null;
  const since = transactions.stateOf(first)?.waitingSince ?? null;
  const isOverdue = since !== null && heads.count - since.head > maxTurnHeads;
  return attempt.createdAtMs > first.createdAtMs || isOverdue ? own : null;
}

/** The lowest nonce whose live attempt no node has accepted; null: none. */
function lowestUntaken({ transactions }: LaneContext): bigint | null {
  let lowest: bigint | null = null;
  for (const { transaction } of transactions.untaken()) {
    if (transaction.nonce !== null && (lowest === null || transaction.nonce < lowest)) lowest = transaction.nonce;
  }
  return lowest;
}

function longerWith({ refusals, obstacle }: AttemptState): number {
  const isHopeless = obstacle?.because === 'content' || obstacle?.because === 'invalid';
  return Math.min(isHopeless ? longestHopelessRetryMs : longestRetryMs, retryAfterMs * 2 ** Math.max(0, refusals - 1));
}

/**
 * The attempt to send while nodes refuse the live one: the newest earlier one that they accepted or may accept. Null: none, or the live one
 * is not refused.
 */
export function keptAttempt({ transactions }: LaneContext, open: OpenTransaction, live: Attempt): Attempt | null {
  const stateOf = transactions.stateOf;
  if (live.nonce === null || (stateOf(live)?.refusals ?? 0) === 0) return null;
  const earlier = earlierAlike(open, live);
  return earlier.find((one) => stateOf(one)?.wasTaken) ?? earlier.find((one) => stateOf(one)?.refusals === 0) ?? null;
}
