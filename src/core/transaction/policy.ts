import { DomainError, invalidField } from '../errors.js';
import { evmPoliciesOf, type Relayer } from '../relayer/relayer.js';
import type { EvmContent } from './transaction.js';

/** Throws 400 where the relayer's policies do not allow the content: at once, for sends and replacements alike. */
export function requirePolicy(relayer: Relayer, content: EvmContent): void {
  const { whitelistReceivers, gasPriceCapWei, gasLimitEstimation } = evmPoliciesOf(relayer.policies);
  if (whitelistReceivers !== null && !isAllowedReceiver(relayer, whitelistReceivers, content.to)) {
    const words = content.to === null ? 'the relayer may not create contracts' : `the relayer may not send to ${content.to}`;
    throw new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `${words}: its whitelist_receivers does not have it`, {
      fields: [{ field: 'to', description: "is not in the relayer's whitelist_receivers" }],
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
    });
  }
}

function isAllowedReceiver(relayer: Relayer, allowed: readonly string[], to: string | null): boolean {
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
