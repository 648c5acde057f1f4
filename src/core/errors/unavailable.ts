import { DomainError } from './errors.js';

/** True if no RPC node answered: this says nothing about the chain. */
export function isUnavailable(error: unknown): error is DomainError & { readonly reason: 'NODE_UNAVAILABLE' } {
  return error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';
}

/** Returns null if no RPC node answered a question whose answer can be missing. Rethrows any other error. */
export function nullIfUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}
