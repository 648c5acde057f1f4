import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Block } from './answer.js';
import type { OwnBids } from './own-bids.js';
import { questions } from './questions.js';

/** Bounds what nodes say about prices by what blocks show that transactions paid. */
export interface PriceBounds {
  /** Returns this price per gas above the base fee, in wei, or the highest one that is not absurd. Throws `NODE_UNAVAILABLE`. */
  bounded(wei: bigint): Promise<bigint>;
}

/** A price up to this multiple of one that blocks have confirmed needs no block. */
const trustedFactor = 4n;
/** A price up to this multiple of the highest that the last blocks paid is believed. */
const paidFactor = 2n;
/** So little needs no proof: a payment costs 0.00021 units of the native currency at most. */
const harmlessWei = 10n * 10n ** 9n;
/** While blocks hold no transactions with a price, no more is paid: 0.21 units of the native currency for a payment. */
const unprovedWei = 10_000n * 10n ** 9n;
/** The newest blocks that are read if a price needs proof. */
const blocksRead = 4n;

/** The dependencies of `createPriceBounds`. */
export interface PriceBoundsDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly ownBids: OwnBids;
  readonly latest: () => Promise<Block>;
}

/** Creates bounds that trust nothing yet. They read blocks only if a price jumps. */
export function createPriceBounds({ rpc, memory, ownBids, latest }: PriceBoundsDeps): PriceBounds {
  let trustedWei = harmlessWei;

  /** The highest price above the base fee in the newest blocks; null: they hold none. */
  async function highestPaid(): Promise<bigint | null> {
    const { number } = await latest();
    const heights = [...Array(Number(blocksRead)).keys()].map((below) => number - BigInt(below)).filter((height) => height >= 0n);
    const settled = await rpc.batch(heights.map(questions.pricesInBlock), { first: 'head' });
    const paid = settled.flatMap((answer) => ('result' in answer ? (answer.result ?? []) : [])).filter(({ hash }) => !ownBids.isOurs(hash));
    return paid.reduce<bigint | null>((highest, { wei }) => (highest === null || wei > highest ? wei : highest), null);
  }

  return {
    async bounded(wei) {
      if (wei <= trustedWei) return wei;
      const paid = await memory.recall('highest price in blocks', highestPaid);
      const most = paid === null ? (trustedWei > unprovedWei ? trustedWei : unprovedWei) : paid * paidFactor;
      const bounded = wei <= most ? wei : most > trustedWei ? most : trustedWei;
      if (paid !== null && bounded * trustedFactor > trustedWei) trustedWei = bounded * trustedFactor;
      return bounded;
    },
  };
}
