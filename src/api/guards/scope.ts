import type { Principal } from '../../core/access/principal.js';
import { DomainError } from '../../core/errors.js';
import type { RequiredScope } from '../contract/method-plan.js';

/** Throws `forbidden` SCOPE_MISSING unless the key has the scope. Any valid key will do for `authenticated`. */
export function checkScope(principal: Principal, required: Exclude<RequiredScope, 'public'>): void {
  if (required === 'authenticated' || principal.scopes.has(required)) return;
  throw new DomainError('forbidden', 'SCOPE_MISSING', `the key lacks the scope ${required}`);
}
