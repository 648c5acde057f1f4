import { z } from 'zod';
import { defaultPolicies, type StellarPolicies } from '../core/relayer/relayer.js';
import { amount } from './field-schemas.js';
import { feePaymentStrategy, userPaidSetting } from './user-paid-fees.js';

/** `policies` of a Stellar relayer. */
export const stellarPoliciesSchema = z.strictObject({
  fee_payment_strategy: feePaymentStrategy.nullish(),
  min_balance: amount(0n).nullish(),
  max_fee: amount(1n).nullish(),
  timeout_seconds: z.null('is not supported; the time bounds of a transaction are its valid_until').optional(),
  concurrent_transactions: z
    .boolean()
    .refine((wanted) => !wanted, 'concurrent transactions are not supported; leave it out or set it to false')
    .nullish(),
  allowed_tokens: userPaidSetting,
  slippage_percentage: userPaidSetting,
  fee_margin_percentage: userPaidSetting,
  swap_config: userPaidSetting,
});

/** What is not said is as `defaultPolicies` has it. */
export function stellarPoliciesFromFields(fields: z.output<typeof stellarPoliciesSchema>): StellarPolicies {
  const { minBalanceStroops, maxFeeStroops } = defaultPolicies.stellar;
  return { network: 'stellar', minBalanceStroops: fields.min_balance ?? minBalanceStroops, maxFeeStroops: fields.max_fee ?? maxFeeStroops };
}
