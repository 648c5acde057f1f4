import type { Refusal } from '../../core/ports/chain.js';
import type { DurationClock } from '../../core/work/clock.js';
import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type AtSlot, atSlotFrom, integerFrom, keyFrom } from './answer.js';
import { type BlockPosition, confirmedPosition } from './history.js';
import { createPatience } from './patience.js';

/** How long an attempt can land. */
export interface Lifetime {
  readonly blockhash: string;
  /** A block that was already confirmed: no earlier block contains the attempt. */
  readonly since: BlockPosition;
  /** No block above this height includes the attempt. */
  readonly lastValidBlockHeight: bigint;
}

/** The number of blocks for which a blockhash is valid (`MAX_PROCESSING_AGE`). */
const validBlocks = 150n;
/** An unknown blockhash may come from a node that is ahead, so it is refused permanently only after this time. */
const unknownForMs = 10_000;
const atHead = { first: 'head' } as const;

/** Determines how long attempts can land. Methods throw `NODE_UNAVAILABLE`. */
export interface Lifetimes {
  /** Returns a lifetime with the newest blockhash, for an attempt that only the relayer signs. */
  fresh(): Promise<Lifetime>;
  /** Returns the lifetime of a blockhash that others chose, with the maximum possible `lastValidBlockHeight`; refuses an invalid one. */
  given(blockhash: string): Promise<Lifetime | Refusal>;
}

/** Creates lifetimes. */
export function createLifetimes(rpc: Rpc, memory: BlockMemory, clock: DurationClock): Lifetimes {
  const unknown = createPatience(clock, unknownForMs);

  function refusal(blockhash: string): Refusal {
    const sentence = 'its blockhash has expired or is unknown to the network, and it cannot get a new one because others signed it';
    return { refused: 'outdated', sentence, lasting: unknown.isOver(blockhash) };
  }

  async function newest(): Promise<Lifetime> {
    // From a confirmed block: a processed one may be on a fork that is dropped together with the transactions bound to it.
    const latest = await rpc.ask(
      { method: 'getLatestBlockhash', params: [{ commitment: 'confirmed' }], read: latestBlockhashFrom },
      atHead,
    );
    const since = await confirmedPosition(rpc, memory);
    return { ...latest, since };
  }

  return {
    fresh: () => memory.recall('newest blockhash', newest),
    async given(blockhash) {
      const valid = await rpc.ask(
        { method: 'isBlockhashValid', params: [blockhash, { commitment: 'processed' }], read: validityFrom },
        atHead,
      );
      const since = await confirmedPosition(rpc, memory);
      if (!valid.value) return refusal(blockhash);
      unknown.forget(blockhash);
      // The blockhash may be from the node's newest block, which is at most this many blocks ahead of the confirmed one.
      const ahead = valid.slot > since.slot ? valid.slot - since.slot : 0n;
      return { since, blockhash, lastValidBlockHeight: since.height + ahead + validBlocks };
    },
  };
}

type LatestBlockhash = Pick<Lifetime, 'blockhash' | 'lastValidBlockHeight'>;

function latestBlockhashFrom(answer: unknown): LatestBlockhash {
  const { value } = atSlotFrom(answer, 'latest blockhash', (latest) => objectFrom(latest, 'latest blockhash'));
  const lastValidBlockHeight = integerFrom(value.lastValidBlockHeight, 'last valid block height');
  return { blockhash: keyFrom(value.blockhash, 'blockhash'), lastValidBlockHeight };
}

function validityFrom(answer: unknown): AtSlot<boolean> {
  return atSlotFrom(answer, 'blockhash validity', (value) => {
    if (typeof value !== 'boolean') throw new MalformedAnswerError('blockhash validity');
    return value;
  });
}
