import { isUnavailable } from '../../core/errors/unavailable.js';
import type { FeeBumpRequest, Refusal } from '../../core/ports/chain/drafts.js';
import type { EvmDraft } from '../../core/records/evm.js';
import { onNetwork } from '../../core/records/on-network.js';
import { boundedCosts, fillerCosts, withPublishingFee } from './attempt-costs.js';
import { withinCeiling } from './fee-ceiling.js';
import { type PricingDeps, priceAttempt, selfTransferPricing } from './price-attempt.js';
import type { PublishingFee } from './publishing-fee.js';

/**
 * Drafts the live attempt with a higher price: the market price for its speed (`fast` if the first bid was explicit), and at least enough
 * to outbid every earlier attempt. Refuses if the bid meets the market price already, unless a node demands more. If nodes accept none that
 * may cost so much, the price goes down instead. A rule's `max_cost` holds. Estimates nothing, unless the network charges for publishing as
 * gas. Throws `NODE_UNAVAILABLE`.
 */
export async function bumpFee(
  deps: PricingDeps & {
    readonly publishingFee: PublishingFee;
    readonly gasLimitNow: (request: FeeBumpRequest) => Promise<bigint>;
    readonly freeingGas: (request: FeeBumpRequest) => Promise<bigint>;
    readonly maxFeeWei: bigint | null;
  },
  request: FeeBumpRequest,
): Promise<EvmDraft | Refusal> {
  const { relayer, live, outbids, reason } = request;
  const content = onNetwork('evm', request.content);
  const policies = onNetwork('evm', relayer.policies);
  const bid =
    live.purpose === 'content'
      ? ({ pricing: content.pricing, bidder: 'service' } as const)
      : ({ pricing: selfTransferPricing, bidder: 'self_transfer' } as const);
  const { to, valueWei, data, call, price: livePrice, publishingFeeWei } = onNetwork('evm', live.fields);
  const first = onNetwork('evm', (outbids[0] ?? live).fields).price;
  const price = await priceAttempt(deps, { policies, outbids, ...bid, bump: { live: livePrice, first, reason } });
  if ('refused' in price) return price;
  const gasLimit = await deps.gasLimitNow(request);
  const isFiller = live.purpose !== 'content';
  const bounded = await withinCeiling(deps.maxFeeWei, { price, gasLimit, outbids, isFiller, market: deps.market });
  if ('refused' in bounded) return bounded;
  const unpublished = { network: 'evm', to, valueWei, data, ...(call && { call }), gasLimit, price: bounded } as const;
  const costs = isFiller ? fillerCosts(content, policies.rules) : boundedCosts(content, policies.rules, request.approvals ?? 0);
  const slot = { ...costs, outbids, isFiller, isCallers: false, liveFeeWei: publishingFeeWei, freeingGas: () => deps.freeingGas(request) };
  // An L1 fee that no node reports now is not 0.
  const published = withPublishingFee(deps, unpublished, slot);
  // Other transactions must not wait for what reports it.
  return published.catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
    return { refused: 'above_max_cost', sentence: 'its cost is unknown; the current attempt stays live', lasting: false };
  });
}
