import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { baseFeeStroops } from './fee-rules.js';

/** What operations bid for their inclusion of late. */
export interface Market {
  /** Stroops for each operation, at least what a ledger takes; contract calls have a queue of their own. Throws `NODE_UNAVAILABLE`. */
  bidPerOperationStroops(isContract: boolean): Promise<bigint>;
}

/** Bids are remembered per ledger. They outbid nine in ten transactions of the last ledgers; what a ledger charges is the lowest bid that it took. */
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
