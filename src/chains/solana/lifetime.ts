import type { Refusal } from '../../core/ports/chain.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { type LatestBlockhash, latestBlockhash, validBlocks } from './latest-blockhash.js';

/** How long a version may land. */
export type Lifetime = LatestBlockhash;

/** For so long a blockhash that is not known may be one that a node ahead of ours has given. */
const unknownForMs = 10_000;
/** Blockhashes that are remembered as not known. */
const greatestUnknown = 1_000;

/** Tells how long versions may land. Throws `NODE_UNAVAILABLE`. */
export interface Lifetimes {
  /** For a version that the relayer signs alone. */
  fresh(): Promise<Lifetime>;
  /** For one whose blockhash others chose: `lastValidBlockHeight` is the greatest height that is possible. Refused, lastingly at last, when it is not valid. */
  given(blockhash: string): Promise<Lifetime | Refusal>;
}

/** Makes it. */
export function createLifetimes(rpc: Rpc, memory: BlockMemory): Lifetimes {
  const unknownSinceMs = new Map<string, number>();

  function refusal(blockhash: string): Refusal {
    if (unknownSinceMs.size >= greatestUnknown) unknownSinceMs.clear();
    const nowMs = Date.now();
    const sinceMs = unknownSinceMs.get(blockhash) ?? nowMs;
    unknownSinceMs.set(blockhash, sinceMs);
    const sentence = 'its blockhash has expired or is not known to the network, and others signed it, so that it cannot get another';
    return { refused: 'reverts', sentence, lasting: nowMs - sinceMs >= unknownForMs };
  }

  return {
    fresh: () => latestBlockhash(rpc, memory),
    async given(blockhash) {
      const commitment = 'processed';
      const valid = await rpc.ask('isBlockhashValid', [blockhash, { commitment }], validityFrom, { first: 'head' });
      if (!valid.value) return refusal(blockhash);
      unknownSinceMs.delete(blockhash);
      // Asked after, so that it is no lower than where the blockhash was found.
      const config = { commitment, minContextSlot: Number(valid.slot) };
      const height = await rpc.ask('getBlockHeight', [config], (answer) => integerFrom(answer, 'block height'), { first: 'head' });
      return { slot: valid.slot, blockhash, lastValidBlockHeight: height + validBlocks };
    },
  };
}

function validityFrom(answer: unknown): { slot: bigint; value: boolean } {
  return atSlotFrom(answer, 'blockhash validity', (value) => {
    if (typeof value !== 'boolean') throw new MalformedAnswerError('blockhash validity');
    return value;
  });
}
