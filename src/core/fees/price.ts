import type { EvmPrice } from '../transaction/evm.js';

/** The two numbers that nodes compare when one version is to replace another, in wei per gas. */
export interface Bid {
  readonly maxFeePerGasWei: bigint;
  readonly maxPriorityFeePerGasWei: bigint;
}

/** What a price bids: a legacy one counts as a max fee and a priority of its gas price, as in every node. */
export function bidOf(price: EvmPrice): Bid {
  return price.kind === 'legacy' ? { maxFeePerGasWei: price.gasPriceWei, maxPriorityFeePerGasWei: price.gasPriceWei } : price;
}

/** The most that a unit of gas can cost at this price, in wei. */
export function greatestCostPerGasWei(price: EvmPrice): bigint {
  return bidOf(price).maxFeePerGasWei;
}

/** True when the price bids at least the floor, in both numbers. */
export function reaches(price: EvmPrice, floor: Bid): boolean {
  const bid = bidOf(price);
  return bid.maxFeePerGasWei >= floor.maxFeePerGasWei && bid.maxPriorityFeePerGasWei >= floor.maxPriorityFeePerGasWei;
}

/** The price, raised where it is below the floor; its type stays. */
export function raisedTo(price: EvmPrice, floor: Bid): EvmPrice {
  if (price.kind === 'legacy') {
    return { kind: 'legacy', gasPriceWei: greatest(price.gasPriceWei, floor.maxFeePerGasWei, floor.maxPriorityFeePerGasWei) };
  }
  const maxPriorityFeePerGasWei = greatest(price.maxPriorityFeePerGasWei, floor.maxPriorityFeePerGasWei);
  // A priority above the max fee is refused by every node.
  const maxFeePerGasWei = greatest(price.maxFeePerGasWei, floor.maxFeePerGasWei, maxPriorityFeePerGasWei);
  return { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei };
}

/** The price, lowered so that no unit of gas can cost more than the cap; a null cap changes nothing. */
export function loweredTo(price: EvmPrice, capWei: bigint | null): EvmPrice {
  if (capWei === null || greatestCostPerGasWei(price) <= capWei) return price;
  if (price.kind === 'legacy') return { kind: 'legacy', gasPriceWei: capWei };
  const maxPriorityFeePerGasWei = price.maxPriorityFeePerGasWei < capWei ? price.maxPriorityFeePerGasWei : capWei;
  return { kind: 'eip1559', maxFeePerGasWei: capWei, maxPriorityFeePerGasWei };
}

function greatest(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((most, other) => (other > most ? other : most), first);
}
