import { isEscalationDue } from '../../core/fees/escalation.js';
import { maxCost } from '../../core/fees/price.js';
import { type Head, isRefusal, type Sequence } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import type { Speed } from '../../core/transaction/evm.js';
import { signed } from '../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../core/transaction/outbid.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt, Content, Transaction } from '../../core/transaction/transaction.js';
import { duplicateOf, waitsFor } from './commit-moves.js';
import { isExpired } from './expire.js';
import type { LaneContext } from './lane-context.js';

/** Only this many of the lowest nonces get fee bumps: the others cannot be mined before them. */
const reach = 16;

const unpayable = 'fee not increased: insufficient balance; the current attempt stays live';

/**
 * Signs a new attempt with a higher fee for transactions that have waited too long for their speed: at the market price, at least the nodes'
 * replacement minimum, and at most the relayer's cap. If the cap forbids even the minimum, the best attempt under it stays live and the record says why.
 * Unsequenced transactions are included on networks where attempts outbid one another. Throws `NODE_UNAVAILABLE`.
 */
export async function bumpFees(lane: LaneContext, sequence: Sequence, head: Head): Promise<void> {
  const { transactions, chain } = lane;
  const unsequenced =
    chain.unsequenced?.replacement === 'outbid' ? [...transactions.unsequenced()].filter(({ transaction }) => isWanted(transaction)) : [];
  let balance: bigint | null = null;
  for (const open of [...first(transactions.minable(lane.chainNonce), reach), ...unsequenced.slice(0, reach)]) {
    const live = open.attempts.at(-1);
    if (live === undefined || !isDue(lane, open, live, head)) continue;
    balance ??= await chain.balanceOf(lane.id.account);
    await bumpFee(lane, sequence, open, live, balance);
  }
}

function first<T>(items: Iterable<T>, count: number): readonly T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length === count) break;
    taken.push(item);
  }
  return taken;
}

/** An unsequenced transaction that is cancelled, mined or about to be replaced gets no fee bump. */
function isWanted({ intent, mined, queued }: Transaction): boolean {
  return intent === 'content' && mined === null && queued === null;
}

function isDue(lane: LaneContext, open: OpenTransaction, live: Attempt, head: Head): boolean {
  const state = lane.transactions.stateOf(live);
  if (state === undefined) return false;
  if (state.waitingSinceBlock === null) {
    state.waitingSinceBlock = head.number;
    return false;
  }
  // No price helps a hopeless attempt, and expired content must not be sent any more.
  if (state.isHopeless || isExpired(open, lane.deps.clock.nowMs())) return false;
  // No node has it because of its price: one block is enough patience.
  if (state.isUnderpriced) return head.number > state.waitingSinceBlock;
  return isEscalationDue({
    speed: speedOf(open.transaction.content),
    versions: attemptsInSlot(open).length,
    waitedMs: lane.deps.clock.nowMs() - live.createdAtMs,
    waitedBlocks: Number(head.number - state.waitingSinceBlock),
  });
}

function speedOf(content: Content): Speed {
  return content.network === 'evm' && content.pricing.kind === 'speed' ? content.pricing.speed : 'fast';
}

async function bumpFee(lane: LaneContext, sequence: Sequence, seen: OpenTransaction, live: Attempt, balance: bigint): Promise<void> {
  const { content } = seen.transaction;
  const draft = await sequence.bumpFee({ relayer: lane.relayer(), content, live, outbids: attemptsInSlot(seen) });
  const isPayable = isRefusal(draft) || balance >= maxCost(draft);
  await lane.move(seen.transaction.id, async (current) => {
    const { transaction } = current;
    if (transaction.liveVersion !== live.version || transaction.mined !== null || transaction.nonce !== live.nonce) return null;
    if (live.nonce === null && !isWanted(transaction)) return null;
    if (isRefusal(draft)) return waitsFor(transaction, draft.sentence);
    if (!isPayable) return waitsFor(transaction, unpayable);
    const newAttempt = await signAttempt(lane.deps, lane.relayer(), current, { draft, nonce: transaction.nonce, purpose: live.purpose });
    // Nodes refused it for another reason than its price: there is nothing to outbid.
    if (current.attempts.some(({ hash }) => hash === newAttempt.hash)) return null;
    const duplicate = await duplicateOf(lane, newAttempt);
    return duplicate === null ? { steps: [signed(transaction, newAttempt)], newAttempt } : waitsFor(transaction, duplicate);
  });
}
