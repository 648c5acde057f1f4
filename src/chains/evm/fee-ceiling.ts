import { highestToFree } from '../../core/fees/choose-price.js';
import { loweredTo, maxCostPerGasWei, reaches } from '../../core/fees/price.js';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { EvmPrice } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import type { Attempt } from '../../core/records/transaction.js';
import type { Market } from './market.js';
import { minimumToOutbid, minimumToOutbidContent } from './price-attempt.js';

/** The currencies of which no usual transaction costs a unit. */
const dearSymbols: ReadonlySet<string> = new Set(['ETH', 'BNB', 'AVAX', 'RBTC']);

/**
 * Returns the default of `MAX_FEE_PER_TRANSACTION` on a network: one unit, as nodes have it. A unit of other currencies may be worth less
 * than the fee of a usual transaction: none there.
 */
export function defaultMaxFeeOf({ symbol }: Pick<EvmNetwork, 'symbol'>): bigint | null {
  return dearSymbols.has(symbol) ? 10n ** 18n : null;
}

/** A price that the service chose, and what it must reach. */
export interface ChosenPrice {
  readonly price: EvmPrice;
  readonly gasLimit: bigint;
  /** The attempts that it must outbid. */
  readonly outbids: readonly Attempt[];
  /** It frees a slot. */
  readonly isFiller: boolean;
  readonly market: Pick<Market, 'baseFeeWei' | 'highestBaseFeeWei' | 'priceToFree'>;
}

/**
 * Lowers a price so that the fee stays within the ceiling per transaction. Refuses if no block, or no slot, would take that, or if no base
 * fee shows what a block takes: a price below the market would block the lane. A filler may cost the market price, or of a legacy price,
 * which is paid as a whole, the base fee; and it may exceed the ceiling as it may exceed a price cap. Null: there is no ceiling.
 */
export async function withinCeiling(maxFeeWei: bigint | null, chosen: ChosenPrice): Promise<EvmPrice | Refusal> {
  const { price, gasLimit, outbids, isFiller, market } = chosen;
  const mostWei = maxFeeWei === null ? null : maxFeeWei / gasLimit;
  const priceWei = maxCostPerGasWei(price);
  if (maxFeeWei === null || mostWei === null || priceWei <= mostWei) return price;
  const lowered = loweredTo(price, mostWei);
  const minimum = minimumToOutbid(outbids);
  const isTaken = minimum === null ? paysBaseFee(await market.baseFeeWei(), mostWei) : reaches(lowered, minimum);
  if (isTaken) return lowered;
  if (isFiller) {
    if (priceWei <= highestToFree(mostWei, minimumToOutbidContent(outbids))) return price;
    if (price.kind === 'legacy') {
      const least = loweredTo(price, await market.highestBaseFeeWei());
      if (maxCostPerGasWei(least) > mostWei && (minimum === null || reaches(least, minimum))) return least;
    } else if (priceWei <= maxCostPerGasWei(await market.priceToFree(price.kind))) return price;
  }
  const sentence = `waiting: the fee may reach ${priceWei * gasLimit} wei, above MAX_FEE_PER_TRANSACTION (${maxFeeWei} wei); set that higher to send at this price`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { cap_wei: String(mostWei) } };
}

/** True if there is a base fee, which a bid of `mostWei` pays. */
function paysBaseFee(baseFeeWei: bigint | null, mostWei: bigint): boolean {
  return baseFeeWei !== null && baseFeeWei > 0n && baseFeeWei <= mostWei;
}
