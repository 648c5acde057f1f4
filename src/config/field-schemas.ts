import { z } from 'zod';

/** What ids are made of; the same rule as the API's. */
export const id = z.string().regex(/^[A-Za-z0-9_-]{1,36}$/, 'must be 1 to 36 of A-Z, a-z, 0-9, _ and -');

/** A text with at least one character. */
export const someText = z.string().min(1, 'must not be empty');

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

/** A URL that begins with `http://` or `https://`. Never shown: it may hold a provider's key. */
export const httpUrl = z.string().transform((value, context) => {
  const url = value.trim();
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url;
  context.addIssue({ code: 'custom', message: 'must be a URL that begins with http:// or https://' });
  return z.NEVER;
});

const weightProblem = 'must be an integer from 0 to 100';

/** Nodes: URLs, or `{url, weight}`; the weight is 100 unless it is given. At least one must be used. */
export const rpcUrls = z
  .array(
    z.preprocess(
      (item) => (typeof item === 'string' ? { url: item } : item),
      z.strictObject({
        url: httpUrl,
        weight: z
          .number(weightProblem)
          .int(weightProblem)
          .min(0, weightProblem)
          .max(100, weightProblem)
          .nullish()
          .transform((weight) => weight ?? 100),
      }),
    ),
  )
  .refine((urls) => urls.length === 0 || urls.some(({ weight }) => weight > 0), 'must have one whose weight is above 0');

function exactAmount(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^\d{1,78}$/.test(value)) return BigInt(value);
  return undefined;
}
