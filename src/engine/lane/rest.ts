import type { Head } from '../../core/ports/chain/head.js';
import type { LaneContext } from './lane-context.js';

/** How long the account is still followed after its last transaction has ended: a deep reorg can undo it. */
const quietMs = 60_000;
/**
 * How often, at most, a lane at rest looks at its account. Half of it at least: lanes that began to rest together must not look together.
 */
const restMs = 900_000;

/** Decides when a lane sends no requests to nodes. */
export interface Rest {
  /** True if the lane has nothing to do at this head, which is why it must not be settled. */
  includes(head: Head): boolean;
  /** Call it after each round at a head. */
  consider(head: Head): void;
  /** Ends the rest. Returns true if the account was not read since it began. */
  end(): boolean;
}

/**
 * Creates the rest of a lane without open transactions: thousands of idle accounts would each cost a call per block. It lasts until a
 * transaction comes, the chain goes back, or a commit has to be looked for; every few minutes the lane looks at its account anyway. Until
 * the account is read again (`Heads.standing`), nothing takes a nonce: another process may have used the key.
 */
export function createRest(lane: LaneContext, isLookingForStored: () => boolean): Rest {
  const { id, deps, transactions } = lane;
  const { clock } = deps;
  let busyAtMs = Number.NEGATIVE_INFINITY;
  let untilMs: number | null = null;

  function isEmpty(): boolean {
    return transactions.waitingCount() + transactions.slottedCount() + transactions.unsequencedCount() === 0;
  }

  /** True if the last look at the account showed nothing to follow. */
  function isCertain(head: Head): boolean {
    const { heads, doubts, numbers } = lane;
    return heads.settled?.hash === head.hash && doubts.sentence() === null && numbers.doubted === null && numbers.onChain >= numbers.signed;
  }

  return {
    includes: (head) => untilMs !== null && clock.elapsedMs() < untilMs && head.number >= (lane.heads.settled?.number ?? 0n),
    consider(head) {
      const nowMs = clock.elapsedMs();
      untilMs = null;
      if (!isEmpty()) busyAtMs = nowMs;
      else if (nowMs - busyAtMs >= quietMs && isCertain(head) && !isLookingForStored())
        untilMs = nowMs + restMs * (0.5 + shareOf(id.account) / 2);
    },
    end() {
      const wasResting = untilMs !== null;
      untilMs = null;
      busyAtMs = clock.elapsedMs();
      return wasResting;
    },
  };
}

/** A number from 0 to 1 that differs between accounts. */
function shareOf(account: string): number {
  let sum = 0;
  for (let at = 0; at < account.length; at += 1) sum = (sum * 31 + account.charCodeAt(at)) % 1_000;
  return sum / 1_000;
}
