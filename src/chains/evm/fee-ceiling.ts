import { highestToFree } from '../../core/fees/choose-price.js';
import { highestSlotFee, loweredTo, maxCostPerGasWei, reaches } from '../../core/fees/price.js';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import type { EvmPrice } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { CostBound } from '../../core/records/spending-rule.js';
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
  readonly market: Pick<Market, 'baseFeeWei' | 'priceToFree'>;
}

/**
 * Lowers a price so that the fee stays within the ceiling per transaction. Refuses if no block, or no slot, would take that, or if no base
 * fee shows what a block takes: a price below the market would block the lane. A filler may cost one step more, or one step more than the
 * caller's own price in its slot, but never what a market alone asks, which one node may have made up. Null: there is no ceiling.
 */
export async function withinCeiling(maxFeeWei: bigint | null, chosen: ChosenPrice): Promise<EvmPrice | Refusal> {
  if (maxFeeWei === null) return chosen.price;
  const { price, gasLimit, outbids, isFiller } = chosen;
  const mostWei = maxFeeWei / gasLimit;
  const priceWei = maxCostPerGasWei(price);
  const lowered = await atMost(mostWei, chosen);
  if (lowered !== null) return lowered;
  const freeing = isFiller ? await atMost(highestToFree(mostWei, minimumToOutbidContent(outbids)), chosen) : null;
  if (freeing !== null) return freeing;
  const sentence = `waiting: the fee may reach ${priceWei * gasLimit} wei, above MAX_FEE_PER_TRANSACTION (${maxFeeWei} wei); set that higher to send at this price`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { cap_wei: String(mostWei) } };
}

/** The price, lowered to `mostWei` per gas if that is less; null: no block, or no slot, would take that. */
async function atMost(mostWei: bigint, { price, outbids, market }: ChosenPrice): Promise<EvmPrice | null> {
  if (maxCostPerGasWei(price) <= mostWei) return price;
  const lowered = loweredTo(price, mostWei);
  const minimum = minimumToOutbid(outbids);
  const isTaken = minimum === null ? paysBaseFee(await market.baseFeeWei(), mostWei) : reaches(lowered, minimum);
  return isTaken ? lowered : null;
}

/** What an attempt costs beside its gas. */
export interface CostedPrice extends ChosenPrice {
  readonly valueWei: bigint;
  readonly publishingFeeWei: bigint;
  /** The gas limit of a self-transfer in its slot. */
  readonly freeingGas: bigint;
  /** The caller's own price, which is never lowered. */
  readonly isCallers: boolean;
}

/**
 * Lowers a price as `withinCeiling` does, so that the attempt never costs more than a rule allows. Before content takes a slot, its fees
 * leave room for a self-transfer that outbids it and that the next block takes, at any bid of a caller. A rise of the L1 fee since keeps
 * no slot occupied: the content that a self-transfer outbids would pay that, too. Null: there is no bound.
 */
export async function withinMaxCost(bound: CostBound | null, chosen: CostedPrice): Promise<EvmPrice | Refusal> {
  if (bound === null) return chosen.price;
  const { price, gasLimit, freeingGas, outbids, isFiller, isCallers, valueWei } = chosen;
  const publishingFeeWei = isFiller ? sinceSigned(chosen) : chosen.publishingFeeWei;
  const feesWei = bound.max - valueWei - publishingFeeWei;
  const freeWei = isFiller || outbids.length > 0 ? 0n : freeingGas * (await perGasToFree(chosen));
  const mostWei = isFiller ? feesWei / gasLimit : min(feesWei / gasLimit, outbiddableUpTo(feesWei / freeingGas));
  const neededWei = isFiller ? gasLimit * maxCostPerGasWei(price) : max(highestSlotFee(gasLimit, price, freeingGas), freeWei);
  if (neededWei <= feesWei) return price;
  const lowered = isCallers || mostWei <= 0n || freeWei > feesWei ? null : await atMost(mostWei, chosen);
  if (lowered !== null) return lowered;
  const costWei = valueWei + neededWei + publishingFeeWei;
  const allowed = `max_cost of the rule ${bound.ruleId} is ${bound.max} wei`;
  const sentence = isFiller
    ? `a self-transfer may cost ${costWei} wei at this price, and ${allowed}; it can be sent when the price falls`
    : outbids.length === 0
      ? `waiting: the transaction${neededWei === freeWei ? ', or what frees its slot,' : ''} may cost ${costWei} wei, and ${allowed}; will send when the price falls`
      : `a replacement may cost ${costWei} wei, and ${allowed}; the current attempt stays live`;
  return { refused: 'above_max_cost', sentence, lasting: false, ruleId: bound.ruleId };
}

/** The L1 fee of a self-transfer, without its rise since the attempts that it outbids were signed. */
function sinceSigned({ publishingFeeWei, outbids }: CostedPrice): bigint {
  const [first, ...others] = outbids.map(({ fields }) => onNetwork('evm', fields).publishingFeeWei);
  return first === undefined ? publishingFeeWei : min(publishingFeeWei, max(first, ...others));
}

/** What the next block takes for a self-transfer, per gas. */
async function perGasToFree({ price: { kind }, market }: ChosenPrice): Promise<bigint> {
  const baseFeeWei = (await market.baseFeeWei()) ?? 0n;
  if (kind === 'legacy' && baseFeeWei > 0n) return baseFeeWei;
  const price = await market.priceToFree(kind);
  return price.kind === 'legacy' ? price.gasPriceWei : baseFeeWei + price.maxPriorityFeePerGasWei;
}

/** The highest price per gas that one of `mostWei` outbids: see `minimumReplacement`. */
function outbiddableUpTo(mostWei: bigint): bigint {
  return (mostWei * 10n - 1n) / 11n;
}

/** True if there is a base fee, which a bid of `mostWei` pays. */
function paysBaseFee(baseFeeWei: bigint | null, mostWei: bigint): boolean {
  return baseFeeWei !== null && baseFeeWei > 0n && baseFeeWei <= mostWei;
}
