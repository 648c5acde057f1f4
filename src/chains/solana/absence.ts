import type { SolanaAttemptFields } from '../../core/records/solana.js';
import type { Log } from '../../core/work/log.js';
import { remember } from '../../core/work/remember.js';
import type { Rpc } from '../rpc/rpc.js';
import { createBlockContents, type ReadBudget } from './block-contents.js';
import type { BlockContent } from './questions.js';

/** An attempt; `hash` is its signature. */
export interface SolanaAttempt {
  readonly hash: string;
  /** The signed transaction in base64. */
  readonly raw: string;
  readonly fields: SolanaAttemptFields;
}

/**
 * Returns the blocks that could include an attempt: consecutive finalized ones from the slot on at which it was drafted, up to its last
 * valid height, and `more` of them; fewer if the node does not list that many.
 */
export type WindowOf = (attempt: SolanaAttempt, more: number) => readonly bigint[];

/** An attempt that none of its blocks contains. */
export interface AbsentAttempt {
  readonly attempt: SolanaAttempt;
  readonly more: number;
}

/** One round of searches. */
export interface SearchRound {
  readonly windowOf: WindowOf;
  /** Shared by all searches of the round. */
  readonly budget: ReadBudget;
  /** The height of the newest block. */
  readonly height: bigint;
}

/** Looks for attempts in the blocks that could include them. */
export interface Absence {
  /**
   * Returns those attempts that none of their blocks contains. Blocks are read as far as the budget allows; the next call continues. An
   * attempt one of whose blocks nodes do not show is searched again after more and more blocks, so that it takes no budget from the others.
   * Throws `NODE_UNAVAILABLE`.
   */
  among(attempts: readonly SolanaAttempt[], now: SearchRound): Promise<readonly AbsentAttempt[]>;
}

/** How far the blocks of an attempt are searched. */
interface Search {
  /** The number of its blocks that do not contain it, from the first one on. */
  blocks: number;
  /**
   * How much lower than the draft its blocks begin. The block at which it was drafted can be on a fork that was dropped; the blocks that
   * replace it then begin lower, and this number of further blocks can include the attempt.
   */
  more: number;
  isFound: boolean;
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

/** Creates a search that remembers how far it is. */
export function createAbsence(rpc: Rpc, log: Log, networkName: string): Absence {
  const contents = createBlockContents(rpc);
  /** By signature. */
  const searches = new Map<string, Search>();

  function searchOf(hash: string): Search {
    const known = searches.get(hash);
    if (known !== undefined) return known;
    const search = { blocks: 0, more: 0, isFound: false, failures: 0, failedHeight: 0n, nextHeight: 0n };
    remember(searches, hash, search, maxSearches);
    return search;
  }

  function proceed({ hash, fields }: SolanaAttempt, window: readonly bigint[], read: ReadonlyMap<bigint, BlockContent>): void {
    const search = searchOf(hash);
    for (const slot of window.slice(search.blocks)) {
      const content = read.get(slot);
      if (content === undefined) return;
      const lower = content.height === null ? 0n : fields.sinceHeight - content.height;
      if (search.blocks === 0 && lower > 0n && lower <= maxMore) search.more = Number(lower);
      const height = fields.sinceHeight - BigInt(search.more - search.blocks);
      // An answer about another block proves nothing.
      if (content.height !== null && content.height !== height) return;
      if (content.contains(hash)) {
        search.isFound = true;
        const facts = { network: networkName, signature: hash, slot: slot.toString() };
        log.warn(facts, 'a block contains a transaction that the RPC node does not find by its signature');
        return;
      }
      search.blocks += 1;
    }
  }

  /** Reads the rest of an attempt's blocks, as far as nodes show them. */
  async function searchFor(attempt: SolanaAttempt, now: SearchRound, read: Map<bigint, BlockContent>): Promise<void> {
    const { windowOf, budget, height } = now;
    const search = searchOf(attempt.hash);
    const rest = () => windowOf(attempt, search.more).slice(search.blocks);
    const fail = (): void => {
      search.failedHeight = height;
      search.nextHeight = height + 2n ** BigInt(Math.min(search.failures, maxDoublings));
      search.failures += 1;
    };
    for (;;) {
      proceed(attempt, windowOf(attempt, search.more), read);
      const [next] = rest();
      if (next === undefined || search.isFound) return;
      // It shows another height.
      if (read.has(next)) return fail();
      const mayAsk = budget.blocks > 0;
      try {
        for (const [slot, content] of await contents.read(rest(), budget)) read.set(slot, content);
      } catch (error) {
        fail();
        throw error;
      }
      if (!read.has(next)) return mayAsk ? fail() : undefined;
      search.failures = 0;
    }
  }

  return {
    async among(attempts, now) {
      const unfound = attempts.filter(({ hash }) => searches.get(hash)?.isFound !== true);
      const read = new Map<bigint, BlockContent>();
      for (const attempt of unfound) if (isDue(searchOf(attempt.hash), now)) await searchFor(attempt, now, read);
      return unfound.flatMap((attempt) => {
        const { blocks, more, isFound } = searchOf(attempt.hash);
        return !isFound && blocks >= blocksOf(attempt.fields) + more ? [{ attempt, more }] : [];
      });
    },
  };
}

/** The number of blocks that could include an attempt, from the height at which it was drafted. */
export function blocksOf({ sinceHeight, lastValidBlockHeight }: SolanaAttemptFields): number {
  return Number(lastValidBlockHeight - sinceHeight) + 1;
}
