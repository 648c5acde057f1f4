import { DomainError } from '../../core/errors/errors.js';
import { SigningHeldError } from '../../core/ports/database-state.js';

/** The error of a signer that gave no signature. */
export type SignerAway = Pick<DomainError, 'message'> & Partial<Pick<DomainError, 'retryAfterMs'>>;

/** Returns the error if the signer of the relayer gave no signature, or may not be asked during a hold, else null. */
export function signerAwayError(error: unknown): SignerAway | null {
  if (error instanceof SigningHeldError) return error;
  return error instanceof DomainError && error.reason === 'SIGNER_UNAVAILABLE' ? error : null;
}
