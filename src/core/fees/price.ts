import type { Draft } from '../ports/chain/drafts.js';
import { max, min } from '../records/bigints.js';
import type { EvmPrice } from '../records/evm.js';
import type { AttemptFields } from '../records/transaction.js';

/** The two numbers that nodes compare when one attempt is to replace another, in wei per gas. */
export interface Bid {
  readonly maxFeePerGasWei: bigint;
  readonly maxPriorityFeePerGasWei: bigint;
}

/** Returns the bid of a price. As in every node, a legacy price counts as a max fee and a priority fee of its gas price. */
export function bidOf(price: EvmPrice): Bid {
  return price.kind === 'legacy' ? { maxFeePerGasWei: price.gasPriceWei, maxPriorityFeePerGasWei: price.gasPriceWei } : price;
}

/** Returns the maximum cost of a unit of gas, in wei. */
export function maxCostPerGasWei(price: EvmPrice): bigint {
  return bidOf(price).maxFeePerGasWei;
}

/** Returns what a unit of gas costs in the next block, in wei; a null base fee: the network has none. */
export function expectedCostPerGasWei(price: EvmPrice, baseFeeWei: bigint | null): bigint {
  if (price.kind === 'legacy') return price.gasPriceWei;
  return min(price.maxFeePerGasWei, (baseFeeWei ?? 0n) + price.maxPriorityFeePerGasWei);
}

/** Returns the maximum that an attempt may take from the relayer's account, in the network's smallest unit. */
export function maxCost(attempt: Draft | AttemptFields): bigint {
  switch (attempt.network) {
    case 'evm':
      return attempt.valueWei + attempt.gasLimit * maxCostPerGasWei(attempt.price) + attempt.publishingFeeWei;
    case 'stellar':
      return attempt.costStroops;
    case 'solana':
      return attempt.costLamports;
  }
}

/** The least gas limit of a self-transfer: 21,000 and the margin of an estimate. */
export const selfTransferGas = 23_100n;

/** Returns the highest fee for gas that a slot may cost: by the attempt, or by a self-transfer with `freeingGas` that outbids it. */
export function highestSlotFee(gasLimit: bigint, price: EvmPrice, freeingGas: bigint): bigint {
  return max(gasLimit * maxCostPerGasWei(price), freeingGas * minimumReplacement(price).maxFeePerGasWei);
}

/** True if the price bids at least the floor in both numbers. */
export function reaches(price: EvmPrice, floor: Bid): boolean {
  const bid = bidOf(price);
  return bid.maxFeePerGasWei >= floor.maxFeePerGasWei && bid.maxPriorityFeePerGasWei >= floor.maxPriorityFeePerGasWei;
}

/** Raises a price to the floor if it is below; keeps its type. */
export function raisedTo(price: EvmPrice, floor: Bid): EvmPrice {
  if (price.kind === 'legacy') {
    return { kind: 'legacy', gasPriceWei: max(price.gasPriceWei, floor.maxFeePerGasWei, floor.maxPriorityFeePerGasWei) };
  }
  const maxPriorityFeePerGasWei = max(price.maxPriorityFeePerGasWei, floor.maxPriorityFeePerGasWei);
  // Every node refuses a priority fee above the max fee.
  const maxFeePerGasWei = max(price.maxFeePerGasWei, floor.maxFeePerGasWei, maxPriorityFeePerGasWei);
  return { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei };
}

/** Lowers a price so that no unit of gas costs more than the cap; a null cap changes nothing. */
export function loweredTo(price: EvmPrice, capWei: bigint | null): EvmPrice {
  if (capWei === null || maxCostPerGasWei(price) <= capWei) return price;
  if (price.kind === 'legacy') return { kind: 'legacy', gasPriceWei: capWei };
  const maxPriorityFeePerGasWei = min(price.maxPriorityFeePerGasWei, capWei);
  return { kind: 'eip1559', maxFeePerGasWei: capWei, maxPriorityFeePerGasWei };
}

/**
 * Returns the minimum bid that nodes accept as a replacement of `previous`: 10 % and 1 wei more, in both numbers.
 * The 1 wei is for nodes that refuse an exact 10 % (reth).
 */
export function minimumReplacement(previous: EvmPrice): Bid {
  const bid = bidOf(previous);
  return { maxFeePerGasWei: bumped(bid.maxFeePerGasWei), maxPriorityFeePerGasWei: bumped(bid.maxPriorityFeePerGasWei) };
}

/**
 * Returns the minimum bid that outbids every one of these attempts, since a node may hold any of them; null if there is none.
 * The two numbers may come from different attempts.
 */
export function minimumOutbid(previous: readonly EvmPrice[]): Bid | null {
  return previous.map(minimumReplacement).reduce<Bid | null>(
    (highest, next) =>
      highest === null
        ? next
        : {
            maxFeePerGasWei: max(highest.maxFeePerGasWei, next.maxFeePerGasWei),
            maxPriorityFeePerGasWei: max(highest.maxPriorityFeePerGasWei, next.maxPriorityFeePerGasWei),
          },
    null,
  );
}

function bumped(wei: bigint): bigint {
  return (wei * 11n) / 10n + 1n;
}
