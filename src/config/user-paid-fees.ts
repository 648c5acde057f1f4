import { z } from 'zod';

/** What is wrong with `fee_payment_strategy` where it says, or means, that users pay. */
export const userPaysProblem = 'fees that the user pays are not supported; set it to "relayer"';

/** Who pays the fee: only the relayer may. */
export const feePaymentStrategy = z
  .enum(['relayer', 'user'], 'must be "relayer"')
  .refine((strategy) => strategy === 'relayer', `must be "relayer": ${userPaysProblem}`);

/** A setting of fees that users pay in tokens; taken where it asks for nothing (null, an empty list or object). */
export const userPaidSetting = z
  .unknown()
  .refine(
    (value) => value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0),
    'is for fees that the user pays, which are not supported; leave it out',
  )
  .optional();
