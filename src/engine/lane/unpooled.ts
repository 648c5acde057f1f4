import type { Move } from '../../core/ports/lanes.js';
import type { Transaction } from '../../core/records/transaction.js';
import { submitted } from '../../core/transaction/lifecycle.js';
import { waitsFor } from './commit-moves.js';

const unpooled = 'waiting: the RPC node answers with a hash, but does not have the transaction in its pool; rebroadcasting';

/** True if nodes accept it without taking it into their pools: then its price is not known to be the problem. */
export function isUnpooled({ statusReason }: Transaction): boolean {
  return statusReason === unpooled;
}

/** Says in the record that nodes do not pool it. */
export function whenUnpooled(transaction: Transaction): Move | null {
  return transaction.mined === null && transaction.status === 'submitted' ? waitsFor(transaction, unpooled) : null;
}

/** Says in the record that a node has it again. */
export function whenPooled(transaction: Transaction, nowMs: number): Move | null {
  return isUnpooled(transaction) ? { steps: [submitted(transaction, nowMs)] } : null;
}
