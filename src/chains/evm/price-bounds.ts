import { max, min } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Block } from './answer.js';
import type { OwnBids } from './own-bids.js';
import { questions } from './questions.js';
import { createTrustedAmount } from './trusted-amount.js';

/** Bounds what nodes say about prices by what blocks show that transactions paid. */
export interface PriceBounds {
  /**
   * Returns this price per gas above the base fee, in wei, or the highest one that is not absurd. `isContested`: other endpoints show less,
   * so that time does not prove it. Throws `NODE_UNAVAILABLE`.
   */
  bounded(wei: bigint, isContested?: boolean): Promise<bigint>;
  /** Takes note that a node refused a bid as below its minimum. */
  demanded(): void;
}

/** A price up to this multiple of the highest that the last blocks paid is believed. */
const paidFactor = 2n;
/** So little needs no proof: a payment costs 0.00021 units of the native currency at most. */
const harmlessWei = 10n * 10n ** 9n;
/** While the last blocks hold no transactions of others, no more is paid, unless nodes demand it or say so for long. */
const quietWei = 100n * 10n ** 9n;
/** Even then, no more is paid: 0.21 units of the native currency for a payment. */
const demandedWei = 10_000n * 10n ** 9n;
/** A node's minimum is remembered this long. */
const demandedForMs = 600_000;
/** A price that no block proves is believed after nodes have said so for this long. */
const unprovedForMs = 300_000;
/** The newest blocks that are read if a price needs proof. */
const blocksRead = 4n;

/** The dependencies of `createPriceBounds`. */
export interface PriceBoundsDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly ownBids: OwnBids;
  readonly latest: () => Promise<Block>;
  readonly nowMs: () => number;
}

/** Creates bounds that trust nothing yet. They read blocks only if a price jumps. */
export function createPriceBounds({ rpc, memory, ownBids, latest, nowMs }: PriceBoundsDeps): PriceBounds {
  const trusted = createTrustedAmount(harmlessWei, paidFactor, nowMs);
  let demandedUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when nodes have said a price that no block proves; null: they do not. */
  let unprovedSinceMs: number | null = null;

  /**
   * The highest price above the base fee in the newest blocks, as two endpoints show them if there are two: one can make blocks up. Null:
   * they hold none.
   */
  async function highestPaid(): Promise<bigint | null> {
    const byHead = await highestBy('head');
    if (byHead === null || rpc.isSingle()) return byHead;
    const byOther = await highestBy('another');
    return byOther === null ? null : min(byHead, byOther);
  }

  async function highestBy(first: 'head' | 'another'): Promise<bigint | null> {
    const { number } = await latest();
    const heights = [...Array(Number(blocksRead)).keys()].map((below) => number - BigInt(below)).filter((height) => height >= 0n);
    const settled = await rpc.batch(heights.map(questions.pricesInBlock), { first });
    const paid = settled.flatMap((answer) => ('result' in answer ? (answer.result ?? []) : [])).filter(({ hash }) => !ownBids.isOurs(hash));
    return paid.reduce<bigint | null>((highest, { wei }) => (highest === null || wei > highest ? wei : highest), null);
  }

  /** The highest price that is believed without a transaction of others in the last blocks. */
  function highestUnproved(isContested: boolean): bigint {
    if (isContested) return quietWei;
    unprovedSinceMs ??= nowMs();
    const isBelieved = nowMs() < demandedUntilMs || nowMs() - unprovedSinceMs >= unprovedForMs;
    return isBelieved ? demandedWei : quietWei;
  }

  return {
    async bounded(wei, isContested = false) {
      const trustedWei = trusted.highest();
      if (wei <= trustedWei) return wei;
      const paid = await memory.recall('highest price in blocks', highestPaid);
      if (!isContested && (paid !== null || wei <= quietWei)) unprovedSinceMs = null;
      const most = max(trustedWei, paid === null ? highestUnproved(isContested) : paid * paidFactor);
      const bounded = min(wei, most);
      if (paid !== null && bounded <= paid * paidFactor) trusted.proved(min(bounded, paid));
      return bounded;
    },
    demanded() {
      demandedUntilMs = nowMs() + demandedForMs;
    },
  };
}
