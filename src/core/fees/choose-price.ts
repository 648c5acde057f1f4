import type { BumpReason, Refusal } from '../ports/chain/drafts.js';
import { max } from '../records/bigints.js';
import type { EvmPrice } from '../records/evm.js';
import { meetsMarket } from './escalation.js';
import { type Bid, bidOf, loweredTo, maxCostPerGasWei, minimumReplacement, raisedTo, reaches } from './price.js';

/** The inputs of a price. All amounts are in wei per gas. */
export interface PriceChoice {
  /** The caller's price; null: the market price. */
  readonly explicit: EvmPrice | null;
  /** The market price, of the same type as the explicit one if there is one. */
  readonly market: EvmPrice;
  /** The base fee of the next block; null on networks without one. */
  readonly baseFeeWei: bigint | null;
  readonly capWei: bigint | null;
  /** The minimum bid that outbids the slot's earlier attempts; null if the slot is empty. */
  readonly minimum: Bid | null;
  /** The minimum bid that outbids the slot's attempts that are no self-transfers; null: there is none. */
  readonly contentMinimum: Bid | null;
  /** `caller`: the caller asked for this attempt. `service`: a fee bump by the service itself. `self_transfer`: it frees a slot. */
  readonly bidder: 'caller' | 'service' | 'self_transfer';
  /** Set if this is a fee bump: the service bids more by itself for a live attempt. */
  readonly bump: Bump | null;
}

/** The limits of a fee bump. */
export interface Bump {
  readonly live: EvmPrice;
  /** The first bid in the slot. */
  readonly first: EvmPrice;
  readonly reason: BumpReason;
}

/**
 * The service never bids more by itself than this multiple of the market price, or of the bid that the caller began with. A base fee rises
 * tenfold in 20 full blocks, and each bump follows it there, so a higher bid does not follow the market: a node, or a mistake, drives the
 * price.
 */
const maxBumpFactor = 10n;

/**
 * Chooses the price of the next attempt, or refuses.
 *
 * - In an empty slot the market price is lowered to the cap. While the base fee is above the cap, nothing takes a nonce.
 * - A caller's explicit price for a taken slot is used as it is or refused, never adjusted.
 * - A fee bump comes as near to the market as the cap allows. It is refused only if even the minimum is above the cap.
 * - A fee bump goes towards the market, or to what a node demands: a bid that meets the market stays as it is, and no bid exceeds
 *   `maxBumpFactor`.
 * - A self-transfer may exceed the cap by one step, to outbid attempts up to it, and as far as content in its slot demands, which may be
 *   older than the cap. It never exceeds the cap up to the market. A slot that cannot be freed blocks all later ones.
 */
export function choosePrice(choice: PriceChoice): EvmPrice | Refusal {
  const { bump } = choice;
  if (bump?.reason === 'too_expensive') return lowered(bump.live, choice);
  if (bump?.reason === 'waited' && reaches(bump.live, leastBid(choice))) return meetsMarket;
  const price = withinCap(choice);
  return bump === null || 'refused' in price ? price : (beyondBumpLimit(price, bump, choice) ?? price);
}

function withinCap(choice: PriceChoice): EvmPrice | Refusal {
  const { explicit, market, capWei, minimum, contentMinimum, bidder } = choice;
  if (explicit !== null && bidder === 'caller') return callersPrice(explicit, choice);
  const wanted = explicit === null ? market : minimum === null ? explicit : raisedTo(explicit, bidOf(market));
  if (minimum === null) return whileAboveCap(choice) ?? loweredTo(wanted, capWei);
  const price = raisedTo(bidder === 'caller' ? wanted : loweredTo(wanted, capWei), minimum);
  if (capWei === null) return price;
  const highestWei = bidder === 'self_transfer' ? highestToFree(capWei, contentMinimum) : capWei;
  if (maxCostPerGasWei(price) <= highestWei) return price;
  const least = maxCostPerGasWei(leastOf(price.kind, minimum));
  return bidder === 'caller' && least <= capWei ? marketAboveCap(price, least, capWei) : replacementAboveCap(least, capWei);
}

/**
 * The maximum price of a self-transfer: one step above the limit outbids attempts up to it. Content may be from before a lower limit.
 * A further step would outbid the first self-transfer, and so on without an end.
 */
export function highestToFree(limitWei: bigint, contentMinimum: Bid | null): bigint {
  return max(minimumReplacement({ kind: 'legacy', gasPriceWei: limitWei }).maxFeePerGasWei, contentMinimum?.maxFeePerGasWei ?? 0n);
}

/**
 * The bid with which the next block can pay the market's priority fee. The market's own max fee leaves more room for a base fee that rises.
 */
function leastBid({ market, baseFeeWei }: PriceChoice): Bid {
  const { maxPriorityFeePerGasWei, maxFeePerGasWei } = bidOf(market);
  const needed = market.kind === 'legacy' ? maxFeePerGasWei : (baseFeeWei ?? 0n) + maxPriorityFeePerGasWei;
  return { maxFeePerGasWei: needed, maxPriorityFeePerGasWei };
}

/**
 * The lowest price that the next block takes and that outbids what nodes hold, if it is below the live one. A caller's own price is never
 * lowered.
 */
