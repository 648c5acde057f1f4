import { DomainError } from '../../core/errors/errors.js';
import { inOrder, lowerMedian, upperMedian } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { maxPricedAccounts, questions } from './questions.js';

const percentile = 75;
/** Fewer than this many are asked about one by one: two questions for all of them save too little. */
const leastTogether = 4;

/** The prices of compute units. */
export interface Market {
  /**
   * Returns the compute unit price in micro-lamports for a transaction that writes to these accounts: the 75th percentile of recent slots.
   * 0 if there are no bids or nodes report no fees. It is read once per head and accounts, and for many transactions together. Of two
   * endpoints the lower price counts, or the higher one if an attempt has expired (`hasWaited`): one endpoint alone must neither raise a
   * bid nor keep it too low for ever. Throws `NODE_UNAVAILABLE`.
   */
  unitPrice(writable: readonly string[], hasWaited?: boolean): Promise<bigint>;
}

interface Asking {
  readonly accounts: readonly string[];
  readonly hasWaited: boolean;
  readonly resolve: (price: bigint | Promise<bigint>) => void;
}

/** Creates the market of a cluster. */
export function createMarket(rpc: Rpc, memory: BlockMemory): Market {
  let gathered: Asking[] = [];

  async function priceOf(accounts: readonly string[], hasWaited: boolean): Promise<bigint> {
    const prices = await memory.recall(`prices for ${accounts.toSorted().join(' ')}`, () => readPrices(rpc, accounts));
    return (hasWaited ? upperMedian(prices) : lowerMedian(prices)) ?? 0n;
  }

  /**
   * The price of a slot is the highest among the accounts. So all transactions have one price if it is the same for the accounts that they
   * share and for all their accounts together: two questions then do for many.
   */
  async function priceAll(group: readonly Asking[], hasWaited: boolean): Promise<void> {
    if (group.length >= leastTogether) {
      const [first, ...others] = group.map(({ accounts }) => new Set(accounts));
      const shared = [...(first ?? [])].filter((account) => others.every((accounts) => accounts.has(account)));
      const all = [...new Set(group.flatMap(({ accounts }) => accounts))];
      const prices =
        all.length > maxPricedAccounts ? [] : await Promise.all([priceOf(shared, hasWaited), priceOf(all, hasWaited)]).catch(() => []);
      const [least, most] = prices;
      if (least !== undefined && least === most) {
        for (const { resolve } of group) resolve(least);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await Promise.all([priceAll(group.slice(0, half), hasWaited), priceAll(group.slice(half), hasWaited)]);
      return;
    }
    for (const { accounts, resolve } of group) resolve(priceOf(accounts, hasWaited));
  }

  return {
    unitPrice: (writable, hasWaited = false) =>
      new Promise((resolve) => {
        gathered.push({ accounts: writable.slice(0, maxPricedAccounts), hasWaited, resolve });
        if (gathered.length > 1) return;
        // After everything that this turn of the event loop drafts.
        process.nextTick(() => {
          const group = gathered;
          gathered = [];
          for (const waited of [false, true]) {
            void priceAll(
              group.filter((one) => one.hasWaited === waited),
              waited,
            );
          }
        });
      }),
  };
}

/** The price that each of several endpoints shows. */
async function readPrices(rpc: Rpc, accounts: readonly string[]): Promise<readonly bigint[]> {
  const opinions = await rpc.opinions(questions.recentPrices(accounts)).catch((error: unknown) => {
    if (error instanceof DomainError && error.cause instanceof NodeError && !error.cause.isOverload) return [];
    throw error;
  });
  return opinions.map((fees) => at(inOrder(fees), (fees.length * percentile) / 100));
}

function at(numbers: readonly bigint[], place: number): bigint {
  return numbers[Math.floor(place)] ?? 0n;
}
