import { isEscalationDue } from '../../core/fees/escalation.js';
import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { Head, Sequence } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import type { Speed } from '../../core/transaction/evm.js';
import { signed, waiting } from '../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../core/transaction/outbid.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt, Content, Transaction } from '../../core/transaction/transaction.js';
import { duplicateOf } from './duplicate.js';
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
 * within the relayer's cap; those that stand alone too, where versions outbid one another. Where the cap forbids even the minimum the best version under it stays live, and the record says why.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function escalate(lane: LaneContext, head: Head, since: WaitingSince): Promise<void> {
  const { sequence, unsequenced } = lane.chain;
  if (sequence === null) return;
  const alone =
    unsequenced?.replacement === 'outbid'
      ? [...lane.transactions.unsequenced()].filter(({ transaction }) => isRaisedAlone(transaction))
      : [];
  const lowest = [...first(minable(lane), reach), ...first(alone, reach)];
  let balance: bigint | null = null;
  for (const open of lowest) {
    const live = open.attempts.at(-1);
    if (live === undefined || !isDue(lane, open, live, head, since)) continue;
    balance ??= await lane.chain.balanceOf(lane.id.account);
    await raise(lane, sequence, open, live, balance);
  }
  const liveHashes = new Set(lowest.map(({ attempts }) => attempts.at(-1)?.hash));
  for (const hash of since.keys()) if (!liveHashes.has(hash)) since.delete(hash);
  for (const hashes of [lane.underpriced, lane.hopeless]) for (const hash of hashes) if (!liveHashes.has(hash)) hashes.delete(hash);
}

/** What is not wanted any more, or has been mined, is not raised. */
function isRaisedAlone({ intent, mined, queued }: Transaction): boolean {
  return intent === 'content' && mined === null && queued === null;
}

function isDue(lane: LaneContext, open: OpenTransaction, live: Attempt, head: Head, since: WaitingSince): boolean {
  const sinceBlock = since.get(live.hash);
  if (sinceBlock === undefined) {
    since.set(live.hash, head.number);
    return false;
  }
  // No price helps there.
  if (lane.hopeless.has(live.hash)) return false;
  // No node has it, and waiting does not help: the next block is as long as it may take.
  if (lane.underpriced.has(live.hash)) return head.number > sinceBlock;
  return isEscalationDue({
    speed: speedOf(open.transaction.content),
    versions: attemptsInSlot(open).length,
    waitedMs: lane.deps.clock.nowMs() - live.createdAtMs,
    waitedBlocks: Number(head.number - sinceBlock),
  });
}

const notPayable = 'not raised: the account cannot pay a higher price; the version that is out stays';

function speedOf(content: Content): Speed {
  return content.network === 'evm' && content.pricing.kind === 'speed' ? content.pricing.speed : 'fast';
}

async function raise(lane: LaneContext, sequence: Sequence, seen: OpenTransaction, live: Attempt, balance: bigint): Promise<void> {
  const { content } = seen.transaction;
  const raised = await sequence.bumpFee({ relayer: lane.relayer(), content, live, outbids: attemptsInSlot(seen) });
  const isPayable = isRefusal(raised) || balance >= greatestCost(raised);
  await lane.move(seen.transaction.id, async (current) => {
    const { transaction } = current;
    if (transaction.liveVersion !== live.version || transaction.mined !== null || transaction.nonce !== live.nonce) return null;
    if (live.nonce === null && !isRaisedAlone(transaction)) return null;
    if (isRefusal(raised)) return transaction.statusReason === raised.sentence ? null : { steps: [waiting(transaction, raised.sentence)] };
    if (!isPayable) return transaction.statusReason === notPayable ? null : { steps: [waiting(transaction, notPayable)] };
    const newAttempt = await signAttempt(lane.deps, lane.relayer(), current, raised, transaction.nonce, live.purpose);
    // Where nodes refused it for something else than its price, there is nothing to outbid.
    if (current.attempts.some(({ hash }) => hash === newAttempt.hash)) return null;
    const duplicate = await duplicateOf(lane, newAttempt, []);
    if (duplicate !== null) return transaction.statusReason === duplicate ? null : { steps: [waiting(transaction, duplicate)] };
    return { steps: [signed(transaction, newAttempt)], newAttempt };
  });
  lane.wakeBroadcast();
}
