/**
 * A number token that is not a plain integer of at most 15 digits (`1.0`, `1e+21`, `-0`, `1000000000000000001`). Holds its text, so that no
 * digit is lost, and computes nothing from it: `integerDigitsOf` does, for a field that holds an integer.
 */
export class JsonNumber {
  constructor(readonly text: string) {}
}

/** A JSON object: a map, so that `__proto__` and `constructor` are keys like any other. */
export type JsonObject = Map<string, JsonValue>;

/** A JSON value as it was written. A `number` is a plain integer of at most 15 digits. */
export type JsonValue = null | boolean | number | string | JsonNumber | JsonValue[] | JsonObject;

/** What JSON.parse returns. */
export type PlainJson = null | boolean | number | string | PlainJson[] | { [key: string]: PlainJson };

/** Returns the value as JSON text without white space; number tokens keep every digit. */
export function jsonTextOf(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${jsonTextOf(item)}`).join(',')}}`;
  if (Array.isArray(value)) return `[${value.map(jsonTextOf).join(',')}]`;
  return JSON.stringify(value);
}

/** Returns the value as JSON.parse would. Number tokens become doubles, which may round them. */
export function plainJsonOf(value: JsonValue): PlainJson {
  if (value instanceof JsonNumber) return Number(value.text);
  // Defines every key, `__proto__` too.
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plainJsonOf(item)]));
  return Array.isArray(value) ? value.map(plainJsonOf) : value;
}

/** More digits than any integer of the API has (2^256-1 has 78). A longer one is refused before it is written out. */
const maxDigits = 100;

const tokenPattern = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?$/;

/**
 * Returns the decimal digits of the integer that a JSON number token denotes, exactly, with a minus if it is negative: `1.0` is `1`,
 * `1e+21` is `1000000000000000000000`, `-0` is `0`. Undefined if it is not an integer (`1.5`, `1e-1`) or has more than 100 digits. The
 * exponent is bounded before anything is computed from it.
 */
export function integerDigitsOf(token: string): string | undefined {
  const match = tokenPattern.exec(token);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentSign = '', exponentDigits = ''] = match;
  const significant = significantDigits(whole, fraction);
  if (significant === undefined) return '0';
  const exponent = boundedExponent(exponentDigits) * (exponentSign === '-' ? -1 : 1);
  const zeros = significant.zeros + exponent;
  if (zeros < 0 || significant.digits.length + zeros > maxDigits) return undefined;
  return sign + significant.digits + '0'.repeat(zeros);
}

/**
 * The digits of `whole.fraction` from the first to the last that is not zero, and the number of zeros that follow; negative: digits behind
 * the point.
 */
function significantDigits(whole: string, fraction: string): { digits: string; zeros: number } | undefined {
  const all = whole + fraction;
  let start = 0;
  while (all[start] === '0') start += 1;
  if (start === all.length) return undefined;
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  return { digits: all.slice(start, end), zeros: whole.length - end };
}

/** Caps the exponent: no body of 1 MiB has enough digits to bring one of more than 8 digits back into range. */
function boundedExponent(digits: string): number {
  const trimmed = digits.replace(/^0+/, '');
  return trimmed.length > 8 ? 100_000_000 : Number(trimmed);
}
