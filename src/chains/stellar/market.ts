import { lowerMedian, max, upperMedian } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type LedgerRules, usualRules } from './fee-rules.js';
import { questions, type RecentBids } from './questions.js';

/** Recent inclusion bids. */
export interface Market {
  /**
   * Returns the bid per operation in stroops, at least the base fee; contract calls have their own queue. Of two endpoints the lower one
   * counts, or, for a bid that has waited, the higher one. Throws `NODE_UNAVAILABLE`.
   */
  bidPerOperationStroops(isContract: boolean, counts?: 'lower' | 'higher'): Promise<bigint>;
  /** The rules of the newest ledger. Calls no node. */
  rules(): LedgerRules;
  /** True if the newest ledger demands more than the usual base fee, as one node says. */
  isBaseFeeRaised(): boolean;
  /** Takes note of the rules of a new ledger; null: its header is not known. */
  takeRules(rules: LedgerRules | null): void;
}

/** Creates a market that caches bids per ledger. It bids the 90th percentile; a ledger charges only the lowest bid that it included. */
export function createMarket(rpc: Rpc, memory: BlockMemory): Market {
  const read = (): Promise<readonly RecentBids[]> => memory.recall('fee stats', () => rpc.opinions(questions.recentBids()));
  let rules = usualRules;
  return {
    rules: () => rules,
    isBaseFeeRaised: () => rules.baseFeeStroops > usualRules.baseFeeStroops,
    takeRules(newest) {
      rules = newest ?? rules;
    },
    async bidPerOperationStroops(isContract, counts = 'lower') {
      const bids = (await read()).map(({ classic, contract }) => (isContract ? contract : classic));
      // One node alone must not raise a bid, nor keep it low for ever: a ledger charges only the lowest bid that it included.
      const middle = counts === 'lower' ? lowerMedian(bids) : upperMedian(bids);
      return max(middle ?? 0n, rules.baseFeeStroops);
    },
  };
}
