import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { DurationClock } from '../../core/work/clock.js';
import { createDenials } from '../rpc/denials.js';
import type { First } from '../rpc/endpoint-selector.js';
import type { Rpc } from '../rpc/rpc.js';
import { inUse, withSecondWord } from '../rpc/second-word.js';
import type { Positions } from './positions.js';
import { type BlockPosition, maxSlotsAhead, questions, validBlocks } from './questions.js';

/** How long an attempt can land. */
export interface Lifetime {
  readonly blockhash: string;
  /** A block that was already confirmed: no earlier block contains the attempt. */
  readonly since: BlockPosition;
  /** No block above this height includes the attempt. */
  readonly lastValidBlockHeight: bigint;
}

/** The newest blockhash of some endpoints. */
interface Latest {
  readonly lifetime: Lifetime;
  readonly by: ReadonlySet<number>;
}

/** An unknown blockhash may come from a node that is ahead, so it is refused permanently only after this time. */
const unknownForMs = 10_000;

/** Determines how long attempts can land. Methods throw `NODE_UNAVAILABLE`. */
export interface Lifetimes {
  /** Returns a lifetime with the newest blockhash, for an attempt that only the relayer signs. */
  fresh(): Promise<Lifetime>;
  /** Returns the lifetime of a blockhash that others chose, with the maximum possible `lastValidBlockHeight`; refuses an invalid one. */
  given(blockhash: string): Promise<Lifetime | Refusal>;
}

/** Creates lifetimes. */
export function createLifetimes(rpc: Rpc, memory: BlockMemory, positions: Positions, clock: DurationClock): Lifetimes {
  const unknown = createDenials(clock, unknownForMs);

  function refusal(blockhash: string, isDoubted: boolean): Refusal {
    const sentence = 'its blockhash has expired or is unknown to the network, and it cannot get a new one because others signed it';
    const isOver = unknown.isLong(blockhash);
    return { refused: 'outdated', sentence, lasting: isOver && !isDoubted, ...(isOver && isDoubted ? { isDoubted } : {}) };
  }

  async function newest(): Promise<Lifetime> {
    const lifetime = await from(await positions.confirmed()).catch(nullIfUnavailable);
    // If no endpoint has a blockhash that fits it, the position itself may be wrong.
    return lifetime ?? from(await rpc.ask(questions.position('confirmed', positions.isSane), { first: 'another' }));
  }

  /** The newest blockhash of the endpoint of the head, which another endpoint must know: with one that never was, nothing can land. */
  async function from(since: BlockPosition): Promise<Lifetime> {
    const count = inUse(rpc);
    const own = await latestAt(since, 'head');
    if (count < 2 || (await isKnownAt(own, { otherThan: own.by }))) return own.lifetime;
    const other = await latestAt(since, { otherThan: own.by }).catch(nullIfUnavailable);
    if (other === null) return own.lifetime;
    // One of them is wrong, or behind: what the other one knows counts, or what a third one knows.
    if (await isKnownAt(other, { otherThan: other.by })) return other.lifetime;
    const both = new Set([...own.by, ...other.by]);
    return count > 2 && (await isKnownAt(other, { otherThan: both })) && !(await isKnownAt(own, { otherThan: both }))
      ? other.lifetime
      : own.lifetime;
  }

  async function latestAt(since: BlockPosition, first: First): Promise<Latest> {
    const by = new Set<number>();
    const call = questions.latestBlockhash(latestSlot(since), since.height, (slot) => highestWith(since, slot));
    return { lifetime: { ...(await rpc.ask(call, { first, answeredBy: by })), since }, by };
  }

  /** True if an endpoint knows the blockhash, or none answers. */
  async function isKnownAt({ lifetime: { blockhash, since } }: Latest, first: First): Promise<boolean> {
    const call = questions.blockhashValidity(blockhash, 'processed', latestSlot(since));
    return (await rpc.ask(call, { first }).catch(nullIfUnavailable))?.value ?? true;
  }

  return {
    fresh: () => memory.recall('newest blockhash', newest),
    async given(blockhash) {
      const since = await positions.confirmed();
      // An attempt with a blockhash that one node alone denies can still land.
      const { answer: valid, isDoubted } = await withSecondWord(
        rpc,
        (options) => rpc.ask(questions.blockhashValidity(blockhash, 'processed', latestSlot(since)), options),
        ({ value }) => !value && unknown.isLong(blockhash),
      );
      if (!valid.value) return refusal(blockhash, isDoubted);
      unknown.forget(blockhash);
      return { since, blockhash, lastValidBlockHeight: highestWith(since, valid.slot) };
    },
  };
}

function latestSlot(since: BlockPosition): bigint {
  return since.slot + maxSlotsAhead;
}

/** The highest block that can take a blockhash which a node knows at this slot: the node may be ahead of the confirmed block. */
function highestWith(since: BlockPosition, slot: bigint): bigint {
  return since.height + (slot > since.slot ? slot - since.slot : 0n) + validBlocks;
}
