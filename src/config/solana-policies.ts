import { z } from 'zod';
import { defaultPolicies, type SolanaPolicies } from '../core/relayer/relayer.js';
import { amount, integerBetween } from './field-schemas.js';
import { isSolanaAddress } from './solana-address.js';
import { feePaymentStrategy, userPaidSetting, userPaysProblem } from './user-paid-fees.js';

const addresses = z.array(z.string().refine(isSolanaAddress, 'must be an address: base58 of 32 bytes')).nullish();

/** The greatest transaction that the network carries. */
const greatestTransactionBytes = 1232;

/** `policies` of a Solana relayer. */
export const solanaPoliciesSchema = z
  .strictObject({
    // The existing relayer takes "user" where nothing is said: the file must say that it means another.
    fee_payment_strategy: z.preprocess(
      (value) => value ?? undefined,
      z
        .unknown()
        .refine((value) => value !== undefined, `is "user" where it is not said: ${userPaysProblem}`)
        .pipe(feePaymentStrategy),
    ),
    min_balance: amount(0n).nullish(),
    max_allowed_fee_lamports: amount(1n).nullish(),
    allowed_programs: addresses,
    allowed_accounts: addresses,
    disallowed_accounts: addresses,
    max_signatures: integerBetween(1, 255).nullish(),
    max_tx_data_size: integerBetween(1, greatestTransactionBytes).nullish(),
    allowed_tokens: userPaidSetting,
    fee_margin_percentage: userPaidSetting,
    swap_config: userPaidSetting,
  })
  .refine(({ allowed_accounts, disallowed_accounts }) => !allowed_accounts?.length || !disallowed_accounts?.length, {
    path: ['disallowed_accounts'],
    error: 'cannot be there together with allowed_accounts',
  });

/** What is not said is as `defaultPolicies` has it. */
export function solanaPoliciesFromFields(fields: z.output<typeof solanaPoliciesSchema>): SolanaPolicies {
  const unsaid = defaultPolicies.solana;
  return {
    network: 'solana',
    minBalanceLamports: fields.min_balance ?? unsaid.minBalanceLamports,
    maxAllowedFeeLamports: fields.max_allowed_fee_lamports ?? unsaid.maxAllowedFeeLamports,
    allowedPrograms: listOrAll(fields.allowed_programs),
    allowedAccounts: listOrAll(fields.allowed_accounts),
    disallowedAccounts: fields.disallowed_accounts ?? unsaid.disallowedAccounts,
    maxSignatures: fields.max_signatures ?? unsaid.maxSignatures,
    maxTxDataSizeBytes: fields.max_tx_data_size ?? unsaid.maxTxDataSizeBytes,
  };
}

/** An empty list allows all, as one that is not there. */
function listOrAll(list: readonly string[] | null | undefined): readonly string[] | null {
  return list?.length ? list : null;
}
