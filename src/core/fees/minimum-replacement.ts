import type { EvmPrice } from '../transaction/evm.js';
import { type Bid, bidOf } from './price.js';

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
