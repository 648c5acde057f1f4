import type { SolanaAttemptFields } from '../../core/records/solana.js';
import type { Log } from '../../core/work/log.js';
import { remember } from '../../core/work/remember.js';
import type { First } from '../rpc/endpoint-selector.js';
import type { Rpc } from '../rpc/rpc.js';
import { createBlockContents, type ReadBudget } from './block-contents.js';
import type { SearchedBlock } from './history.js';
import type { BlockContent } from './questions.js';

/** An attempt; `hash` is its signature. */
export interface SolanaAttempt {
  readonly hash: string;
  /** The signed transaction in base64. */
  readonly raw: string;
  readonly fields: SolanaAttemptFields;
}

/** An attempt that none of its blocks contains. */
export interface AbsentAttempt {
  readonly attempt: SolanaAttempt;
  /** The number of its blocks. */
  readonly blocks: number;
  readonly last: SearchedBlock;
}

/** One round of searches. */
export interface SearchRound {
  /** The slots of finalized blocks, as a node lists them. */
  readonly slots: readonly bigint[];
  /** Shared by all searches of the round. */
  readonly budget: ReadBudget;
  /** The height of the newest block. */
  readonly height: bigint;
}

/**
 * Looks for attempts in the blocks that could include them: consecutive finalized ones from the slot on at which an attempt was drafted.
 * Their number comes from the draft, everything else from the blocks: each names the hash of the one before it, so none is missing between
 * two of them, however nodes number them. The draft's own slot and height may come from a node that numbered its blocks wrongly.
 */
export interface Absence {
  /**
   * Returns those attempts that none of their blocks contains. Blocks are read as far as the budget allows; the next call continues. An
   * attempt one of whose blocks nodes do not show is searched again after more and more blocks, so that it takes no budget from the others.
   * Throws `NODE_UNAVAILABLE`.
   */
  among(attempts: readonly SolanaAttempt[], now: SearchRound): Promise<readonly AbsentAttempt[]>;
  /**
   * Reads the last block of a search again, because a node lists other blocks. If nodes do not show it any more as it was, the search
   * begins again: a node that numbers its blocks wrongly may have shown them. Throws `NODE_UNAVAILABLE`.
   */
  doubt(attempt: SolanaAttempt, now: SearchRound): Promise<void>;
  /** Forgets how far an attempt is searched, and what nodes showed. */
  beginAgain(hash: string): void;
}

/** How far the blocks of an attempt are searched. */
interface Search {
  /** The number of its blocks that do not contain it, from the first one on. */
  blocks: number;
  /** The newest of them; null: none yet. */
  last: SearchedBlock | null;
  /**
   * How much lower than the draft its blocks begin. The block at which it was drafted can be on a fork that was dropped; the blocks that
   * replace it then begin lower, and this number of further blocks can include the attempt.
   */
  more: number;
  /** A block that a node showed with the attempt in it; null: none. */
  foundAt: bigint | null;
  /** Consecutive searches in which nodes did not show its next block. */
  failures: number;
  /** The height at the last failure. */
  failedHeight: bigint;
  /** The height at which it is searched again. */
  nextHeight: bigint;
}

/** The number of blocks until the next search doubles with each failure, at most this many times. */
const maxDoublings = 5;

/** A fork is dropped long before this number of blocks. */
const maxMore = 64n;

const maxSearches = 10_000;

/** A height below that of the last failure proves that the earlier height was wrong, and with it the height planned for the next search. */
function isDue({ failedHeight, nextHeight }: Search, { height }: SearchRound): boolean {
  return height >= nextHeight || height < failedHeight;
}

