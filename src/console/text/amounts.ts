/** A unit in which people write amounts of a native coin. */
export interface Unit {
  /** Its name or symbol, such as `gwei`. */
  readonly name: string;
  /** The number of decimals: one of it is 10^decimals of the smallest unit. */
  readonly decimals: number;
}

/** Separates groups of three digits: a narrow no-break space, which no language reads as a decimal sign. */
const groupSeparator = '\u202f';

/** The most digits of an amount that `parseUnits` reads before the decimal point: far above every amount of the service (2^128 has 39). */
const maxDigits = 78;

/** The significant digits of a short amount. */
const shortDigits = 6;

/**
 * The units of a network's native coin, smallest first.
 * @param symbol the symbol of the coin, such as `ETH`
 * @param decimals how many the coin has, such as 18 on EVM networks
 */
export function unitsOf(symbol: string, decimals: number): readonly Unit[] {
  const coin = { name: symbol, decimals };
  if (decimals === 18) return [{ name: 'wei', decimals: 0 }, { name: 'gwei', decimals: 9 }, coin];
  if (decimals === 7) return [{ name: 'stroops', decimals: 0 }, coin];
  if (decimals === 9) return [{ name: 'lamports', decimals: 0 }, coin];
  return [coin];
}

/** Writes an integer with its digits in groups of three. */
export function groupDigits(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString();
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, groupSeparator);
  return amount < 0n ? `-${grouped}` : grouped;
}

/** Writes an amount of the smallest unit in another unit: exact, without trailing zeros, its digits in groups of three. */
export function formatUnits(amount: bigint, decimals: number): string {
  const size = amount < 0n ? -amount : amount;
  const one = 10n ** BigInt(decimals);
  const fraction = (size % one).toString().padStart(decimals, '0').replace(/0+$/, '');
  const text = `${groupDigits(size / one)}${decimals > 0 && fraction !== '' ? `.${fraction}` : ''}`;
  return amount < 0n ? `-${text}` : text;
}

/** An amount for a table, and the exact one for its title. */
export interface ShortAmount {
  /** At most about six significant digits, rounded towards zero, in the largest unit that shows them. */
  readonly text: string;
  /** The exact amount in the native coin and in the smallest unit. */
  readonly title: string;
}

/**
 * Writes an amount of the smallest unit briefly.
 * @param units the units to choose from, smallest first, as `unitsOf` returns them
 */
export function shortAmount(amount: bigint, units: readonly Unit[]): ShortAmount {
  const coin = units.at(-1) ?? { name: '', decimals: 0 };
  const smallest = units[0] ?? coin;
  const size = amount < 0n ? -amount : amount;
  // A unit is legible if the amount is at least a ten-thousandth of it. Zero is zero coins.
  const unit = size === 0n ? coin : ([...units].reverse().find(({ decimals }) => size * 10_000n >= 10n ** BigInt(decimals)) ?? smallest);
  const exact = exactAmount(amount, coin.name, coin.decimals);
  return {
    text: exactAmount(truncate(amount, unit.decimals), unit.name, unit.decimals),
    title: smallest === coin ? exact : `${exact} (${groupDigits(amount)} ${smallest.name})`,
  };
}

/** Writes an amount with all of its digits and its unit, for what an operator confirms. */
export function exactAmount(amount: bigint, unit: string, decimals: number): string {
  return `${formatUnits(amount, decimals)} ${unit}`;
}

/** Drops the digits of the fraction beyond the significant ones, and keeps all digits before the decimal point. */
function truncate(amount: bigint, decimals: number): bigint {
  const size = amount < 0n ? -amount : amount;
  const dropped = Math.min(decimals, Math.max(0, size.toString().length - shortDigits));
  const step = 10n ** BigInt(dropped);
  return (amount / step) * step;
}

/** The result of reading an amount that a person typed. */
export type ParsedAmount = { readonly amount: bigint } | { readonly problem: string };

/**
 * Reads a non-negative amount that a person typed in a unit, and returns it in the smallest unit, exact. Spaces and `_` may separate
 * digits. A comma is refused: some people read it as a decimal sign, others as a separator of thousands.
 */
export function parseUnits(text: string, unit: Unit): ParsedAmount {
  const compact = text.replace(/[\s_]/g, '');
  if (compact === '') return { problem: 'enter an amount' };
  if (compact.includes(',')) return { problem: 'write the decimal sign as a point, and separate thousands by spaces' };
  const [, whole = '', fraction = ''] = /^(\d*)(?:\.(\d*))?$/.exec(compact) ?? [];
  if (whole === '' && fraction === '')
    return { problem: `an amount in ${unit.name} has only digits${unit.decimals > 0 ? ' and a point' : ''}` };
  if (whole.replace(/^0+/, '').length > maxDigits) return { problem: `the amount has more than ${maxDigits} digits` };
  const decimals = fraction.replace(/0+$/, '');
  if (decimals.length > unit.decimals) {
    return { problem: unit.decimals === 0 ? `${unit.name} has no decimals` : `${unit.name} has at most ${unit.decimals} decimals` };
  }
  return { amount: BigInt(`${whole}${decimals.padEnd(unit.decimals, '0')}` || '0') };
}
