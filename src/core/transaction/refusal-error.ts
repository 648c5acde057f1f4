import { DomainError } from '../errors.js';
import type { Refusal } from '../ports/chain.js';

/** True when the chain refused to make a version. */
export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/** The 400 that a caller gets whose replacement or cancel the chain refuses. */
export function refusalError(refusal: Refusal): DomainError {
  switch (refusal.refused) {
    case 'reverts':
      return new DomainError('invalid', 'EXECUTION_REVERTED', refusal.sentence);
    case 'insufficient_funds':
      return new DomainError('precondition', 'INSUFFICIENT_FUNDS', refusal.sentence);
    case 'above_cap':
      return new DomainError('invalid', 'GAS_PRICE_CAP_EXCEEDED', refusal.sentence);
    case 'underpriced':
      return new DomainError('invalid', 'REPLACEMENT_UNDERPRICED', refusal.sentence);
    case 'gas_limit':
      return new DomainError('invalid', 'FIELD_INVALID', refusal.sentence, {
        fields: [{ field: 'gas_limit', description: refusal.sentence }],
      });
  }
}
