import { DomainError } from '../../core/errors/errors.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { LaneContext } from './lane-context.js';

/** Maximum number of transactions that wait to be signed. Concurrent sends may exceed it by their number. */
export const maxWaiting = 10_000;

/**
 * Maximum size of the content and bytes of signed transactions, which stay in memory until they are final. At this size the lane signs
 * nothing.
 */
const maxHeldCharacters = 64 * 1024 * 1024;
/** The maximum number of unsequenced transactions in flight: nodes report this many in one call. */
export const maxUnsequenced = 256;

/** True if the signed transactions have reached their memory limit. */
export function isMemoryFull({ transactions }: LaneContext): boolean {
  return transactions.heldCharacters() >= maxHeldCharacters;
}

function isNonceDoubted({ numbers, doubts }: LaneContext): boolean {
  return numbers.doubted !== null || doubts.sentence() !== null;
}

/** How many transactions may take a nonce now. */
export function slotsLeft(lane: LaneContext): number {
  if (lane.chain.sequence === null || isNonceDoubted(lane)) return 0;
  // Slots that the chain shows as used and that are not explained yet take no room from others.
  return lane.inFlightLimit.current() - lane.transactions.inFlightCount() + lane.transactions.inFlightBelow(lane.numbers.onChain);
}

/** How many unsequenced transactions may be signed now. */
export function unsequencedLeft({ chain, transactions }: LaneContext): number {
  return chain.unsequenced === null ? 0 : maxUnsequenced - transactions.unsequencedCount();
}

/** Throws `rate_limited` if the maximum number of transactions of a relayer waits to be signed. */
export function requireRoomOf({ id }: Pick<Relayer, 'id'>, waiting: number): void {
  if (waiting < maxWaiting) return;
  const sentence = `the relayer has ${maxWaiting} transactions that wait to be signed, the maximum; retry later, or cancel some`;
  throw new DomainError('rate_limited', 'TOO_MANY_TRANSACTIONS', sentence, { metadata: { relayer_id: id, limit: String(maxWaiting) } });
}
