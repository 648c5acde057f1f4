import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { baseFeeStroops } from './fee-rules.js';

/** Recent inclusion bids. */
export interface Market {
  /** Returns the bid per operation in stroops, at least the base fee; contract calls have their own queue. Throws `NODE_UNAVAILABLE`. */
  bidPerOperationStroops(isContract: boolean): Promise<bigint>;
}

/** Creates a market that caches bids per ledger. It bids the 90th percentile; a ledger charges only the lowest bid that it included. */
export function createMarket(rpc: Rpc, memory: BlockMemory): Market {
  const read = (): Promise<Bids> => memory.recall('fee stats', () => rpc.ask('getFeeStats', null, bidsFrom));
  return {
    async bidPerOperationStroops(isContract) {
      const { classic, contract } = await read();
      const bid = isContract ? contract : classic;
      return bid > baseFeeStroops ? bid : baseFeeStroops;
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
