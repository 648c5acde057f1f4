import type { Log } from '../../core/ports/log.js';
import type { SolanaAttemptFields } from '../../core/transaction/solana.js';
import type { Rpc } from '../rpc/rpc.js';
import { type BlockContent, createBlockContents, type ReadBudget } from './block-contents.js';

/** An attempt; `hash` is its signature. */
export interface SolanaAttempt {
  readonly hash: string;
  readonly fields: SolanaAttemptFields;
}

/**
 * Returns the blocks that could include an attempt: consecutive finalized ones from the slot on at which it was drafted, up to its last valid
 * height, and `more` of them; fewer if the node does not list that many.
 */
export type WindowOf = (attempt: SolanaAttempt, more: number) => readonly bigint[];

/** An attempt that none of its blocks contains. */
export interface AbsentAttempt {
  readonly attempt: SolanaAttempt;
  readonly more: number;
}

/** Looks for attempts in the blocks that could include them. */
export interface Absence {
  /**
   * Returns those attempts that none of their blocks contains. Blocks are read as far as the budget allows; the next call continues. Throws
   * `NODE_UNAVAILABLE`.
   */
  among(attempts: readonly SolanaAttempt[], windowOf: WindowOf, budget: ReadBudget): Promise<readonly AbsentAttempt[]>;
}

/** How far the blocks of an attempt are searched. */
interface Search {
  /** The number of its blocks that do not contain it, from the first one on. */
  blocks: number;
  /**
   * How much lower than the draft its blocks begin. The block at which it was drafted can be on a fork that was dropped; the blocks that replace
   * it then begin lower, and this number of further blocks can include the attempt.
   */
  more: number;
  isFound: boolean;
}

/** A fork is dropped long before this number of blocks. */
const maxMore = 64n;

const maxSearches = 10_000;

/** Creates a search that remembers how far it is. */
export function createAbsence(rpc: Rpc, log: Log, networkName: string): Absence {
  const contents = createBlockContents(rpc);
  /** By signature. */
  const searches = new Map<string, Search>();

  function searchOf(hash: string): Search {
    const known = searches.get(hash);
    if (known !== undefined) return known;
    const [oldest] = searches.keys();
    if (searches.size >= maxSearches && oldest !== undefined) searches.delete(oldest);
    const search = { blocks: 0, more: 0, isFound: false };
    searches.set(hash, search);
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

  return {
    async among(attempts, windowOf, budget) {
      const unfound = attempts.filter(({ hash }) => searches.get(hash)?.isFound !== true);
      const windowNow = (attempt: SolanaAttempt) => windowOf(attempt, searchOf(attempt.hash).more);
      const slots = new Set(unfound.flatMap((attempt) => windowNow(attempt).slice(searchOf(attempt.hash).blocks)));
      const inOrder = [...slots].toSorted((a, b) => (a < b ? -1 : 1));
      const read = await contents.read(inOrder, budget);
      for (const attempt of unfound) proceed(attempt, windowNow(attempt), read);
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
