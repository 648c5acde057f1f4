import { type Balance, freeFunds } from '../../core/fees/funds.js';
import { max } from '../../core/records/bigints.js';
import { smallestUnits } from '../../core/records/network.js';
import { minBalanceOf } from '../../core/records/relayer.js';
import { createBlockMemory } from '../../core/work/block-memory.js';
import { askAhead } from './ask-ahead.js';
import type { LaneInputs } from './lane-inputs.js';
import type { OpenTransactions } from './open-transactions.js';

/**
 * A balance is read again at the same head after this time: on a network that makes no blocks while nothing is sent, it changes without
 * one.
 */
const rememberedForMs = 3_000;

/** What the account of a lane can spend. Nodes are asked for it once per head. */
export interface Funds {
  /** `by`: see `Chain.balanceOf`. Throws `NODE_UNAVAILABLE`. */
  read(by?: 'several'): Promise<Balance>;
  /**
   * Reads the part of the balance that is left for new attempts: everything in flight may cost its most, and the minimum balance must
   * remain, or what the account cannot spend if that is more. If less than `needed` is left, several endpoints are asked. `without`: what
   * the attempts to replace may cost. Throws `NODE_UNAVAILABLE`.
   */
  readFree(needed: bigint, without?: bigint): Promise<{ readonly balance: bigint; readonly free: bigint }>;
  /** Reports a balance below the required minimum once, and again only after the balance has recovered. */
  report(balance: bigint): Promise<void>;
  /** Something that nodes take long to draft will need the balance: until it is read, each newer head makes nodes be asked for it. */
  expectRead(): void;
  /** A newer head came: the balance is read again. */
  forget(): void;
}

/** Creates the funds of a lane. Nothing is read before it is asked for. */
export function createFunds({ id, deps, chain, relayer }: LaneInputs, transactions: Pick<OpenTransactions, 'reserved'>): Funds {
  /** The balance that was read since the newest head came. */
  const memory = createBlockMemory(rememberedForMs, deps.clock.elapsedMs);
  /** The balance was below the required minimum when it was last checked, and this was reported. */
  let isLow = false;
  let isExpected = false;

  async function ask(by?: 'several'): Promise<Balance> {
    const [balance, locked] = await Promise.all([chain.balanceOf(id.account, by), chain.lockedOf(id.account, by)]);
    return { balance, locked };
  }

  const read = (by?: 'several'): Promise<Balance> => memory.recall(`balance by ${by ?? 'one'}`, () => ask(by));

  return {
    read,
    async readFree(needed, without = 0n) {
      isExpected = false;
      const freeOf = (account: Balance) => freeFunds(account, transactions.reserved() - without, relayer().policies);
      const first = await read();
      const account = freeOf(first) >= needed ? first : await read('several');
      return { balance: account.balance, free: freeOf(account) };
    },
    async report(balance) {
      const now = relayer();
      const minimum = minBalanceOf(now.policies);
      if (balance < minimum === isLow) return;
      isLow = balance < minimum;
      const unit = smallestUnits[now.networkType];
      if (!isLow) {
        deps.log.info({ relayer: now.id }, `the balance is sufficient again: ${balance} ${unit}`);
        return;
      }
      deps.log.warn({ relayer: now.id }, `the balance is ${balance} ${unit}, below min_balance ${minimum} ${unit}; new transactions wait`);
      const changes = deps.recordRelayerState(now, 'relayer_low_balance');
      if (changes.length > 0) await deps.store.commit(changes);
    },
    expectRead() {
      isExpected = true;
      askAhead({ deps, relayer }, read());
    },
    forget() {
      memory.forgetAll();
      if (isExpected) askAhead({ deps, relayer }, read());
    },
  };
}

/**
 * Splits these, in order, into transactions that the funds pay for, and the others. `free`: the funds that the earlier ones left for it.
 */
export function splitByFunds<T>(all: readonly T[], funds: bigint, costOf: (one: T) => bigint) {
  const payable: T[] = [];
  const unpayable: { readonly one: T; readonly cost: bigint; readonly free: bigint }[] = [];
  let free = funds;
  for (const one of all) {
    const cost = costOf(one);
    if (cost > free) {
      unpayable.push({ one, cost, free: max(free, 0n) });
      continue;
    }
    free -= cost;
    payable.push(one);
  }
  return { payable, unpayable };
}
