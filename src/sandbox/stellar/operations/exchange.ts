/** The largest amount (INT64_MAX). */
export const maxAmount = 2n ** 63n - 1n;

/** What one unit of the sold asset, the wheat, costs in the bought one, the sheep. */
export interface Price {
  readonly n: bigint;
  readonly d: bigint;
}

/** The limits of an exchange with an offer that sells wheat. */
export interface ExchangeLimits {
  /** Of the offer. */
  readonly wheatSend: bigint;
  readonly sheepReceive: bigint;
  /** Of its taker. */
  readonly wheatReceive: bigint;
  readonly sheepSend: bigint;
}

/** Why the taker exchanges: an offer of its own, or a hop of a path payment. */
export type Rounding = 'normal' | 'strict receive' | 'strict send';

/** What an exchange moves. */
export interface Exchanged {
  readonly wheat: bigint;
  readonly sheep: bigint;
  /** True if the offer has more than the taker wants. */
  readonly wheatStays: boolean;
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const up = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;

/** `exchangeV10WithoutPriceErrorThresholds` (OfferExchange.cpp): rounds in favour of the side that stays. */
export function exchangeRoughly({ n, d }: Price, limits: ExchangeLimits, rounding: Rounding): Exchanged {
  const wheatValue = least(limits.wheatSend * n, limits.sheepReceive * d);
  const sheepValue = least(limits.sheepSend * d, limits.wheatReceive * n);
  const wheatStays = wheatValue > sheepValue;
  if (wheatStays && rounding === 'strict send') {
    return { wheatStays, wheat: sheepValue / n, sheep: least(limits.sheepSend, limits.sheepReceive) };
  }
  if (wheatStays && (n > d || rounding === 'strict receive')) {
    const wheat = sheepValue / n;
    return { wheatStays, wheat, sheep: up(wheat * n, d) };
  }
  if (wheatStays) {
    const sheep = sheepValue / d;
    return { wheatStays, sheep, wheat: (sheep * d) / n };
  }
  if (n > d) {
    const wheat = wheatValue / n;
    return { wheatStays, wheat, sheep: (wheat * n) / d };
  }
  const sheep = wheatValue / d;
  return { wheatStays, sheep, wheat: up(sheep * d, n) };
}

/** `exchangeV10`: nothing moves if rounding would change the price by more than a percent, which a path payment may pay to the offer. */
export function exchange(price: Price, limits: ExchangeLimits, rounding: Rounding): Exchanged {
  const rough = exchangeRoughly(price, limits, rounding);
  const { wheat, sheep, wheatStays } = rough;
  if (wheat > 0n && sheep > 0n && isNearPrice(price, rough, rounding !== 'normal')) return rough;
  return { wheat: 0n, sheep: rounding === 'strict send' && wheat === 0n ? sheep : 0n, wheatStays };
}

/** `checkPriceErrorBound`. */
function isNearPrice({ n, d }: Price, { wheat, sheep }: Exchanged, canFavorWheat: boolean): boolean {
  const difference = 100n * n * wheat - 100n * d * sheep;
  if (canFavorWheat && difference < 0n) return true;
  return (difference < 0n ? -difference : difference) <= n * wheat;
}

/** `adjustOffer`: the part of an offer that can be taken. */
export function takeable(price: Price, wheatSend: bigint, sheepReceive: bigint): bigint {
  return exchange(price, { wheatSend, sheepReceive, wheatReceive: maxAmount, sheepSend: maxAmount }, 'normal').wheat;
}
