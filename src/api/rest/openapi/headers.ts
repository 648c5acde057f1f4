import type { ErrorReason } from '../../../core/errors.js';
import { refTo, type Schema } from './schema.js';

const rateLimitNames = ['RateLimit', 'RateLimit-Policy'];

/** The headers that answers share, by name. */
export const headerComponents: Readonly<Record<string, Schema>> = {
  'X-Request-Id': {
    description: "The caller's own `X-Request-Id` where it is 1 to 128 of `A-Z a-z 0-9 . _ -`, else a new one. The log has it.",
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'Calls that are left (`r`) and seconds until all are there again (`t`): `"default";r=299;t=1`. Not there where the limit is switched off.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description:
      'Calls at once (`q`) and seconds in which as many come back (`w`): `"default";q=300;w=3`. Not there where the limit is switched off.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait, at least 1.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': { description: '`Bearer`.', schema: { type: 'string' } },
};

/** The headers of an answer. */
export function answerHeaders({ rateLimited }: { readonly rateLimited: boolean }): Readonly<Record<string, Schema>> {
  return refsTo(['X-Request-Id', ...(rateLimited ? rateLimitNames : [])]);
}

/** The headers of an error. */
export function errorHeaders(status: number, reasons: readonly ErrorReason[]): Readonly<Record<string, Schema>> {
  const more = status === 429 ? [...rateLimitNames, 'Retry-After'] : status === 401 ? ['WWW-Authenticate'] : [];
  return {
    'X-Error-Reason': { description: 'Why, for a program to act on.', schema: { type: 'string', enum: reasons } },
    ...refsTo(['X-Request-Id', ...more]),
  };
}

function refsTo(names: readonly string[]): Readonly<Record<string, Schema>> {
  return Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));
}