function lowered(live: EvmPrice, choice: PriceChoice): EvmPrice | Refusal {
  const least = leastBid(choice);
  const lowest: EvmPrice = live.kind === 'legacy' ? { kind: 'legacy', gasPriceWei: least.maxFeePerGasWei } : { kind: 'eip1559', ...least };
  const price = choice.minimum === null ? lowest : raisedTo(lowest, choice.minimum);
  // At least a tenth less, because each attempt is stored permanently.
  if (choice.explicit === null && maxCostPerGasWei(price) * 10n <= maxCostPerGasWei(live) * 9n) return price;
  const why =
    choice.explicit === null
      ? 'a lower price would not be mined; will send when the market price falls'
      : 'the service does not lower a price that the caller set; cancel it, or add an RPC node with a higher fee cap';
  const sentence = `waiting: every RPC node rejects the maximum cost of this transaction; ${why}`;
  return { refused: 'bump_limit', sentence, lasting: false };
}

function beyondBumpLimit(price: EvmPrice, { first }: Bump, { explicit, market }: PriceChoice): Refusal | null {
  const bids = [first, market, ...(explicit === null ? [] : [explicit])].map(bidOf);
  const limit = {
    maxFeePerGasWei: maxBumpFactor * max(1n, ...bids.map((bid) => bid.maxFeePerGasWei)),
    maxPriorityFeePerGasWei: maxBumpFactor * max(1n, ...bids.map((bid) => bid.maxPriorityFeePerGasWei)),
  };
  if (reaches({ kind: 'eip1559', ...limit }, bidOf(price))) return null;
  const sentence = `fee not increased: a bid of ${maxCostPerGasWei(price)} wei per gas would be more than ${maxBumpFactor} times the market price and the first bid; the current attempt stays live`;
  return { refused: 'bump_limit', sentence, lasting: false };
}

function callersPrice(explicit: EvmPrice, choice: PriceChoice): EvmPrice | Refusal {
  const { capWei, minimum } = choice;
  if (capWei !== null && maxCostPerGasWei(explicit) > capWei) {
    const field = explicit.kind === 'legacy' ? 'gas_price' : 'max_fee_per_gas';
    const sentence = `${field} is ${maxCostPerGasWei(explicit)} wei; the relayer's gas_price_cap allows at most ${capWei} wei`;
    const metadata = { actual_wei: String(maxCostPerGasWei(explicit)), cap_wei: String(capWei) };
    return { refused: 'above_cap', sentence, lasting: true, metadata };
  }
  if (minimum === null) return whileAboveCap(choice) ?? explicit;
  if (reaches(explicit, minimum)) return explicit;
  const neededWei = maxCostPerGasWei(raisedTo(explicit, minimum));
  if (capWei !== null && neededWei > capWei) return replacementAboveCap(neededWei, capWei);
  const metadata = {
    minimum_wei: String(explicit.kind === 'legacy' ? neededWei : minimum.maxFeePerGasWei),
    ...(explicit.kind === 'legacy' ? {} : { minimum_priority_wei: String(minimum.maxPriorityFeePerGasWei) }),
  };
  return { refused: 'underpriced', sentence: underpricedSentence(explicit, minimum), lasting: true, metadata };
}

function whileAboveCap({ baseFeeWei, capWei }: PriceChoice): Refusal | null {
  if (capWei === null || baseFeeWei === null || baseFeeWei <= capWei) return null;
  const sentence = `waiting: base fee ${inGwei(baseFeeWei)} is above gas_price_cap ${inGwei(capWei)}; will send when it falls`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { base_fee_wei: String(baseFeeWei), cap_wei: String(capWei) } };
}

/** The lowest price of this type that reaches a bid. */
function leastOf(kind: EvmPrice['kind'], bid: Bid): EvmPrice {
  return raisedTo(kind === 'legacy' ? { kind, gasPriceWei: 0n } : { kind, maxFeePerGasWei: 0n, maxPriorityFeePerGasWei: 0n }, bid);
}

/** A caller who names no price gets the market's, which may be above the cap although a lower one would replace. */
function marketAboveCap(market: EvmPrice, leastWei: bigint, capWei: bigint): Refusal {
  const sentence = `the market price ${inGwei(maxCostPerGasWei(market))} is above gas_price_cap ${inGwei(capWei)}; a price of at least ${inGwei(leastWei)} would replace the current attempt, which stays live`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { minimum_wei: String(leastWei), cap_wei: String(capWei) } };
}

function replacementAboveCap(neededWei: bigint, capWei: bigint): Refusal {
  const sentence = `a replacement must bid at least ${inGwei(neededWei)}, above gas_price_cap ${inGwei(capWei)}; the current attempt stays live`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { minimum_wei: String(neededWei), cap_wei: String(capWei) } };
}

function underpricedSentence(explicit: EvmPrice, minimum: Bid): string {
  if (explicit.kind === 'legacy') {
    return `gas_price must be at least ${maxCostPerGasWei(raisedTo(explicit, minimum))} wei to replace the earlier attempts`;
  }
  const { maxFeePerGasWei, maxPriorityFeePerGasWei } = minimum;
  return `max_fee_per_gas must be at least ${maxFeePerGasWei} wei and max_priority_fee_per_gas at least ${maxPriorityFeePerGasWei} wei to replace the earlier attempts`;
}

/** Writes an amount in gwei, exactly. */
function inGwei(wei: bigint): string {
  const digits = wei.toString().padStart(10, '0');
  return `${`${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')} gwei`;
}
