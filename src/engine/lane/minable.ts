import type { OpenTransaction } from '../../core/ports/store.js';
import type { LaneContext } from './lane-context.js';

/**
 * What is in flight and can still be mined, lowest nonce first. Slots that the chain has used without our knowing by what are left out: no price and no
 * broadcast helps there, only the chain tells.
 */
export function* minable({ transactions, chainNonce }: LaneContext): Generator<OpenTransaction> {
  for (const open of transactions.inFlight()) if (open.transaction.nonce !== null && open.transaction.nonce >= chainNonce) yield open;
}
