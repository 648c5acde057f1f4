import { choosePrice, type PriceChoice } from '../../core/fees/choose-price.js';
import { type Bid, loweredTo, maxCostPerGasWei, minimumOutbid } from '../../core/fees/price.js';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max } from '../../core/records/bigints.js';
import type { EvmPrice, EvmPricing } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { EvmPolicies } from '../../core/records/relayer.js';
import type { Attempt } from '../../core/records/transaction.js';
import type { Counts, Market } from './market.js';
import type { OwnBids } from './own-bids.js';

/** The dependencies of `priceAttempt`. */
export interface PricingDeps {
  readonly network: EvmNetwork;
  readonly market: Market;
  readonly ownBids: OwnBids;
}

/** The inputs of the price of an attempt. */
export interface PriceRequest {
  readonly policies: EvmPolicies;
  readonly pricing: EvmPricing;
  readonly outbids: readonly Attempt[];
  readonly bidder: PriceChoice['bidder'];
  /** Null: the attempt is no fee bump. */
  readonly bump: PriceChoice['bump'];
}

/** The pricing of every self-transfer, regardless of the price of the attempt that it replaces. */
export const selfTransferPricing = { kind: 'speed', speed: 'fast' } as const satisfies EvmPricing;

/**
 * Sets the price of an attempt, or reports why there is none. An attempt must outbid the earlier ones on every network: a sequencer without
 * a public pool does not compare bids, but a higher bid does no harm there. Throws `NODE_UNAVAILABLE`.
 */
export async function priceAttempt(
  { network, market, ownBids }: PricingDeps,
  { policies, pricing, outbids, bidder, bump }: PriceRequest,
): Promise<EvmPrice | Refusal> {
  const explicit = pricing.kind === 'speed' ? null : pricing;
  const isEip1559 = network.eip1559 && policies.eip1559Pricing;
  const minimum = minimumToOutbid(outbids);
  const contentMinimum = minimumToOutbidContent(outbids);
  const marketPrice = (counts: Counts): Promise<EvmPrice> => {
    const kind = pricing.kind !== 'speed' ? pricing.kind : isEip1559 ? 'eip1559' : 'legacy';
    if (bidder === 'self_transfer') return market.priceToFree(kind, counts);
    return market.priceOf(pricing.kind === 'speed' ? pricing.speed : 'fast', kind, counts);
  };
  // A caller's explicit price does not depend on the market, and the base fee matters only for a cap or a fee bump.
  const [price, baseFeeWei] = await Promise.all([
    explicit !== null && bidder === 'caller'
      ? explicit
      : bump?.reason === 'waited'
        ? approached(bump.live, marketPrice)
        : marketPrice('lower'),
    policies.gasPriceCapWei === null && bump === null ? null : market.baseFeeWei(bump?.reason === 'waited' ? 'higher' : 'lower'),
  ]);
  const capWei = policies.gasPriceCapWei;
  const chosen = choosePrice({ explicit, market: price, baseFeeWei, capWei, minimum, contentMinimum, bidder, bump });
  // A caller's explicit price is the caller's word about the market.
  if (!('refused' in chosen) && (explicit === null || bidder !== 'caller')) ownBids.chosen(chosen);
  return chosen;
}

/** A bid that has waited approaches a price about which endpoints contradict each other by this factor at most. */
const approachFactor = 10n;
/** A step up to this is small in any case: a payment costs 0.00021 units of the native currency. */
const smallWei = 10n * 10n ** 9n;

/**
 * The market price for a bid that has waited. The higher one counts, but no step to it is larger than the factor: if it is a lie, each bid
 * stays payable.
 */
async function approached(live: EvmPrice, priceBy: (counts: Counts) => Promise<EvmPrice>): Promise<EvmPrice> {
  const [lower, higher] = [await priceBy('lower'), await priceBy('higher')];
  const next = loweredTo(higher, max(smallWei, maxCostPerGasWei(live) * approachFactor));
  return maxCostPerGasWei(next) > maxCostPerGasWei(lower) ? next : lower;
}

/** The minimum bid that outbids these attempts; null: there are none. */
export function minimumToOutbid(outbids: readonly Attempt[]): Bid | null {
  return minimumOutbid(outbids.map(({ fields }) => onNetwork('evm', fields).price));
}

/** The same, of attempts that are no self-transfers. */
export function minimumToOutbidContent(outbids: readonly Attempt[]): Bid | null {
  return minimumToOutbid(outbids.filter(({ purpose }) => purpose === 'content'));
}