/** Creates a search that remembers how far it is. `first`: the endpoint that is asked first. */
export function createAbsence(rpc: Rpc, log: Log, networkName: string, first: First): Absence {
  const contents = createBlockContents(rpc, first);
  /** By signature. */
  const searches = new Map<string, Search>();

  function begin(hash: string): Search {
    const search = { blocks: 0, last: null, more: 0, foundAt: null, failures: 0, failedHeight: 0n, nextHeight: 0n };
    remember(searches, hash, search, maxSearches);
    return search;
  }

  const searchOf = (hash: string): Search => searches.get(hash) ?? begin(hash);

  function fail(search: Search, { height }: SearchRound): void {
    search.failedHeight = height;
    search.nextHeight = height + 2n ** BigInt(Math.min(search.failures, maxDoublings));
    search.failures += 1;
  }

  /** Takes in the next block. Returns false if it contains the attempt, or cannot follow the blocks before it. */
  function take({ hash, fields }: SolanaAttempt, search: Search, slot: bigint, content: BlockContent): boolean {
    const { last } = search;
    if (!follows(content, slot, last, fields.sinceSlot)) return false;
    if (content.contains(hash)) {
      search.foundAt = slot;
      const facts = { network: networkName, signature: hash, slot: slot.toString() };
      log.warn(facts, 'a block contains a transaction that the RPC node does not find by its signature');
      return false;
    }
    const lower = last === null && content.height !== null ? fields.sinceHeight - content.height : 0n;
    if (lower > 0n) search.more = Number(lower < maxMore ? lower : maxMore);
    search.blocks += 1;
    const { height, hash: blockhash, parentHash } = content;
    search.last = { slot, height, hash: blockhash, parentHash };
    return true;
  }

  async function doubt({ hash }: SolanaAttempt, now: SearchRound): Promise<void> {
    const search = searchOf(hash);
    if (!isDue(search, now)) return;
    fail(search, now);
    const { last, failures, failedHeight, nextHeight } = search;
    if (last === null || (await isShownAgain(last, now.budget))) return;
    Object.assign(begin(hash), { failures, failedHeight, nextHeight });
  }

  /** True if nodes show a block as they did before. If not, none of the blocks that they showed counts any more. */
  async function isShownAgain({ slot, height, hash, parentHash }: SearchedBlock, budget: ReadBudget): Promise<boolean> {
    if (budget.blocks <= 0) return true;
    contents.forget(slot);
    const shown = (await contents.read([slot], budget)).get(slot);
    if (shown?.height === height && shown.hash === hash && shown.parentHash === parentHash) return true;
    contents.forgetAll();
    return false;
  }

  /** True if an endpoint still shows the attempt in the block in which it was found. */
  async function isStillFound({ hash }: SolanaAttempt, search: Search): Promise<boolean> {
    if (search.foundAt === null) return false;
    const shown = await contents.opinions(search.foundAt);
    if (shown.length === 0 || shown.some((content) => content.contains(hash))) return true;
    search.foundAt = null;
    contents.forgetAll();
    return false;
  }

  /** Reads the rest of an attempt's blocks, as far as nodes show them. */
  async function searchFor(attempt: SolanaAttempt, now: SearchRound): Promise<void> {
    const { slots, budget } = now;
    const search = searchOf(attempt.hash);
    if (await isStillFound(attempt, search)) return fail(search, now);
    for (;;) {
      const rest = restOf(slots, attempt.fields, search);
      const mayAsk = budget.blocks > 0;
      const read = await contents.read(rest, budget).catch((error: unknown) => {
        fail(search, now);
        throw error;
      });
      const shown = rest.findIndex((slot) => !read.has(slot));
      const [next] = rest;
      if (next === undefined) return;
      if (shown === 0) return mayAsk ? fail(search, now) : undefined;
      for (const slot of shown === -1 ? rest : rest.slice(0, shown)) {
        const content = read.get(slot);
        if (content === undefined || take(attempt, search, slot, content)) continue;
        if (search.foundAt !== null) return fail(search, now);
        await doubt(attempt, now);
        return void (await isShownAgain({ slot, ...content }, budget));
      }
      search.failures = 0;
    }
  }

  return {
    doubt,
    beginAgain(hash) {
      searches.delete(hash);
      contents.forgetAll();
    },
    async among(attempts, now) {
      for (const attempt of attempts) if (isDue(searchOf(attempt.hash), now)) await searchFor(attempt, now);
      return attempts.flatMap((attempt) => {
        const { blocks, last, more, foundAt } = searchOf(attempt.hash);
        return foundAt === null && last !== null && blocks >= blocksOf(attempt.fields) + more ? [{ attempt, blocks, last }] : [];
      });
    },
  };
}

/** True if a block is the next one after `last`, or can be the first one of an attempt. */
function follows({ parentHash, parentSlot }: BlockContent, slot: bigint, last: SearchedBlock | null, sinceSlot: bigint): boolean {
  return last === null ? slot === sinceSlot || parentSlot < sinceSlot : parentHash === last.hash;
}

/** Returns the slots of an attempt's blocks that are not searched yet, as far as they are listed. */
function restOf(slots: readonly bigint[], fields: SolanaAttemptFields, { blocks, last, more }: Search): readonly bigint[] {
  const first = slots.findIndex((slot) => (last === null ? slot >= fields.sinceSlot : slot > last.slot));
  return first === -1 ? [] : slots.slice(first, first + Math.max(0, blocksOf(fields) + more - blocks));
}

/** The number of blocks that could include an attempt, from the block of its draft on. */
export function blocksOf({ sinceHeight, lastValidBlockHeight }: SolanaAttemptFields): number {
  return Math.max(1, Number(lastValidBlockHeight - sinceHeight) + 1);
}
