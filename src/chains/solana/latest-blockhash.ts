import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom, keyFrom } from './answer.js';

/** A blockhash and for how long transactions may be bound to it. */
export interface LatestBlockhash {
  /** The slot that the node had confirmed when it told. */
  readonly slot: bigint;
  readonly blockhash: string;
  /** No block above this height takes a transaction that is bound to it. */
  readonly lastValidBlockHeight: bigint;
}

/** For so many blocks a blockhash is good for transactions (`MAX_PROCESSING_AGE`). */
export const validBlocks = 150n;

const memoryKey = 'latest blockhash';

/** How it is asked for. Confirmed: blocks that were only processed may be on a fork that is dropped, with all that is bound to them. */
export const latestBlockhashCall = { method: 'getLatestBlockhash', params: [{ commitment: 'confirmed' }] } as const;

/** Reads a node's answer. Throws `MalformedAnswerError`. */
export function latestBlockhashFrom(answer: unknown): LatestBlockhash {
  const { slot, value } = atSlotFrom(answer, 'latest blockhash', (held) => objectFrom(held, 'latest blockhash'));
  return {
    slot,
    blockhash: keyFrom(value.blockhash, 'blockhash'),
    lastValidBlockHeight: integerFrom(value.lastValidBlockHeight, 'last valid block height'),
  };
}

/** The newest one that is remembered, else the node's. Throws `NODE_UNAVAILABLE`. */
export function latestBlockhash(rpc: Rpc, memory: BlockMemory): Promise<LatestBlockhash> {
  const { method, params } = latestBlockhashCall;
  return memory.recall(memoryKey, () => rpc.ask(method, params, latestBlockhashFrom, { first: 'head' }));
}

/** Forgets what was remembered of earlier blocks, and remembers this one. */
export function rememberBlockhash(memory: BlockMemory, latest: LatestBlockhash): void {
  memory.forgetAll();
  void memory.recall(memoryKey, async () => latest);
}
