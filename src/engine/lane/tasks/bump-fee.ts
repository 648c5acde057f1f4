import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import { isEscalationDue, notIncreasedReason } from '../../../core/fees/escalation.js';
import type { Balance } from '../../../core/fees/funds.js';
import { maxCost } from '../../../core/fees/price.js';
import { type BumpReason, type Draft, isRefusal, type Refusal } from '../../../core/ports/chain/drafts.js';
import type { Sequence } from '../../../core/ports/chain/slots.js';
import { type Attempt, approvalsOf, type OpenTransaction, type Transaction } from '../../../core/records/transaction.js';
import { speedOf } from '../../../core/transaction/delays.js';
import { signed } from '../../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../../core/transaction/outbid.js';
import { signAttempt } from '../../../core/transaction/sign-attempt.js';
import { createTurns, type Turns } from '../../../core/work/turns.js';
import { duplicateOf, waitsFor } from '../commit-moves.js';
import { heldBackBy } from '../due-attempts.js';
import { isExpired, latestMs } from '../is-expired.js';
import type { LaneContext } from '../lane-context.js';
import { type Moment, momentOf, waitedSince } from '../moment.js';
import { signerAwayError } from '../signer-away.js';
import { isUnpooled } from '../unpooled.js';

/** Only this many of the lowest nonces get fee bumps: the others cannot be mined before them. As many unsequenced ones at a head. */
const reach = 16;

/** The lowest nonce and since when it is the lowest. Before that, no price could have got it mined. */
interface Lowest {
  readonly nonce: bigint;
  readonly since: Moment;
}

/**
 * The lane follows a node that rejects the bid for this many attempts of a slot, after 1, 2, 4 and 8 heads. One is enough to outbid our
 * own; more help only if a foreign transaction is in the slot. A node that still rejects the bid is wrong.
 */
const maxDemands = 4;

const unpayable = 'fee not increased: insufficient balance; the current attempt stays live';

/**
 * Makes the task that signs a new attempt with a higher fee for transactions that have waited too long for their speed and bid less than
 * the market, or whose bid a node rejected: at the market price, at least the nodes' replacement minimum, and at most the relayer's cap. If
 * the cap forbids even the minimum, the price is not the obstacle, or the policies have come to forbid the content, the current attempt
 * stays live and the record says why.
 *
 * Waiting counts only for the lowest nonce, since it is the lowest: the others wait for it, at any bid. If it gets a fee bump, so do
 * transactions that have waited as long. Unsequenced transactions are included on networks where attempts outbid one another. Throws
 * `NODE_UNAVAILABLE`.
 */
export function createFeeBumper(lane: LaneContext, sequence: Sequence): () => Promise<void> {
  let lowest: Lowest | null = null;
  const turns = createTurns(reach);
  return async () => {
    const [first] = lane.transactions.minable(lane.numbers.onChain);
    const nonce = first?.transaction.nonce ?? null;
    if (nonce === null) lowest = null;
    else if (lowest?.nonce !== nonce) lowest = { nonce, since: momentOf(lane) };
    await bumpFees(lane, sequence, lowest, turns);
  };
}

async function bumpFees(lane: LaneContext, sequence: Sequence, lowest: Lowest | null, turns: Turns): Promise<void> {
  const { transactions, chain } = lane;
  let isLowestBumped = false;
  const unsequenced =
    chain.unsequenced?.replacement === 'outbid' ? [...transactions.unsequenced()].filter((open) => isWanted(open.transaction)) : [];
  const isDue = (open: OpenTransaction): boolean => {
    const live = open.attempts.at(-1);
    return live !== undefined && whyDue(lane, open, live, null) !== null;
  };
  const dueUnsequenced = turns.next(unsequenced.filter(isDue), ({ transaction }) => transaction.id);
  for (const open of [...first(transactions.minable(lane.numbers.onChain), reach), ...dueUnsequenced]) {
    const live = open.attempts.at(-1);
    const isLowest = lowest !== null && live?.nonce === lowest.nonce;
    const why = live === undefined ? null : whyDue(lane, open, live, isLowest ? lowest : null);
    if (live === undefined || why === null) continue;
    if (why === 'waited' && live.nonce !== null && !isLowest && !isLowestBumped) continue;
    // No node holds an attempt that nodes refused for its cost, so it need not be outbid.
    const outbids = attemptsInSlot(open).filter((attempt) => why !== 'too_expensive' || transactions.stateOf(attempt)?.wasTaken);
    const { content } = open.transaction;
    const relayer = lane.relayer();
    const approvals = approvalsOf(open.transaction);
    const forbidden = live.purpose === 'content' ? lane.chain.whyForbidden(content, relayer, approvals) : null;
    if (forbidden !== null) {
      await signBump(lane, open, live, {
        sentence: `${forbidden.sentence}; the current attempt stays live; cancel the transaction to end it`,
      });
      continue;
    }
    const draft = await sequence.bumpFee({ relayer, content, live, outbids, reason: why, approvals });
    if (isLowest && why === 'waited') isLowestBumped = !isRefusal(draft);
    // While no node accepts the attempt, the record shows the node's own words, which say more.
    if (isRefusal(draft) && draft.refused === 'bump_limit' && transactions.stateOf(live)?.takenAtMs == null) continue;
    const isPayable = isRefusal(draft) || (await isWithinFunds(lane, live, maxCost(draft)));
    if (relayer.policies === lane.relayer().policies) await signBump(lane, open, live, isPayable ? draft : { sentence: unpayable });
  }
}

