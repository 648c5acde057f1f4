import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';

/** A block's place: slots also count those that went by without a block, heights do not. */
export interface BlockPlace {
  readonly slot: bigint;
  readonly height: bigint;
}

const memoryKey = 'newest confirmed block';

/** Asks for the newest block at a commitment. */
export function placeCall(commitment: 'confirmed' | 'finalized'): RpcCall<BlockPlace> {
  return {
    method: 'getEpochInfo',
    params: [{ commitment }],
    read(answer) {
      const { absoluteSlot, blockHeight } = objectFrom(answer, 'epoch info');
      return { slot: integerFrom(absoluteSlot, 'slot'), height: integerFrom(blockHeight, 'block height') };
    },
  };
}

/** The newest confirmed block that is remembered, else the node's. Throws `NODE_UNAVAILABLE`. */
export function confirmedPlace(rpc: Rpc, memory: BlockMemory): Promise<BlockPlace> {
  const { method, params, read } = placeCall('confirmed');
  return memory.recall(memoryKey, () => rpc.ask(method, params, read, { first: 'head' }));
}

/** Forgets what was remembered of earlier blocks, and remembers this one. */
export function rememberPlace(memory: BlockMemory, place: BlockPlace): void {
  memory.forgetAll();
  void memory.recall(memoryKey, async () => place);
}
