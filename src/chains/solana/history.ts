import { type BlockPosition, questions } from './questions.js';

/** The maximum that nodes return per call. */
const maxBlocks = 500_000n;
/** Covers blocks that are added while the call runs. */
const spareBlocks = 64n;

/** Asks for the slots of the finalized blocks that a node has, from this block up to a height. */
export function blocksCall(since: BlockPosition, height: bigint): ReturnType<typeof questions.finalizedBlocks> {
  const wanted = height - since.height + spareBlocks;
  return questions.finalizedBlocks(since.slot, wanted > maxBlocks ? maxBlocks : wanted);
}

/**
 * True if these slots include every block up to the newest finalized one, so a transaction that the node does not find is in none of them.
 * A node that restarted from a snapshot, or dropped old blocks, has fewer blocks than the heights imply.
 */
export function hasEveryBlock(slots: readonly bigint[], since: BlockPosition, finalized: BlockPosition): boolean {
  const first = slots.findIndex((slot) => slot >= since.slot);
  const last = slots.indexOf(finalized.slot);
  return first !== -1 && last !== -1 && BigInt(last - first) >= finalized.height - since.height;
}
