import { invalidField } from '../../core/errors.js';
import type { SolanaPolicies } from '../../core/relayer/relayer.js';
import { computeBudgetOf, priorityFeeLamports, unitLimitOf } from './compute-budget.js';
import type { Message } from './wire.js';

/** What the network has charged for a signature since its beginning. What it charges now is asked when a version is made. */
const signatureFeeLamports = 5_000n;

/** The fee that a message names: for its signatures, and its priority fee where it bids one. */
export function namedFeeLamports(message: Message): bigint {
  const budget = computeBudgetOf(message);
  const price = budget.unitPriceMicroLamports ?? 0n;
  return signatureFeeLamports * BigInt(message.signers) + priorityFeeLamports(price, unitLimitOf(message, budget));
}

/**
 * Throws `DomainError` (400) naming `field` where the message itself names a fee above the relayer's `max_allowed_fee_lamports`. A bid of
 * its own is never changed, and one that the service adds stays within.
 */
export function requireFeeAllowed(field: string, message: Message, { maxAllowedFeeLamports }: SolanaPolicies): void {
  const fee = namedFeeLamports(message);
  if (maxAllowedFeeLamports !== null && fee > maxAllowedFeeLamports) {
    throw invalidField(field, `costs a fee of ${fee} lamports: at most ${maxAllowedFeeLamports}, the relayer's max_allowed_fee_lamports`);
  }
}
