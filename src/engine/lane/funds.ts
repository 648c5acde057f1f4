import { smallestUnits } from '../../core/relayer/network.js';
import { minBalanceOf } from '../../core/relayer/relayer.js';
import type { LaneContext } from './lane-context.js';

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
