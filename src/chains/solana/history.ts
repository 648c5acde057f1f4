import { listFrom, objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { validBlocks } from './latest-blockhash.js';

/** A version may be in one of 151 blocks; some more, since its first one may be told a little too low. */
const blocksLookedAt = 200;
const atHead = { first: 'head' } as const;

/** The time in which a version could land. */
export interface Window {
  /** No block before this slot holds it. */
  readonly sinceSlot: bigint;
  /** No block above this height does. */
  readonly lastValidBlockHeight: bigint;
}

/**
 * True when a node's history holds each finalized block that could have taken a version, so that what it does not find there is in none. A node that has
 * started anew from a snapshot lacks the blocks of the time before, and one without much space drops old ones. Throws `NODE_UNAVAILABLE`.
 *
 * Heights count blocks, so between two of them none is missing when there are as many as the heights are apart.
 */
export async function holdsEveryBlock(rpc: Rpc, { sinceSlot, lastValidBlockHeight }: Window): Promise<boolean> {
  const params = [Number(sinceSlot), blocksLookedAt, { commitment: 'finalized' }];
  const slots = await rpc.ask('getBlocksWithLimit', params, slotsFrom, atHead);
  const [first, last] = [slots[0], slots.at(-1)];
  if (first === undefined || last === undefined) return false;
  const [from, to] = await Promise.all([readHeight(rpc, first), readHeight(rpc, last)]);
  if (from === null || to === null) return false;
  return from <= lastValidBlockHeight - validBlocks + 1n && to > lastValidBlockHeight && to - from === BigInt(slots.length - 1);
}

/** The height of the block at a slot; null where the node has none. */
function readHeight(rpc: Rpc, slot: bigint): Promise<bigint | null> {
  const config = {
    commitment: 'finalized',
    encoding: 'base64',
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: 0,
  };
  return rpc.ask('getBlock', [Number(slot), config], heightFrom, atHead);
}

function slotsFrom(answer: unknown): readonly bigint[] {
  return listFrom(answer, 'list of blocks').map((slot) => integerFrom(slot, 'slot'));
}

function heightFrom(answer: unknown): bigint | null {
  if (answer === null) return null;
  const { blockHeight } = objectFrom(answer, 'block');
  return blockHeight === null ? null : integerFrom(blockHeight, 'block height');
}
