import { z } from 'zod';
import type { Environment } from './environment.js';
import { resolved, secretReference } from './secret-reference.js';

/** What ids are made of; the same rule as the API's. */
export const id = z.string().regex(/^[A-Za-z0-9_-]{1,36}$/, 'must be 1 to 36 of A-Z, a-z, 0-9, _ and -');

/** A text with at least one character. */
export const someText = z.string().min(1, 'must not be empty');

/** An integer of a JavaScript number's range. */
export function integerBetween(least: number, greatest: number) {
  const problem = `must be an integer from ${least} to ${greatest}`;
  return z.number(problem).int(problem).min(least, problem).max(greatest, problem);
}

const greatestAmount = 2n ** 128n - 1n;

/** An amount of the smallest unit, from `least`: a number, read exactly whatever its size, or a decimal string. Becomes a bigint. */
export function amount(least: bigint) {
  return z.unknown().transform((value, context) => {
    const exact = exactAmount(value);
    if (exact !== undefined && exact >= least && exact <= greatestAmount) return exact;
    context.addIssue({ code: 'custom', message: `must be an integer from ${least} to 2^128-1, as a number or a decimal string` });
    return z.NEVER;
  });
}

/**
 * A URL that begins with `http://` or `https://`, or a reference to the environment variable that holds it. Never shown: it may hold a provider's
 * key.
 */
function httpUrl(env: Environment) {
  return z.unknown().transform((value, context): string => {
    const fail = (message: string, path: string[] = []): never => {
      context.addIssue({ code: 'custom', message, path });
      return z.NEVER;
    };
    const reference = secretReference.safeParse(value);
    if (typeof value !== 'string' && !reference.success)
      return fail('must be a URL, or {"type": "env", "value": the variable that has it}');
    const found = reference.success ? resolved(reference.data, env) : { text: String(value) };
    if ('problem' in found) return fail(found.problem, ['value']);
    const url = found.text.trim();
    return /^https?:\/\//i.test(url) && URL.canParse(url) ? url : fail('must be a URL that begins with http:// or https://');
  });
}

/** Pages that only people open. */
export function explorerUrls(env: Environment) {
  return z.array(httpUrl(env));
}

/** Nodes: URLs (or references to variables that hold them), or `{url, weight}`; the weight is 100 unless it is given. At least one must be used. */
export function rpcUrls(env: Environment) {
  const weighted = z.strictObject({
    url: httpUrl(env),
    weight: integerBetween(0, 100)
      .nullish()
      .transform((given) => given ?? 100),
  });
  return z
    .array(z.preprocess((item) => (isWeighted(item) ? item : { url: item }), weighted))
    .refine((urls) => urls.length === 0 || urls.some((url) => url.weight > 0), 'must have one whose weight is above 0');
}

function isWeighted(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'url' in item;
}

function exactAmount(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^\d{1,78}$/.test(value)) return BigInt(value);
  return undefined;
}
