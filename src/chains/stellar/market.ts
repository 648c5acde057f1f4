import { lowerMedian, max } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type LedgerRules, usualRules } from './fee-rules.js';
import { questions, type RecentBids } from './questions.js';

/** Recent inclusion bids. */
export interface Market {
  /** Returns the bid per operation in stroops, at least the base fee; contract calls have their own queue. Throws `NODE_UNAVAILABLE`. */
  bidPerOperationStroops(isContract: boolean): Promise<bigint>;
  /** The rules of the newest ledger. Calls no node. */
  rules(): LedgerRules;
  /** True if the newest ledger demands more than the usual base fee, as one node says. */
  isBaseFeeRaised(): boolean;
  /** Takes note of the rules of a new ledger; null: its header is not known. */
  takeRules(rules: LedgerRules | null): void;
}

/** Creates a market that caches bids per ledger. It bids the 90th percentile; a ledger charges only the lowest bid that it included. */
export function createMarket(rpc: Rpc, memory: BlockMemory): Market {
  const read = (): Promise<RecentBids> => memory.recall('fee stats', () => readBids(rpc));
  let rules = usualRules;
  return {
    rules: () => rules,
    isBaseFeeRaised: () => rules.baseFeeStroops > usualRules.baseFeeStroops,
    takeRules(newest) {
      rules = newest ?? rules;
    },
    async bidPerOperationStroops(isContract) {
      const { classic, contract } = await read();
      return max(isContract ? contract : classic, rules.baseFeeStroops);
    },
  };
}

/** One node alone must not raise the bid. */
async function readBids(rpc: Rpc): Promise<RecentBids> {
  const opinions = await rpc.opinions(questions.recentBids());
  const middle = (bids: readonly bigint[]) => lowerMedian(bids) ?? 0n;
  return { classic: middle(opinions.map(({ classic }) => classic)), contract: middle(opinions.map(({ contract }) => contract)) };
}
