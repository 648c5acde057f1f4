import { DomainError } from '../../core/errors/errors.js';
import { isUnavailable } from '../../core/errors/unavailable.js';
import { SigningHeldError } from '../../core/ports/database-state.js';
import type { LaneInputs } from './lane-inputs.js';

/** The error of a signer that gave no signature. */
export type SignerAway = Pick<DomainError, 'message'> & Partial<Pick<DomainError, 'retryAfterMs'>>;

/** Returns the error if the signer of the relayer gave no signature, or may not be asked during a hold, else null. */
export function signerAwayError(error: unknown): SignerAway | null {
  if (error instanceof SigningHeldError) return error;
  return error instanceof DomainError && error.reason === 'SIGNER_UNAVAILABLE' ? error : null;
}

/** Lets a question go on whose answer is used later. */
export function askAhead({ deps, relayer }: Pick<LaneInputs, 'deps' | 'relayer'>, answer: Promise<unknown>): void {
  answer.catch((error: unknown) => {
    if (!isUnavailable(error)) deps.log.error({ err: error, relayer: relayer().id }, 'a question to RPC nodes failed unexpectedly');
  });
}
