import { highestCost } from '../../core/fees/funds.js';
import type { OpenTransaction } from '../../core/records/transaction.js';

/** What the signed transactions of a lane take together. */
export interface InFlightTotals {
  add(open: OpenTransaction): void;
  remove(open: OpenTransaction): void;
  /** The number without a nonce that are not known to be in a block. */
  unsequencedCount(): number;
  /** The number with a nonce that are not known to be in a block. */
  count(): number;
  /** The number of those below this nonce. */
  countBelow(nonce: bigint): number;
  /** The most that everything in flight can cost, in the network's smallest unit. */
  reserved(): bigint;
  /** The characters of content and signed bytes in memory of everything that is signed. */
  heldCharacters(): number;
}

/** Creates the totals of no transactions. `inFlight` walks over those with a nonce that are not known to be in a block, lowest first. */
export function createInFlightTotals(inFlight: () => Iterable<OpenTransaction>): InFlightTotals {
  let count = 0;
  let unsequenced = 0;
  /** Each change of what is in flight makes the count below a nonce outdated. */
  let countsBelow = new Map<bigint, number>();
  let reserved = 0n;
  let held = 0;

  function change(open: OpenTransaction, sign: 1 | -1): void {
    held += sign * charactersOf(open);
    if (countsBelow.size > 0) countsBelow = new Map();
    if (open.transaction.mined !== null) return;
    if (open.transaction.nonce === null) unsequenced += sign;
    else count += sign;
    reserved += BigInt(sign) * highestCost(open);
  }

  return {
    add: (open) => change(open, 1),
    remove: (open) => change(open, -1),
    count: () => count,
    unsequencedCount: () => unsequenced,
    countBelow(nonce) {
      const known = countsBelow.get(nonce);
      if (known !== undefined) return known;
      let below = 0;
      for (const { transaction } of inFlight()) {
        if (transaction.nonce === null || transaction.nonce >= nonce) break;
        below += 1;
      }
      countsBelow.set(nonce, below);
      return below;
    },
    reserved: () => reserved,
    heldCharacters: () => held,
  };
}

/** An attempt's fields hold about as much as its signed bytes. */
function charactersOf({ transaction, attempts }: OpenTransaction): number {
  return attempts.reduce((sum, { raw }) => sum + 2 * raw.length, textLength(transaction.content));
}

/** Returns the number of characters in the texts of a value. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + textLength(part), 0);
}
