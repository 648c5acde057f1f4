import type { Principal } from '../../core/access/principal.js';
import { credentialsInvalid } from '../contract/shared-errors.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';

/** Whose key this is; undefined: nobody's. */
export type Authenticate = (token: string) => Principal | undefined;

/** RFC 6750: the scheme in any case, one or more spaces, a token of visible ASCII. */
const bearerPattern = /^bearer +([\x21-\x7e]{1,4096})$/i;

/** Throws `unauthenticated` CREDENTIALS_INVALID unless the request has exactly one `Authorization` header, with the bearer key of somebody. */
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
