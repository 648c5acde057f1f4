import { DomainError } from '../../core/errors/errors.js';
import { SigningHeldError } from '../../core/ports/database-state.js';
import type { LaneInputs } from './lane-inputs.js';

/** True if no RPC node answered: this says nothing about the chain. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';
}

/** The error of a signer that gave no signature. */
export type SignerAway = Pick<DomainError, 'message'> & Partial<Pick<DomainError, 'retryAfterMs'>>;

/** Returns the error if the signer of the relayer gave no signature, or may not be asked during a hold, else null. */
export function signerAwayError(error: unknown): SignerAway | null {
  if (error instanceof SigningHeldError) return error;
  return error instanceof DomainError && error.reason === 'SIGNER_UNAVAILABLE' ? error : null;
}

/**
 * Returns null if no node answered a question about one transaction, so that no other transaction waits for it. Rethrows any other error.
 */
export function nullIfUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}

/** Lets a question go on whose answer is used later. */
export function askAhead({ deps, relayer }: Pick<LaneInputs, 'deps' | 'relayer'>, answer: Promise<unknown>): void {
  answer.catch((error: unknown) => {
    if (!isUnavailable(error)) deps.log.error({ err: error, relayer: relayer().id }, 'a question to RPC nodes failed unexpectedly');
  });
}
