import { smallestUnits } from '../../core/records/network.js';
import { minBalanceOf } from '../../core/records/relayer.js';
import type { Balance, LaneContext } from './lane-context.js';

/**
 * A balance is read again at the same head after this time: on a network that makes no blocks while nothing is sent, it changes without
 * one.
 */
const rememberedForMs = 3_000;

/** Returns the balance of the lane's account, which nodes are asked for once per head. Throws `NODE_UNAVAILABLE`. */
export function readBalance(lane: LaneContext): Promise<Balance> {
  const nowMs = lane.deps.clock.elapsedMs();
  if (lane.balanceAtHead !== null && nowMs < lane.balanceAtHead.untilMs) return lane.balanceAtHead.balance;
  const balance = askBalance(lane);
  const remembered = { balance, untilMs: nowMs + rememberedForMs };
  lane.balanceAtHead = remembered;
  balance.catch(() => {
    if (lane.balanceAtHead === remembered) lane.balanceAtHead = null;
  });
  return balance;
}

async function askBalance({ chain, id: { account } }: LaneContext): Promise<Balance> {
  const [balance, locked] = await Promise.all([chain.balanceOf(account), chain.lockedOf(account)]);
  return { balance, locked };
}

/**
 * Reads the part of the balance that is left for new attempts: everything in flight may cost its most, and the minimum balance must remain,
 * or what the account cannot spend if that is more. `without`: what the attempts to replace may cost. Throws `NODE_UNAVAILABLE`.
 */
export async function readFunds(lane: LaneContext, without = 0n): Promise<{ readonly balance: bigint; readonly free: bigint }> {
  const { transactions, relayer } = lane;
  const { balance, locked } = await readBalance(lane);
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

/** A node refused a send because of funds: reports a balance that is too low. */
export async function checkBalance(lane: LaneContext): Promise<void> {
  await reportLowBalance(lane, (await readBalance(lane)).balance);
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
    lane.deps.log.info({ relayer: relayer.id }, `the balance is sufficient again: ${balance} ${unit}`);
    return;
  }
  lane.deps.log.warn(
    { relayer: relayer.id },
    `the balance is ${balance} ${unit}, below min_balance ${minimum} ${unit}; new transactions wait`,
  );
  const changes = lane.deps.recordRelayerState(relayer, 'relayer_low_balance');
  if (changes.length > 0) await lane.deps.store.commit(changes);
}
