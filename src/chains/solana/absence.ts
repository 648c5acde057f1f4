import type { Log } from '../../core/ports/log.js';
import type { SolanaAttemptFields } from '../../core/transaction/solana.js';
import type { Rpc } from '../rpc/rpc.js';
import { type BlockContent, createBlockContents, type ReadBudget } from './block-contents.js';

/** An attempt; `hash` is its signature. */
export interface SolanaAttempt {
  readonly hash: string;
  readonly fields: SolanaAttemptFields;
}

/** Looks for attempts in the blocks that could include them. */
export interface Absence {
  /**
   * Returns those attempts that none of their blocks contains. `windowOf` returns an attempt's blocks: consecutive finalized ones, the first at the height
   * `sinceHeight`. Blocks are read as far as the budget allows; the next call continues. Throws `NODE_UNAVAILABLE`.
   */
  among(
    attempts: readonly SolanaAttempt[],
    windowOf: (attempt: SolanaAttempt) => readonly bigint[],
    budget: ReadBudget,
  ): Promise<readonly SolanaAttempt[]>;
}

/** How far the blocks of an attempt are searched. */
interface Search {
  /** The number of its blocks that do not contain it, from the first one on. */
  blocks: number;
  isFound: boolean;
}

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
    const search = { blocks: 0, isFound: false };
    searches.set(hash, search);
    return search;
  }

  function proceed({ hash, fields }: SolanaAttempt, window: readonly bigint[], read: ReadonlyMap<bigint, BlockContent>): void {
    const search = searchOf(hash);
    for (const slot of window.slice(search.blocks)) {
      const content = read.get(slot);
      const height = fields.sinceHeight + BigInt(search.blocks);
      // An answer about another block proves nothing.
      if (content === undefined || (content.height !== null && content.height !== height)) return;
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
      const slots = new Set(unfound.flatMap((attempt) => windowOf(attempt).slice(searchOf(attempt.hash).blocks)));
      const inOrder = [...slots].toSorted((a, b) => (a < b ? -1 : 1));
      const read = await contents.read(inOrder, budget);
      for (const attempt of unfound) proceed(attempt, windowOf(attempt), read);
      return unfound.filter((attempt) => {
        const window = windowOf(attempt);
        const { blocks, isFound } = searchOf(attempt.hash);
        return window.length > 0 && !isFound && blocks >= window.length;
      });
    },
  };
}
