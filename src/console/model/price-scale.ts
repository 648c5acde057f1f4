/** A logarithmic axis of prices, from the bottom of a chart (0) to its top (1). */
export interface PriceScale {
  /** Equal for equal axes. */
  readonly name: string;
  /** The place of a price, 0 to 1; prices outside of the axis are at its ends. */
  readonly place: (price: bigint) => number;
  /** Round prices for labels, lowest first. */
  readonly ticks: readonly bigint[];
}

/** Steps of the ends of the axis and of its labels, within a power of ten. */
const steps = [1, 2, 5];

/** The most labels of an axis. */
const maxTicks = 6;

/**
 * Makes the axis for these prices. Logarithmic, because a cap or a market can be a thousand times a bid, and a fee bump is a factor. Its
 * ends are round, so that it stays still while prices move a little.
 */
export function priceScale(prices: readonly bigint[]): PriceScale {
  const positive = prices.filter((price) => price > 0n).map(Number);
  const lowest = positive.length === 0 ? 1 : Math.min(...positive);
  const highest = positive.length === 0 ? 10 : Math.max(...positive);
  const bottom = roundBelow(lowest * 0.8);
  const top = Math.max(roundAbove(highest * 1.1), bottom * 4);
  const span = Math.log(top / bottom);
  return {
    name: `${bottom} ${top}`,
    place: (price) => (price <= 0n ? 0 : Math.min(1, Math.max(0, Math.log(Number(price) / bottom) / span))),
    ticks: ticksBetween(bottom, top),
  };
}

/** Returns the largest step at or below a number; at least 1, the smallest unit. */
function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return Math.max(1, (steps.findLast((step) => step * power <= value * 1.000001) ?? 1) * power);
}

function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return (steps.find((step) => step * power >= value * 0.999999) ?? 10) * power;
}

function ticksBetween(bottom: number, top: number): readonly bigint[] {
  const all: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(bottom)); power <= top; power *= 10) {
    for (const step of steps) if (step * power >= bottom * 0.999999 && step * power <= top * 1.000001) all.push(step * power);
  }
  const candidates = all.length <= maxTicks ? all : all.filter((tick) => String(tick).startsWith('1'));
  const every = Math.ceil(candidates.length / maxTicks);
  return candidates.filter((_, index) => index % every === 0).map((tick) => BigInt(Math.round(tick)));
}

/** A label that wants to stand at a place. */
export interface Placed {
  /** Its place, 0 (bottom) to 1 (top). */
  readonly place: number;
}

/**
 * Moves labels apart that would cover one another, as little as possible, and keeps them within the chart.
 * @param gap the least distance between two labels, as a part of the height
 * @returns the places in the order of the labels
 */
export function spreadLabels(labels: readonly Placed[], gap: number): readonly number[] {
  const order = labels.map(({ place }, index) => ({ place, index })).sort((a, b) => a.place - b.place);
  let floor = 0;
  for (const label of order) {
    label.place = Math.max(label.place, floor);
    floor = label.place + gap;
  }
  let ceiling = 1;
  for (const label of order.toReversed()) {
    label.place = Math.min(label.place, ceiling);
    ceiling = label.place - gap;
  }
  const places: number[] = [];
  for (const { place, index } of order) places[index] = place;
  return places;
}
