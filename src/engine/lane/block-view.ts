import { isUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { Receipt } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import type { Attempt, MinedAt, OpenTransaction, Transaction } from '../../core/records/transaction.js';
import type { LaneContext } from './lane-context.js';

/** True if it is still in the block in which it was seen. It may be in another one by now. */
export function isInBlockOf({ mined: now }: Pick<Transaction, 'mined'>, { mined: seen }: Pick<Transaction, 'mined'>): boolean {
  return now !== null && seen !== null && now.blockHash === seen.blockHash;
}

/** True if the chain has used its nonce and it is not known to be in a block. */
export function isUsed({ transaction }: OpenTransaction, chainNonce: bigint): boolean {
  return transaction.mined === null && transaction.nonce !== null && transaction.nonce < chainNonce;
}

/** True if the block numbers say that this block has the required confirmations at this head. */
export function isDeep(lane: LaneContext, head: Head, blockNumber: bigint): boolean {
  return head.number - blockNumber + 1n >= BigInt(lane.relayer().network.requiredConfirmations);
}

/** Returns whether a block at a height has the required confirmations at this head, as far as nodes prove them. */
export async function finalAt(lane: LaneContext, sequence: Sequence, head: Head): Promise<(blockNumber: bigint) => boolean> {
  const final = await sequence.finalBlock(head, lane.relayer().network.requiredConfirmations);
  return (blockNumber) => final !== null && blockNumber <= final;
}

/** The blocks below a head. */
export interface BlockView {
  /** Reads the blocks at these heights. */
  read(heights: readonly bigint[]): Promise<void>;
  /** Reports whether this block is at its height; null: no node shows a block there, which proves nothing. */
  shows(block: Pick<MinedAt, 'blockNumber' | 'blockHash'>): 'same' | 'another' | null;
  /** False if a receipt proves nothing at this head: its block is not there, or above the head, which might never come. */
  admits(receipt: Receipt): boolean;
  /** True if no node answered about one of them. */
  isUnanswered(): boolean;
}

/** Makes the view at a head. */
export function createBlockView(sequence: Sequence, head: Head): BlockView {
  const hashes = new Map<bigint, string | null>([[head.number, head.hash]]);
  let isUnanswered = false;

  async function readOne(height: bigint): Promise<void> {
    try {
      hashes.set(height, await sequence.blockHash(height));
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      isUnanswered = true;
    }
  }

  function shows({ blockNumber, blockHash }: Pick<MinedAt, 'blockNumber' | 'blockHash'>): 'same' | 'another' | null {
    const hash = hashes.get(blockNumber) ?? null;
    return hash === null ? null : hash === blockHash ? 'same' : 'another';
  }

  return {
    shows,
    admits: (receipt) => receipt.blockNumber <= head.number && shows(receipt) !== 'another',
    isUnanswered: () => isUnanswered,
    async read(heights) {
      await Promise.all([...new Set(heights)].filter((height) => height < head.number && !hashes.has(height)).map(readOne));
    },
  };
}

/**
 * True if another envelope around the attempt's transaction is in the block, and an attempt was signed since the lane asked nodes: it may
 * be that one. The next head shows which.
 */
export function mayBeNewer(attempt: Attempt, receipt: Receipt, seen: OpenTransaction, current: OpenTransaction): boolean {
  return receipt.hash !== attempt.hash && current.attempts.length !== seen.attempts.length;
}

/** An attempt and the block that holds it. */
export function minedAt({ version }: Attempt, { blockNumber, blockHash, succeeded, facts }: Receipt): MinedAt {
  return { version, blockNumber, blockHash, succeeded, facts };
}
