import { DomainError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/records/principal.js';
import type { RequiredScope } from '../contract/method-plan.js';
import { credentialsInvalid } from '../contract/shared-errors.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';

/** Returns the principal of a key; undefined if the key is unknown or expired. */
export type Authenticate = (token: string) => Principal | undefined;

/** RFC 6750: the scheme in any case, one or more spaces, a token of visible ASCII. */
const bearerPattern = /^bearer +([\x21-\x7e]{1,4096})$/i;

/** Returns the caller. Throws `unauthenticated` CREDENTIALS_INVALID unless exactly one `Authorization` header holds a valid bearer key. */
export function principalOf(request: ApiRequest, authenticate: Authenticate): Principal {
  const values = headerValuesOf(request, 'authorization');
  const [value] = values;
  if (value === undefined) throw credentialsInvalid('the Authorization header is missing: send "Authorization: Bearer <key>"');
  if (values.length > 1) throw credentialsInvalid('there is more than one Authorization header');
  const token = bearerPattern.exec(value)?.[1];
  if (token === undefined) throw credentialsInvalid('the Authorization header must be "Bearer <key>"');
  const principal = authenticate(token);
  if (principal === undefined) throw credentialsInvalid('the key is not valid');
  return principal;
}

/** Throws `forbidden` SCOPE_MISSING unless the key has the scope. Any valid key passes `authenticated`. */
export function checkScope(principal: Principal, required: Exclude<RequiredScope, 'public'>): void {
  if (required === 'authenticated' || principal.scopes.has(required)) return;
  throw new DomainError('forbidden', 'SCOPE_MISSING', `the key lacks the scope ${required}`, { metadata: { scope: required } });
}
