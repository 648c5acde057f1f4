import { isEscalationDue } from '../../core/fees/escalation.js';
import { greatestCostPerGasWei } from '../../core/fees/price.js';
import type { Draft, Head } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { signed, waiting } from '../../core/transaction/lifecycle.js';
import { versionsInSlot } from '../../core/transaction/outbid.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { signVersion } from '../../core/transaction/sign-version.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import type { LaneContext } from './lane-context.js';
import { minable } from './minable.js';

/** Only so many of the lowest nonces are raised at a time: the others cannot be mined before them. */
const reach = 16;

/** The first items of many. */
function first<T>(items: Iterable<T>, count: number): readonly T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length === count) break;
    taken.push(item);
  }
  return taken;
}

/** When a live version was first seen to wait: at which block, by hash. */
export type WaitingSince = Map<string, bigint>;

/**
 * Signs higher versions of transactions that have waited too long for their speed, at the market's price but at least the nodes' replacement minimum,
 * within the relayer's cap. Where the cap forbids even the minimum the best version under it stays live, and the record says why.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function escalate(lane: LaneContext, head: Head, since: WaitingSince): Promise<void> {
  const lowest = first(minable(lane), reach);
  let balanceWei: bigint | null = null;
  for (const open of lowest) {
    const live = open.attempts.at(-1);
    if (live === undefined || !isDue(lane, open, live, head, since)) continue;
    balanceWei ??= await lane.chain.balanceOf(lane.id.account);
    await raise(lane, open, live, balanceWei);
  }
  const liveHashes = new Set(lowest.map(({ attempts }) => attempts.at(-1)?.hash));
  for (const hash of since.keys()) if (!liveHashes.has(hash)) since.delete(hash);
}

function isDue(lane: LaneContext, open: OpenTransaction, live: Attempt, head: Head, since: WaitingSince): boolean {
  const sinceBlock = since.get(live.hash);
  if (sinceBlock === undefined) {
    since.set(live.hash, head.number);
    return false;
  }
  const { pricing } = open.transaction.content;
  return isEscalationDue({
    speed: pricing.kind === 'speed' ? pricing.speed : 'fast',
    versions: versionsInSlot(open).length,
    waitedMs: lane.deps.clock.nowMs() - live.createdAtMs,
    waitedBlocks: Number(head.number - sinceBlock),
  });
}

const notPayable = 'not raised: the account cannot pay a higher price; the version that is out stays';

async function raise(lane: LaneContext, seen: OpenTransaction, live: Attempt, balanceWei: bigint): Promise<void> {
  const { policies } = lane.relayer();
  const price = await lane.chain.reprice({
    policies,
    pricing: seen.transaction.content.pricing,
    outbids: versionsInSlot(seen),
    purpose: live.purpose,
  });
  const { valueWei, gasLimit } = live.fields;
  const isPayable = isRefusal(price) || balanceWei >= valueWei + gasLimit * greatestCostPerGasWei(price);
  await lane.move(seen.transaction.id, async (current) => {
    const { transaction } = current;
    if (transaction.liveVersion !== live.version || transaction.mined !== null || transaction.nonce === null) return null;
    if (isRefusal(price)) return transaction.statusReason === price.sentence ? null : { steps: [waiting(transaction, price.sentence)] };
    if (!isPayable) return transaction.statusReason === notPayable ? null : { steps: [waiting(transaction, notPayable)] };
    const { to, data } = live.fields;
    const draft: Draft = { to, valueWei, data, gasLimit, price };
    const newAttempt = await signVersion(lane.deps, lane.relayer(), current, draft, transaction.nonce, live.purpose);
    return { steps: [signed(transaction, newAttempt)], newAttempt };
  });
  lane.wakeBroadcast();
}
