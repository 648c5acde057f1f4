import { DomainError, invalidField } from '../errors/errors.js';
import type { EvmContent, EvmPricing } from '../records/evm.js';
import type { EvmPolicies, Relayer } from '../records/relayer.js';

/** The parts of content that policies apply to; a part that is absent is not checked. */
type Parts = Partial<Pick<EvmContent, 'to' | 'gasLimit' | 'pricing'>>;

/** Throws 400 if an EVM relayer's policies do not allow the content. Sends and replacements are checked at once. */
export function requireEvmPolicy(relayer: Pick<Relayer, 'address'>, policies: EvmPolicies, content: Parts): void {
  const { gasPriceCapWei, gasLimitEstimation } = policies;
  const description = content.to === undefined ? null : whyReceiverForbidden(relayer, policies, content.to);
  if (description !== null) {
    throw new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `to ${description}`, {
      fields: [{ field: 'to', description }],
      ...(content.to == null ? {} : { metadata: { receiver: content.to } }),
    });
  }
  if (!gasLimitEstimation && content.gasLimit === null) {
    throw invalidField('gas_limit', "is required: the relayer's policy gas_limit_estimation is false");
  }
  const price = content.pricing === undefined ? null : explicitPriceOf(content.pricing);
  if (gasPriceCapWei !== null && price !== null && price.wei > gasPriceCapWei) {
    const description = `must be at most ${gasPriceCapWei} wei, the relayer's gas_price_cap`;
    throw new DomainError('invalid', 'GAS_PRICE_CAP_EXCEEDED', `${price.field} ${description}`, {
      fields: [{ field: price.field, description }],
      metadata: { actual_wei: String(price.wei), cap_wei: String(gasPriceCapWei) },
    });
  }
}

/** Returns why an EVM relayer's policies forbid a receiver, to follow the field's name; null if they allow it. */
export function whyReceiverForbidden(
  relayer: Pick<Relayer, 'address'>,
  { whitelistReceivers }: EvmPolicies,
  to: string | null,
): string | null {
  if (whitelistReceivers === null) return null;
  if (to === null) return "is required: the relayer's whitelist_receivers does not allow creating contracts";
  if (to === relayer.address || whitelistReceivers.includes(to.toLowerCase())) return null;
  return `is ${to}, which is not in the relayer's whitelist_receivers`;
}

function explicitPriceOf(pricing: EvmPricing): { field: string; wei: bigint } | null {
  switch (pricing.kind) {
    case 'speed':
      return null;
    case 'legacy':
      return { field: 'gas_price', wei: pricing.gasPriceWei };
    case 'eip1559':
      return { field: 'max_fee_per_gas', wei: pricing.maxFeePerGasWei };
  }
}
