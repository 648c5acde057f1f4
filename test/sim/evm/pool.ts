import type { AccountState } from './ledger.js';
import type { SimTransaction } from './transaction.js';

/** Why a pool refuses a transaction. */
export type PoolRefusal = 'known' | 'replacement' | 'nonceUsed' | 'gap' | 'full' | 'funds' | 'price' | 'gas';

/** The rules of a pool, which may change at any time. */
export interface PoolRules {
  /** The most transactions that it holds. */
  capacity: number;
  /** A replacement must bid this percentage more, in both fees; `isStrict`: even more than that. */
  bumpPercent: bigint;
  isStrict: boolean;
  /** Refuses transactions above a missing nonce. */
  hasNoGaps: boolean;
  leastTipWei: bigint;
}

/** The most gas that a transaction may have (EIP-7825). */
const maxGasLimit = 2n ** 24n;

/** The rules that geth has by default. */
export const defaultRules = { capacity: 10_000, bumpPercent: 10n } as const;

/** The transactions that a node holds, one for each nonce of an account. */
export interface Pool {
  readonly rules: PoolRules;
  add(transaction: SimTransaction, account: AccountState): PoolRefusal | null;
  has(hash: string): SimTransaction | undefined;
  at(account: string, nonce: number): SimTransaction | undefined;
  all(): readonly SimTransaction[];
  /** Drops what was mined, and what can no longer be paid. */
  settle(accounts: ReadonlyMap<string, AccountState>): void;
  forget(isForgotten: (transaction: SimTransaction) => boolean): void;
}

/** Makes an empty pool. */
export function createPool(rules: PoolRules): Pool {
  const byAccount = new Map<string, Map<number, SimTransaction>>();
  const byHash = new Map<string, SimTransaction>();

  function drop(transaction: SimTransaction): void {
    byHash.delete(transaction.hash);
    byAccount.get(transaction.from)?.delete(transaction.nonce);
  }

  function outbids(wanted: bigint, before: bigint): boolean {
    const [a, b] = [wanted * 100n, before * (100n + rules.bumpPercent)];
    return rules.isStrict ? a > b : a >= b && wanted > before;
  }

  return {
    rules,
    add(transaction, { nonce, balanceWei }) {
      const { from, hash, maxFeeWei, priorityWei, valueWei, gasLimit } = transaction;
      if (byHash.has(hash)) return 'known';
      if (transaction.nonce < nonce) return 'nonceUsed';
      if (gasLimit > maxGasLimit) return 'gas';
      if (priorityWei < rules.leastTipWei) return 'price';
      if (valueWei + gasLimit * maxFeeWei > balanceWei) return 'funds';
      const own = byAccount.get(from) ?? new Map<number, SimTransaction>();
      byAccount.set(from, own);
      const before = own.get(transaction.nonce);
      if (before !== undefined && !(outbids(maxFeeWei, before.maxFeeWei) && outbids(priorityWei, before.priorityWei))) return 'replacement';
      if (before === undefined && rules.hasNoGaps && transaction.nonce > nonce && !own.has(transaction.nonce - 1)) return 'gap';
      if (before === undefined && byHash.size >= rules.capacity) return 'full';
      if (before !== undefined) drop(before);
      own.set(transaction.nonce, transaction);
      byHash.set(hash, transaction);
      return null;
    },
    has: (hash) => byHash.get(hash),
    at: (account, nonce) => byAccount.get(account)?.get(nonce),
    all: () => [...byHash.values()],
    settle(accounts) {
      for (const transaction of [...byHash.values()]) {
        const account = accounts.get(transaction.from);
        const cost = transaction.valueWei + transaction.gasLimit * transaction.maxFeeWei;
        if (account !== undefined && (transaction.nonce < account.nonce || cost > account.balanceWei)) drop(transaction);
      }
    },
    forget(isForgotten) {
      for (const transaction of [...byHash.values()]) if (isForgotten(transaction)) drop(transaction);
    },
  };
}