/** True if the account can pay that much. An unknown balance keeps no slot occupied. */
async function isWithinFunds(lane: LaneContext, { purpose }: Attempt, cost: bigint): Promise<boolean> {
  const suffices = ({ balance, locked }: Balance) => balance - locked >= cost;
  const reading = lane.funds.read().then((shown) => (suffices(shown) ? shown : lane.funds.read('several')));
  const funds = await (purpose === 'content' ? reading : reading.catch(nullIfUnavailable));
  return funds === null || suffices(funds);
}

function first<T>(items: Iterable<T>, count: number): readonly T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length === count) break;
    taken.push(item);
  }
  return taken;
}

/** An unsequenced transaction that is canceled, mined or about to be replaced gets no fee bump. */
function isWanted({ intent, mined, queued }: Transaction): boolean {
  return intent === 'content' && mined === null && queued === null;
}

function whyDue(lane: LaneContext, open: OpenTransaction, live: Attempt, lowest: Lowest | null): BumpReason | null {
  const state = lane.transactions.stateOf(live);
  if (state === undefined) return null;
  const since = lane.transactions.noteWaiting(live, momentOf(lane));
  if (since === null) return null;
  // No price helps if no block can include it, or if it is held back; expired content must not be sent any more.
  const { because } = state.obstacle ?? {};
  if (because === 'content' || because === 'invalid') return null;
  if (isExpired(open, latestMs(lane)) || heldBackBy(lane, live) !== null) return null;
  const { heads: waitedHeads, ms: waitedMs } = waitedSince(lane, since, lowest?.since);
  const attempts = attemptsInSlot(open);
  if (state.obstacle?.because === 'cost') {
    const tries = attempts.filter((attempt) => lane.transactions.stateOf(attempt)?.obstacle?.because === 'cost').length;
    return waitedHeads >= 2 ** (tries - 1) ? 'too_expensive' : null;
  }
  if (state.isUnderpriced && state.takenAtMs === null) {
    const demands = attempts.filter((attempt) => lane.transactions.stateOf(attempt)?.isUnderpriced).length;
    if (demands <= maxDemands) return waitedHeads >= 2 ** (demands - 1) ? 'demanded' : null;
  }
  // It has not waited for a block, but for another transaction, unless that is an earlier attempt in its own slot.
  const mustOutbid = (attempt: Attempt): boolean =>
    lane.transactions.stateOf(attempt)?.wasTaken === true && lane.chain.unsequenced?.excludes(attempt, live) !== true;
  if (because === 'turn' && !attempts.some(mustOutbid)) return null;
  const isDue = isEscalationDue({
    speed: speedOf(open.transaction.content),
    versions: attempts.length,
    waitedMs,
    waitedHeads,
  });
  return isDue ? 'waited' : null;
}

async function signBump(lane: LaneContext, seen: OpenTransaction, live: Attempt, draft: Draft | Pick<Refusal, 'sentence'>): Promise<void> {
  const { policies } = lane.relayer();
  const signature = 'sentence' in draft ? draft : await signOnce(lane, seen, live, draft);
  await lane.records.move(seen.transaction.id, async ({ transaction, attempts }) => {
    if (transaction.liveVersion !== live.version || transaction.mined !== null || transaction.nonce !== live.nonce) return null;
    if (live.nonce === null && !isWanted(transaction)) return null;
    if ('sentence' in signature) return isUnpooled(transaction) ? null : waitsFor(transaction, notIncreasedReason(signature.sentence));
    // Anything may have happened while it was signed. Only the same attempts are outbid.
    if (attempts.length !== seen.attempts.length || isExpired({ transaction }, latestMs(lane))) return null;
    if (policies !== lane.relayer().policies) return null;
    // Nodes refused it for a reason other than its price, so there is nothing to outbid.
    if (attempts.some(({ hash }) => hash === signature.hash)) return null;
    const duplicate = await duplicateOf(lane, signature);
    return duplicate === null ? { steps: [signed(transaction, signature)], newAttempt: signature } : waitsFor(transaction, duplicate);
  });
  if ('error' in signature) throw signature.error;
}

/** Signs without holding the transaction, since a hosted key may take seconds. Returns why there is no signature if the signer is away. */
async function signOnce(
  lane: LaneContext,
  seen: OpenTransaction,
  live: Attempt,
  draft: Draft,
): Promise<Attempt | { readonly sentence: string; readonly error: unknown }> {
  try {
    return await signAttempt(lane.deps, lane.relayer(), seen, { draft, nonce: live.nonce, purpose: live.purpose });
  } catch (error) {
    const away = signerAwayError(error);
    if (away === null) throw error;
    return { sentence: `${away.message}; the current attempt stays live`, error };
  }
}
