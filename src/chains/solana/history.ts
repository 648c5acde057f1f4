import { type BlockPosition, questions } from './questions.js';

/** The maximum that nodes return per call. */
const maxBlocks = 500_000n;
/** Covers blocks that are added while the call runs. */
const spareBlocks = 64n;

/** A block that does not contain an attempt. */
export interface SearchedBlock {
  readonly slot: bigint;
  /** Null: nodes do not report it. */
  readonly height: bigint | null;
  readonly hash: string;
  readonly parentHash: string;
}

/** Asks for the slots of the finalized blocks that a node has, from this slot up to another one. */
export function blocksCall(since: bigint, slot: bigint): ReturnType<typeof questions.finalizedBlocks> {
  const wanted = slot - since + spareBlocks;
  return questions.finalizedBlocks(since, wanted > maxBlocks ? maxBlocks : wanted);
}

/**
 * True if these slots, from one slot on, begin with a number of blocks up to `last`, and after it include every block up to the newest
 * finalized one, so a transaction that the node does not find is in none of them. A node that restarted from a snapshot, or dropped old
 * blocks, has fewer blocks than the heights imply.
 */
export function hasEveryBlock(
  slots: readonly bigint[],
  since: bigint,
  { blocks, last }: { readonly blocks: number; readonly last: Pick<SearchedBlock, 'slot' | 'height'> },
  finalized: BlockPosition,
): boolean {
  const begins = slots.findIndex((slot) => slot >= since);
  const [ends, newest] = [slots.indexOf(last.slot), slots.indexOf(finalized.slot)];
  const isWhole = last.height === null || finalized.height - last.height === BigInt(newest - ends);
  return begins !== -1 && ends - begins + 1 === blocks && newest >= ends && isWhole;
}
