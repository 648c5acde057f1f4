/** More digits than any integer of the API has (2^256-1 has 78). A longer one is refused before it is written out. */
const maxDigits = 100;

const tokenPattern = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?$/;

/**
 * The decimal digits of the integer that a JSON number token denotes, exactly, with a minus where it is negative: `1.0` is `1`, `1e+21` is
 * `1000000000000000000000`, `-0` is `0`. Undefined where it is no integer (`1.5`, `1e-1`) or has more than 100 digits. The exponent is
 * bounded before anything is computed from it.
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

/** The digits of `whole.fraction` from the first to the last that is not zero, and how many zeros follow (negative: how many are behind the point). */
function significantDigits(whole: string, fraction: string): { digits: string; zeros: number } | undefined {
  const all = whole + fraction;
  let start = 0;
  while (all[start] === '0') start += 1;
  if (start === all.length) return undefined;
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  return { digits: all.slice(start, end), zeros: whole.length - end };
}

/** An exponent that no body of 1 MiB can bring back into range is as good as any other: 8 digits are all that is looked at. */
function boundedExponent(digits: string): number {
  const trimmed = digits.replace(/^0+/, '');
  return trimmed.length > 8 ? 100_000_000 : Number(trimmed);
}
