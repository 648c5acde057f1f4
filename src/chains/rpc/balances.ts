import { max } from '../../core/records/bigints.js';
import { remember } from '../../core/work/remember.js';
import type { CallOptions } from './call-router.js';
import type { RpcCall } from './json-rpc.js';
import type { Rpc } from './rpc.js';

const maxBalances = 10_000;

/** Reads the balance that is remembered by this name. Throws `NODE_UNAVAILABLE`. */
export type ReadBalance = (name: string, call: RpcCall<bigint>, options?: CallOptions) => Promise<bigint>;

/**
 * Creates a reader of balances. A node that lags, or lies, may show less than there is: one that shows nothing, or less than half of what
 * was there, is compared with others, and the highest counts.
 */
export function createBalances(rpc: Pick<Rpc, 'ask' | 'opinions'>): ReadBalance {
  const known = new Map<string, bigint>();
  return async (name, call, options) => {
    const shown = await rpc.ask(call, options);
    const before = known.get(name);
    const isDrop = before === undefined ? shown === 0n : shown < before / 2n;
    const balance = isDrop ? max(shown, ...(await rpc.opinions(call))) : shown;
    remember(known, name, balance, maxBalances);
    return balance;
  };
}
