import { DomainError } from '../../core/errors/errors.js';
import { remember } from '../../core/work/remember.js';
import type { First } from '../rpc/endpoint-selector.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type BlockContent, questions } from './questions.js';

/**
 * Reads the signatures in finalized blocks. A node finds signatures by an index that it writes apart from the blocks: one that crashed, was
 * restored from a snapshot, or began to keep history later lists blocks whose transactions it does not find. The blocks themselves show
 * what they contain.
 */
export interface BlockContents {
  /**
   * Reads these blocks in order, up to the first that nodes do not show, and as far as `budget` allows; subtracts the blocks that it
   * requests from the budget. Throws `NODE_UNAVAILABLE` if no node answers.
   */
  read(slots: readonly bigint[], budget: ReadBudget): Promise<ReadonlyMap<bigint, BlockContent>>;
  /** Reads a block from several endpoints. Returns what they show; empty if none shows it. Throws `NODE_UNAVAILABLE`. */
  opinions(slot: bigint): Promise<readonly BlockContent[]>;
  /** The next call of `read` asks for this block again. */
  forget(slot: bigint): void;
  forgetAll(): void;
}

/** The blocks that may still be read. */
export interface ReadBudget {
  blocks: number;
}

const maxAtOnce = 4;
/** Finalized blocks do not change, but a node can show wrong ones. These take about 10 MB on the main cluster. */
const maxRemembered = 320;

/** Creates an empty collection. `first`: the endpoint that goes first. */
export function createBlockContents(rpc: Rpc, first: First): BlockContents {
  const known = new Map<bigint, BlockContent>();
  /** Relayers of the same network need the same blocks. */
  const reading = new Map<bigint, Promise<BlockContent>>();

  async function readOne(slot: bigint): Promise<BlockContent> {
    const content = await rpc.ask(questions.blockSignatures(slot), { first });
    remember(known, slot, content, maxRemembered);
    return content;
  }

  function readOnce(slot: bigint): Promise<BlockContent> {
    const shared = reading.get(slot) ?? readOne(slot).finally(() => reading.delete(slot));
    reading.set(slot, shared);
    return shared;
  }

  return {
    forget: (slot) => void known.delete(slot),
    forgetAll: () => known.clear(),
    opinions: async (slot) => (await nullIfNotShown(rpc.opinions(questions.blockSignatures(slot)))) ?? [],
    async read(slots, budget) {
      const contents = new Map<bigint, BlockContent>();
      const missing: bigint[] = [];
      for (const slot of slots) {
        const content = known.get(slot);
        if (content !== undefined) contents.set(slot, content);
        else missing.push(slot);
      }
      for (let at = 0; at < missing.length && budget.blocks > 0; ) {
        const some = missing.slice(at, at + Math.min(maxAtOnce, budget.blocks));
        at += some.length;
        budget.blocks -= some.length;
        for (const [index, content] of (await Promise.all(some.map((slot) => nullIfNotShown(readOnce(slot))))).entries())
          if (content !== null) contents.set(some[index] ?? 0n, content);
        if (some.some((slot) => !contents.has(slot))) break;
      }
      return contents;
    },
  };
}

/** Null: nodes answer, but do not show it. */
async function nullIfNotShown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DomainError && error.cause instanceof NodeError) return null;
    throw error;
  }
}
