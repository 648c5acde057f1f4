import { smallestUnits } from '../../core/relayer/network.js';
import { minBalanceOf } from '../../core/relayer/relayer.js';
import type { LaneContext } from './lane-context.js';

/**
 * Reads the part of the balance that is left for new attempts: everything in flight may cost its most, and the minimum balance must remain, or what the
 * account cannot spend if that is more. `without`: what the attempts to replace may cost. Throws `NODE_UNAVAILABLE`.
 */
export async function readFunds(lane: LaneContext, without = 0n): Promise<{ readonly balance: bigint; readonly free: bigint }> {
  const { transactions, relayer, chain, id } = lane;
  const [balance, locked] = await Promise.all([chain.balanceOf(id.account), chain.lockedOf(id.account)]);
  const minimum = minBalanceOf(relayer().policies);
  const mustRemain = locked > minimum ? locked : minimum;
  return { balance, free: balance - (transactions.reserved() - without) - mustRemain };
}

/** Splits these, in order, into those that the funds pay for and the others. `free`: the funds that the earlier ones left for it. */
export function splitByFunds<T>(all: readonly T[], funds: bigint, costOf: (one: T) => bigint) {
  const payable: T[] = [];
  const unpayable: { readonly one: T; readonly cost: bigint; readonly free: bigint }[] = [];
  let free = funds;
  for (const one of all) {
    const cost = costOf(one);
    if (cost > free) {
      unpayable.push({ one, cost, free: free < 0n ? 0n : free });
      continue;
    }
    free -= cost;
    payable.push(one);
  }
  return { payable, unpayable };
}

/** A node refused a send because of funds: reads the balance, once per head. */
export async function checkBalance(lane: LaneContext): Promise<void> {
  const { settled } = lane;
  if (settled === null || settled.hash === lane.balanceReadAtHash) return;
  await reportLowBalance(lane, await lane.chain.balanceOf(lane.id.account));
  lane.balanceReadAtHash = settled.hash;
}

/** Reports a balance below the required minimum once, and again only after the balance has recovered. */
export async function reportLowBalance(lane: LaneContext, balance: bigint): Promise<void> {
  const relayer = lane.relayer();
  const minimum = minBalanceOf(relayer.policies);
  const isLow = balance < minimum;
  if (isLow === lane.isBalanceLow) return;
  lane.isBalanceLow = isLow;
  const unit = smallestUnits[relayer.networkType];
  if (!isLow) {
    lane.log.info({ relayer: relayer.id }, `the balance is sufficient again: ${balance} ${unit}`);
    return;
  }
  lane.log.warn({ relayer: relayer.id }, `the balance is ${balance} ${unit}, below min_balance ${minimum} ${unit}; new transactions wait`);
  const changes = lane.deps.recordRelayerState(relayer, 'relayer_low_balance');
  if (changes.length > 0) await lane.deps.store.commit(changes);
}
