import type { Refusal } from '../ports/chain.js';
import type { EvmPrice } from '../transaction/evm.js';
import { type Bid, bidOf, greatestCostPerGasWei, loweredTo, raisedTo, reaches } from './price.js';

/** What a price is chosen from; all amounts in wei per gas. */
export interface PriceChoice {
  /** What the caller asked to pay; null: the market's price. */
  readonly explicit: EvmPrice | null;
  /** The market's price, of the same type as the explicit one when there is one. */
  readonly market: EvmPrice;
  /** What the next block charges at least; null where blocks have no base fee. */
  readonly baseFeeWei: bigint | null;
  readonly capWei: bigint | null;
  /** What the slot's earlier versions demand; null in an empty slot. */
  readonly minimum: Bid | null;
  /** `caller`: a demand of the caller. `service`: the service bids more by itself, for content that it has accepted. `self_transfer`: it frees a slot. */
  readonly bidder: 'caller' | 'service' | 'self_transfer';
}

/**
 * The price of the next version, or why there is none.
 *
 * - In an empty slot the market's price is lowered to the cap, and nothing takes a nonce while the base fee is above the cap.
 * - What a caller demands in a taken slot is met or refused, never bent.
 * - The service's own bid goes as near to the market as the cap lets it, and is refused only where even the minimum breaks the cap.
 * - A self-transfer may pass the cap up to the minimum, never to the market: a slot that cannot be freed blocks all later ones.
 */
export function choosePrice(choice: PriceChoice): EvmPrice | Refusal {
  const { explicit, market, capWei, minimum, bidder } = choice;
  if (explicit !== null && bidder === 'caller') return demanded(explicit, choice);
  const wanted = explicit === null ? market : minimum === null ? explicit : raisedTo(explicit, bidOf(market));
  if (minimum === null) return whileAboveCap(choice) ?? loweredTo(wanted, capWei);
  if (bidder === 'self_transfer') return raisedTo(loweredTo(wanted, capWei), minimum);
  const price = raisedTo(bidder === 'service' ? loweredTo(wanted, capWei) : wanted, minimum);
  if (capWei !== null && greatestCostPerGasWei(price) > capWei) return replacementAboveCap(greatestCostPerGasWei(price), capWei);
  return price;
}

function demanded(explicit: EvmPrice, choice: PriceChoice): EvmPrice | Refusal {
  const { capWei, minimum } = choice;
  if (capWei !== null && greatestCostPerGasWei(explicit) > capWei) {
    const sentence = `the price of ${greatestCostPerGasWei(explicit)} wei per gas is above the relayer's gas_price_cap of ${capWei} wei`;
    return { refused: 'above_cap', sentence, lasting: true };
  }
  if (minimum === null) return whileAboveCap(choice) ?? explicit;
  if (reaches(explicit, minimum)) return explicit;
  const least = raisedTo(explicit, minimum);
  if (capWei !== null && greatestCostPerGasWei(least) > capWei) return replacementAboveCap(greatestCostPerGasWei(least), capWei);
  return { refused: 'underpriced', sentence: underpricedSentence(explicit, minimum), lasting: true };
}

function whileAboveCap({ baseFeeWei, capWei }: PriceChoice): Refusal | null {
  if (capWei === null || baseFeeWei === null || baseFeeWei <= capWei) return null;
  const sentence = `waiting for the base fee of ${baseFeeWei} wei per gas to fall to the relayer's gas_price_cap of ${capWei} wei`;
  return { refused: 'above_cap', sentence, lasting: false };
}

function replacementAboveCap(leastWei: bigint, capWei: bigint): Refusal {
  const sentence = `the replacement would have to bid ${leastWei} wei per gas, which is above the relayer's gas_price_cap of ${capWei} wei`;
  return { refused: 'above_cap', sentence, lasting: false };
}

function underpricedSentence(explicit: EvmPrice, minimum: Bid): string {
  if (explicit.kind === 'legacy') {
    return `gas_price must be at least ${greatestCostPerGasWei(raisedTo(explicit, minimum))} wei to replace the earlier version`;
  }
  const { maxFeePerGasWei, maxPriorityFeePerGasWei } = minimum;
  return `max_fee_per_gas must be at least ${maxFeePerGasWei} wei and max_priority_fee_per_gas at least ${maxPriorityFeePerGasWei} wei to replace the earlier version`;
}
