import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';

/** What an account holds, in lamports; 0 where there is none. Throws `NODE_UNAVAILABLE`. */
export function readBalance(rpc: Rpc, account: string, commitment: 'processed' | 'confirmed'): Promise<bigint> {
  const read = (answer: unknown): bigint => atSlotFrom(answer, 'balance', (value) => integerFrom(value, 'balance')).value;
  return rpc.ask('getBalance', [account, { commitment }], read, { first: 'head' });
}
