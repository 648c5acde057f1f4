import { DomainError } from '../../core/errors.js';

/** For what nodes are asked about one transaction: no answer is null, so that it holds up no other. Anything else is thrown on. */
export function nullIfUnavailable(error: unknown): null {
  if (error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE') return null;
  throw error;
}
