import type { BlockMemory } from '../../core/work/block-memory.js';
import { objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { type LedgerRules, usualRules } from './fee-rules.js';

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
  const read = (): Promise<Bids> => memory.recall('fee stats', () => rpc.ask({ method: 'getFeeStats', params: null, read: bidsFrom }));
  let rules = usualRules;
  return {
    rules: () => rules,
    isBaseFeeRaised: () => rules.baseFeeStroops > usualRules.baseFeeStroops,
    takeRules(newest) {
      rules = newest ?? rules;
    },
    async bidPerOperationStroops(isContract) {
      const { classic, contract } = await read();
      const bid = isContract ? contract : classic;
      return bid > rules.baseFeeStroops ? bid : rules.baseFeeStroops;
    },
  };
}

interface Bids {
  readonly classic: bigint;
  readonly contract: bigint;
}

function bidsFrom(answer: unknown): Bids {
  const { inclusionFee, sorobanInclusionFee } = objectFrom(answer, 'fee stats');
  const p90 = (value: unknown): bigint => integerFrom(objectFrom(value, 'fee stats').p90, 'fee stats');
  return { classic: p90(inclusionFee), contract: p90(sorobanInclusionFee) };
}
