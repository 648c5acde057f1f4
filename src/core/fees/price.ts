import type { Draft } from '../ports/chain.js';
import type { EvmPrice } from '../transaction/evm.js';
import type { AttemptFields } from '../transaction/transaction.js';

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

/**
 * The least that a node takes in the place of `previous`: ten percent more and one wei, in max fee and in priority each.
 * The one wei is there because some nodes (reth) refuse an exact ten percent.
 */
export function minimumReplacement(previous: EvmPrice): Bid {
  const bid = bidOf(previous);
  return { maxFeePerGasWei: raised(bid.maxFeePerGasWei), maxPriorityFeePerGasWei: raised(bid.maxPriorityFeePerGasWei) };
}

/**
 * The least that outbids every one of these versions, since a node may hold any of them; null when there is none.
 * The two numbers may come from different versions.
 */
export function minimumOutbid(previous: readonly EvmPrice[]): Bid | null {
  return previous.map(minimumReplacement).reduce<Bid | null>((most, next) => (most === null ? next : higherOfEach(most, next)), null);
}

function raised(wei: bigint): bigint {
  return (wei * 11n) / 10n + 1n;
}

function higherOfEach(a: Bid, b: Bid): Bid {
  return {
    maxFeePerGasWei: a.maxFeePerGasWei > b.maxFeePerGasWei ? a.maxFeePerGasWei : b.maxFeePerGasWei,
    maxPriorityFeePerGasWei: a.maxPriorityFeePerGasWei > b.maxPriorityFeePerGasWei ? a.maxPriorityFeePerGasWei : b.maxPriorityFeePerGasWei,
  };
}

/** The most that a version may take from the relayer's account, in the network's smallest unit. */
export function greatestCost(version: Draft | AttemptFields): bigint {
  switch (version.network) {
    case 'evm':
      return version.valueWei + version.gasLimit * greatestCostPerGasWei(version.price);
    case 'stellar':
      return version.costStroops;
    case 'solana':
      return version.costLamports;
  }
}
