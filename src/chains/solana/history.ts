import { listFrom, objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';

/** The position of a block. Slots also count skipped slots, heights do not. */
export interface BlockPosition {
  readonly slot: bigint;
  readonly height: bigint;
}

const memoryKey = 'newest confirmed block';

/** Reads the newest block at a commitment. */
export function positionCall(commitment: 'confirmed' | 'finalized'): RpcCall<BlockPosition> {
  return {
    method: 'getEpochInfo',
    params: [{ commitment }],
    read(answer) {
      const { absoluteSlot, blockHeight } = objectFrom(answer, 'epoch info');
      return { slot: integerFrom(absoluteSlot, 'slot'), height: integerFrom(blockHeight, 'block height') };
    },
  };
}

/** Returns the newest confirmed block from memory or a node. Throws `NODE_UNAVAILABLE`. */
export function confirmedPosition(rpc: Rpc, memory: BlockMemory): Promise<BlockPosition> {
  const { method, params, read } = positionCall('confirmed');
  return memory.recall(memoryKey, () => rpc.ask({ method, params, read }, { first: 'head' }));
}

/** Clears the memory of earlier blocks and remembers this one. */
export function rememberPosition(memory: BlockMemory, position: BlockPosition): void {
  memory.forgetAll();
  void memory.recall(memoryKey, async () => position);
}

/** The maximum that nodes return per call. */
const maxBlocks = 500_000n;
/** Covers blocks that are added while the call runs. */
const spareBlocks = 64n;

/** Reads the slots of the finalized blocks that a node has, from this block up to a height. */
export function blocksCall(since: BlockPosition, height: bigint): RpcCall<readonly bigint[]> {
  const wanted = height - since.height + spareBlocks;
  const limit = wanted > maxBlocks ? maxBlocks : wanted;
  return {
    method: 'getBlocksWithLimit',
    params: [Number(since.slot), Number(limit), { commitment: 'finalized' }],
    read: (answer) => listFrom(answer, 'list of blocks').map((slot) => integerFrom(slot, 'slot')),
  };
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
