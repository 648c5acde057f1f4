import type { Refusal } from '../../core/ports/chain.js';
import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type AtSlot, atSlotFrom, integerFrom, keyFrom } from './answer.js';
import { type BlockPlace, placeCall } from './block-place.js';

/** How long a version may land. */
export interface Lifetime {
  readonly blockhash: string;
  /** A block that was confirmed when this was told: none before it holds the version. */
  readonly since: BlockPlace;
  /** No block above this height takes the version. */
  readonly lastValidBlockHeight: bigint;
}

/** For so many blocks a blockhash is good for transactions (`MAX_PROCESSING_AGE`). */
const validBlocks = 150n;
/** For so long a blockhash that is not known may be one that a node ahead of ours has given. */
const unknownForMs = 10_000;
/** Blockhashes that are remembered as not known. */
const greatestUnknown = 1_000;
const atHead = { first: 'head' } as const;

/** Tells how long versions may land. Throws `NODE_UNAVAILABLE`. */
export interface Lifetimes {
  /** For a version that the relayer signs alone: with the newest blockhash. */
  fresh(): Promise<Lifetime>;
  /**
   * For one whose blockhash others chose: `lastValidBlockHeight` is the greatest height that is possible. Refused, lastingly at last, when
   * it is not valid.
   */
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

  async function newest(): Promise<Lifetime> {
    // Of a confirmed block: one that was only processed may be on a fork that is dropped, with all that is bound to it.
    const blockhashCall = { method: 'getLatestBlockhash', params: [{ commitment: 'confirmed' }], read: latestBlockhashFrom };
    const [latest, since] = await rpc.together<[LatestBlockhash, BlockPlace]>([blockhashCall, placeCall('confirmed')], atHead);
    return { ...latest, since };
  }

  return {
    fresh: () => memory.recall('newest blockhash', newest),
    async given(blockhash) {
      const validCall = { method: 'isBlockhashValid', params: [blockhash, { commitment: 'processed' }], read: validityFrom };
      const [valid, since] = await rpc.together<[AtSlot<boolean>, BlockPlace]>([validCall, placeCall('confirmed')], atHead);
      if (!valid.value) return refusal(blockhash);
      unknownSinceMs.delete(blockhash);
      // Its block may be the newest that the node has seen, which is no more blocks ahead of the confirmed one than slots.
      const ahead = valid.slot > since.slot ? valid.slot - since.slot : 0n;
      return { since, blockhash, lastValidBlockHeight: since.height + ahead + validBlocks };
    },
  };
}

type LatestBlockhash = Pick<Lifetime, 'blockhash' | 'lastValidBlockHeight'>;

function latestBlockhashFrom(answer: unknown): LatestBlockhash {
  const { value } = atSlotFrom(answer, 'latest blockhash', (held) => objectFrom(held, 'latest blockhash'));
  const lastValidBlockHeight = integerFrom(value.lastValidBlockHeight, 'last valid block height');
  return { blockhash: keyFrom(value.blockhash, 'blockhash'), lastValidBlockHeight };
}

function validityFrom(answer: unknown): AtSlot<boolean> {
  return atSlotFrom(answer, 'blockhash validity', (value) => {
    if (typeof value !== 'boolean') throw new MalformedAnswerError('blockhash validity');
    return value;
  });
}
