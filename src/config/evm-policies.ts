import { z } from 'zod';
import { defaultPolicies, type EvmPolicies } from '../core/relayer/relayer.js';
import { amount, integerBetween } from './field-schemas.js';

/** `policies` of an EVM relayer. */
export const evmPoliciesSchema = z.strictObject({
  min_balance: amount(0n).nullish(),
  gas_price_cap: amount(1n).nullish(),
  whitelist_receivers: z
    .array(z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits'))
    .min(1, 'must name at least one address; leave it out to allow all')
    .nullish(),
  eip1559_pricing: z.boolean().nullish(),
  gas_limit_estimation: z.boolean().nullish(),
  include_revert_data: z.boolean().nullish(),
  max_in_flight: integerBetween(1, 100_000).nullish(),
  private_transactions: z
    .boolean()
    .refine((wanted) => !wanted, 'private transactions are not supported; leave it out or set it to false')
    .nullish(),
});

/** What is not said is as `defaultPolicies` has it. */
export function evmPoliciesFromFields(fields: z.output<typeof evmPoliciesSchema>): EvmPolicies {
  const unsaid = defaultPolicies.evm;
  return {
    network: 'evm',
    minBalanceWei: fields.min_balance ?? unsaid.minBalanceWei,
    gasPriceCapWei: fields.gas_price_cap ?? unsaid.gasPriceCapWei,
    whitelistReceivers: fields.whitelist_receivers?.map((address) => address.toLowerCase()) ?? unsaid.whitelistReceivers,
    eip1559Pricing: fields.eip1559_pricing ?? unsaid.eip1559Pricing,
    gasLimitEstimation: fields.gas_limit_estimation ?? unsaid.gasLimitEstimation,
    includeRevertData: fields.include_revert_data ?? unsaid.includeRevertData,
    maxInFlight: fields.max_in_flight ?? unsaid.maxInFlight,
  };
}
