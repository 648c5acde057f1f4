import { DomainError, invalidField } from '../errors.js';
import type { EvmPolicies, Relayer } from '../relayer/relayer.js';
import type { EvmContent } from './evm.js';

/** Throws 400 if an EVM relayer's policies do not allow the content. Sends and replacements are checked at once. */
export function requireEvmPolicy(relayer: Pick<Relayer, 'address'>, policies: EvmPolicies, content: EvmContent): void {
  const { whitelistReceivers, gasPriceCapWei, gasLimitEstimation } = policies;
  if (whitelistReceivers !== null && !isAllowedReceiver(relayer, whitelistReceivers, content.to)) {
    const description =
      content.to === null
        ? "is required: the relayer's whitelist_receivers does not allow creating contracts"
        : `is ${content.to}, which is not in the relayer's whitelist_receivers`;
    throw new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `to ${description}`, {
      fields: [{ field: 'to', description }],
      ...(content.to === null ? {} : { metadata: { receiver: content.to } }),
    });
  }
  if (!gasLimitEstimation && content.gasLimit === null) {
    throw invalidField('gas_limit', "is required: the relayer's policy gas_limit_estimation is false");
  }
  const price = explicitPriceOf(content);
  if (gasPriceCapWei !== null && price !== null && price.wei > gasPriceCapWei) {
    const description = `must be at most ${gasPriceCapWei} wei, the relayer's gas_price_cap`;
    throw new DomainError('invalid', 'GAS_PRICE_CAP_EXCEEDED', `${price.field} ${description}`, {
      fields: [{ field: price.field, description }],
      metadata: { actual_wei: String(price.wei), cap_wei: String(gasPriceCapWei) },
    });
  }
}

function isAllowedReceiver(relayer: Pick<Relayer, 'address'>, allowed: readonly string[], to: string | null): boolean {
  if (to === null) return false;
  return to === relayer.address || allowed.includes(to.toLowerCase());
}

function explicitPriceOf(content: EvmContent): { field: string; wei: bigint } | null {
  switch (content.pricing.kind) {
    case 'speed':
      return null;
    case 'legacy':
      return { field: 'gas_price', wei: content.pricing.gasPriceWei };
    case 'eip1559':
      return { field: 'max_fee_per_gas', wei: content.pricing.maxFeePerGasWei };
  }
}
