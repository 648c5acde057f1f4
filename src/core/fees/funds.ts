import { max } from '../records/bigints.js';
import { minBalanceOf, type RelayerPolicies } from '../records/relayer.js';
import type { OpenTransaction } from '../records/transaction.js';
import { maxCost } from './price.js';

/** The balance of an account, and the part of it that the account cannot spend, in the network's smallest unit. */
export interface Balance {
  readonly balance: bigint;
  readonly locked: bigint;
}

/** Returns what must remain in an account: the minimum balance, or what it cannot spend if that is more. */
export function mustRemain(locked: bigint, policies: RelayerPolicies): bigint {
  return max(locked, minBalanceOf(policies));
}

/** Returns what is left for new attempts beside what is reserved for everything in flight. */
export function freeFunds({ balance, locked }: Balance, reserved: bigint, policies: RelayerPolicies): bigint {
  return balance - reserved - mustRemain(locked, policies);
}

/** Returns the cost of the most expensive attempt: any of them may be mined. */
export function highestCost({ attempts }: Pick<OpenTransaction, 'attempts'>): bigint {
  return max(0n, ...attempts.map(({ fields }) => maxCost(fields)));
}
