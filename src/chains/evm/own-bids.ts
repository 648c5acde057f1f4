import { bidOf } from '../../core/fees/price.js';
import type { Receipt } from '../../core/ports/chain/outcomes.js';
import { max, min } from '../../core/records/bigints.js';
import type { EvmPrice } from '../../core/records/evm.js';
import { remember } from '../../core/work/remember.js';

/**
 * The bids and payments of the service itself. They are not the market: if they counted, the service would outbid itself, by another 10 %
 * with each replacement on a network that few others use.
 */
export interface OwnBids {
  /** Takes note of a transaction of the service in a block. */
  mined(receipt: Receipt): void;
  /** Takes note of a transaction that the service signed. */
  signed(hash: string): void;
  /** True if the service signed this transaction, as far as it remembers. */
  isOurs(hash: string): boolean;
  /** Takes note of a price that the service chose. */
  chosen(price: EvmPrice): void;
  /** Returns the gas that the service's transactions used in this block. */
  gasIn(block: bigint): bigint;
  /**
   * Returns a node's suggestion, in wei. Nodes suggest the price that recent transactions paid, also after many blocks without any. So a
   * suggestion up to the service's highest bid counts only if it is lower than the last one that counted.
   */
  leftOut(suggestion: 'priority fee' | 'gas price', wei: bigint): bigint;
  /** Forgets the bids: a node refused one as below its minimum, so its suggestion counts. */
  forgetBids(): void;
  /**
   * Takes note of a transaction that waits at this block. If none was mined for some blocks, others may bid more, so the bids are
   * forgotten.
   */
  waiting(block: bigint): void;
}

/** Fee histories are shorter. */
const rememberedBlocks = 16n;
/** More than blocks of a few minutes hold. */
const maxHashes = 10_000;
/** If our bids are the market, one of them is mined in fewer blocks. */
const maxBlocksWithoutOurs = 10n;

/** Creates the memory of one network's own bids. A restart forgets them. */
export function createOwnBids(): OwnBids {
  /** The gas used by hash, by block. */
  const gas = new Map<bigint, Map<string, bigint>>();
  const hashes = new Map<string, true>();
  const counted = new Map<string, bigint>();
  let highestWei: bigint | null = null;
  let lastMined: bigint | null = null;

  return {
    mined({ hash, blockNumber, facts }) {
      if (facts === null || facts.gasUsed === null) return;
      lastMined = max(lastMined ?? 0n, blockNumber);
      gas.set(blockNumber, (gas.get(blockNumber) ?? new Map()).set(hash, facts.gasUsed));
      for (const block of gas.keys()) if (block + rememberedBlocks < blockNumber) gas.delete(block);
    },
    signed: (hash) => remember(hashes, hash, true, maxHashes),
    isOurs: (hash) => hashes.has(hash),
    chosen(price) {
      highestWei = max(highestWei ?? 0n, bidOf(price).maxPriorityFeePerGasWei);
    },
    gasIn: (block) => [...(gas.get(block)?.values() ?? [])].reduce((sum, used) => sum + used, 0n),
    leftOut(suggestion, wei) {
      const before = counted.get(suggestion);
      const isOurs = highestWei !== null && wei <= highestWei;
      const counts = isOurs && before !== undefined ? min(before, wei) : wei;
      counted.set(suggestion, counts);
      return counts;
    },
    forgetBids() {
      highestWei = null;
    },
    waiting(block) {
      lastMined ??= block;
      if (block - lastMined >= maxBlocksWithoutOurs) highestWei = null;
    },
  };
}
