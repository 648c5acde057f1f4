import { type ErrorReason, type ReasonRules, reasonRules } from '../../../src/core/errors/errors.js';
import { refTo, type Schema } from './schema.js';

const rateLimitNames = ['RateLimit', 'RateLimit-Policy'];

/** The headers that responses share, by name. */
export const headerComponents: Readonly<Record<string, Schema>> = {
  'X-Request-Id': {
    description:
      "The caller's `X-Request-Id` if it is 1 to 128 characters from `A-Z a-z 0-9 . _ -`, otherwise a new id. Log entries of the request contain it.",
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'Calls left (`r`) and seconds until the limit is full again (`t`): `"default";r=299;t=1`. Absent if the limit is switched off.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description:
      'Maximum burst of calls (`q`) and seconds until an empty limit is full again (`w`): `"default";q=300;w=3`. Absent if the limit is switched off.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds to wait, at least 1. Absent if a retry does not help.',
    schema: { type: 'integer', format: 'int32', minimum: 1 },
  },
  'WWW-Authenticate': { description: '`Bearer`.', schema: { type: 'string' } },
};

/** Returns the headers of a success. */
export function answerHeaders({ rateLimited }: { readonly rateLimited: boolean }): Readonly<Record<string, Schema>> {
  return refsTo(['X-Request-Id', ...(rateLimited ? rateLimitNames : [])]);
}

/** Returns the headers of an error. */
export function errorHeaders(status: number, reasons: readonly ErrorReason[]): Readonly<Record<string, Schema>> {
  const helpsToWait = reasons.some((reason) => (reasonRules[reason] as ReasonRules).retry === 'after_delay');
  const more = [
    ...(status === 429 ? rateLimitNames : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(helpsToWait ? ['Retry-After'] : []),
  ];
  return {
    'X-Error-Reason': { description: 'The reason, for programs.', schema: { type: 'string', enum: reasons } },
    ...refsTo(['X-Request-Id', ...more]),
  };
}

function refsTo(names: readonly string[]): Readonly<Record<string, Schema>> {
  return Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));
}
