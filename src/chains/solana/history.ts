import { listFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { integerFrom } from './answer.js';
import type { BlockPlace } from './block-place.js';

/** Nodes tell of no more at once. */
const greatestBlocksAsked = 500_000n;
/** There may be a few more than were reckoned with. */
const spareBlocks = 64n;

/** Asks for the slots of the finalized blocks that a node has, from this one on, as many as there can be up to a height. */
export function blocksCall(since: BlockPlace, height: bigint): RpcCall<readonly bigint[]> {
  const wanted = height - since.height + spareBlocks;
  const limit = wanted > greatestBlocksAsked ? greatestBlocksAsked : wanted;
  return {
    method: 'getBlocksWithLimit',
    params: [Number(since.slot), Number(limit), { commitment: 'finalized' }],
    read: (answer) => listFrom(answer, 'list of blocks').map((slot) => integerFrom(slot, 'slot')),
  };
}

/**
 * True when these slots hold each block from one place to the newest finalized one, so that what a node does not find in its history is in
 * none. One that has started anew from a snapshot lacks the blocks of the time before, and one without much space drops old ones: then they
 * are fewer than their heights say.
 */
export function isWhole(slots: readonly bigint[], since: BlockPlace, finalized: BlockPlace): boolean {
  const first = slots.findIndex((slot) => slot >= since.slot);
  const last = slots.indexOf(finalized.slot);
  return first !== -1 && last !== -1 && BigInt(last - first) >= finalized.height - since.height;
}
