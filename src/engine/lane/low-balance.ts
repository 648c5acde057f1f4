import { smallestUnits } from '../../core/relayer/network.js';
import { minBalanceOf } from '../../core/relayer/relayer.js';
import type { LaneContext } from './lane-context.js';

/** Tells of a balance below what must remain, once, and again only when it was back in between: sends are held back meanwhile. */
export async function noteBalance(lane: LaneContext, balance: bigint): Promise<void> {
  const relayer = lane.relayer();
  const least = minBalanceOf(relayer.policies);
  const isLow = balance < least;
  if (isLow === lane.isBalanceLow) return;
  lane.isBalanceLow = isLow;
  const unit = smallestUnits[relayer.networkType];
  if (!isLow) {
    lane.log.info({ relayer: relayer.id }, `the balance is back at ${balance} ${unit}`);
    return;
  }
  lane.log.warn({ relayer: relayer.id }, `the balance is ${balance} ${unit}, and ${least} must remain: sends are held back`);
  const changes = lane.deps.recordRelayerState(relayer, 'relayer_low_balance');
  if (changes.length > 0) await lane.deps.store.commit(changes);
}

/** Looks at the balance, once a head: a send was refused for want of funds. Throws `NODE_UNAVAILABLE`. */
export async function lookAtBalance(lane: LaneContext): Promise<void> {
  const { settled } = lane;
  if (settled === null || settled.hash === lane.balanceSeenAtHash) return;
  await noteBalance(lane, await lane.chain.balanceOf(lane.id.account));
  lane.balanceSeenAtHash = settled.hash;
}
