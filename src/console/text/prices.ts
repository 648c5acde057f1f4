import { shortAmount, type Unit } from './amounts.js';

/** The units of a price per gas. */
const gasUnits: readonly Unit[] = [
  { name: 'wei', decimals: 0 },
  { name: 'gwei', decimals: 9 },
];

/** The units of a bid on Stellar. */
const stroops: readonly Unit[] = [{ name: 'stroops', decimals: 0 }];

/** Writes a bid: per gas on EVM networks, otherwise in stroops. */
export function bidText(bid: bigint, isEvm: boolean): string {
  return shortAmount(bid, isEvm ? gasUnits : stroops).text;
}

/** The significant digits of a price that stands in a picture. */
const roughDigits = 4;

/** Writes a bid with few digits, rounded towards zero, for a picture or for comparison. */
export function roughBidText(bid: bigint, isEvm: boolean): string {
  const step = 10n ** BigInt(Math.max(0, bid.toString().length - roughDigits));
  return bidText((bid / step) * step, isEvm);
}
