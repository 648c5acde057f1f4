import { greatestCostPerGasWei } from '../../core/fees/price.js';
import type { Draft, Refusal } from '../../core/ports/chain.js';
import { type Change, ConflictError, type OpenTransaction } from '../../core/ports/store.js';
import { maxInFlightOf, minBalanceOf } from '../../core/relayer/relayer.js';
import { endedUnsigned, signed, waiting } from '../../core/transaction/lifecycle.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { signVersion } from '../../core/transaction/sign-version.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { transactionChanges } from '../../core/transaction/transaction-changes.js';
import type { LaneContext } from './lane-context.js';

/** So many are signed in one go and stored in one commit: more would hold the event loop for longer than 10 ms. */
const batchSize = 50;
/** After this long a transaction that could not be prepared is tried again. */
const retryAfterMs = 500;

interface Drafted {
  readonly open: OpenTransaction;
  readonly draft: Draft;
}

/**
 * Makes the first versions of waiting transactions, in the order accepted: estimated, priced, checked for funds, signed, and stored together with the
 * nonces they take, in one commit. What cannot go takes no nonce and holds nobody back: a refusal that will not pass fails it, any other waits.
 *
 * Asks nodes outside of any lock; the commit asserts the revisions that the versions were made from, so content that was replaced meanwhile is never
 * signed over. Throws `NODE_UNAVAILABLE`.
 */
export async function prepare(lane: LaneContext): Promise<void> {
  // Each is looked at once a round: else those that must wait would be due again before the last of a long queue had its turn.
  const tried = new Set<string>();
  for (;;) {
    if (lane.settled === null || lane.isStopped()) return;
    const room = Math.min(batchSize, maxInFlightOf(lane.relayer().policies) - lane.book.inFlightCount());
    const candidates = dueCandidates(lane, room, tried);
    if (candidates.length === 0) return;
    for (const { transaction } of candidates) tried.add(transaction.id);
    const outcomes = await Promise.all(candidates.map((open) => draftOf(lane, open)));
    const drafted: Drafted[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const open = candidates[index];
      if (open === undefined) continue;
      if (isRefusal(outcome)) await holdBack(lane, open, outcome);
      else drafted.push({ open, draft: outcome });
    }
    const affordable = await withinFunds(lane, drafted);
    if (affordable.length > 0) await signAll(lane, affordable);
  }
}

function dueCandidates(lane: LaneContext, room: number, tried: ReadonlySet<string>): readonly OpenTransaction[] {
  const nowMs = lane.deps.clock.nowMs();
  const candidates: OpenTransaction[] = [];
  if (room <= 0) return candidates;
  for (const open of lane.book.waiting()) {
    const { id, validUntilMs } = open.transaction;
    if (tried.has(id) || nowMs < (lane.notBeforeMs.get(id) ?? 0) || (validUntilMs !== null && validUntilMs <= nowMs)) continue;
    candidates.push(open);
    if (candidates.length === room) break;
  }
  return candidates;
}

function draftOf(lane: LaneContext, { transaction }: OpenTransaction): Promise<Draft | Refusal> {
  return lane.chain.draft({ account: transaction.account, policies: lane.relayer().policies, content: transaction.content, outbids: [] });
}

async function holdBack(lane: LaneContext, { transaction: seen }: OpenTransaction, refusal: Refusal): Promise<void> {
  lane.notBeforeMs.set(seen.id, lane.deps.clock.nowMs() + retryAfterMs);
  await lane.move(seen.id, ({ transaction }) => {
    if (transaction.revision !== seen.revision) return null;
    if (refusal.lasting) return { steps: [endedUnsigned(transaction, 'failed', refusal.sentence)] };
    return transaction.statusReason === refusal.sentence ? null : { steps: [waiting(transaction, refusal.sentence)] };
  });
}

/** Those that the balance pays for beside all that is in flight, in order; the rest wait. */
async function withinFunds(lane: LaneContext, drafted: readonly Drafted[]): Promise<readonly Drafted[]> {
  if (drafted.length === 0) return drafted;
  const balanceWei = await lane.chain.balanceOf(lane.id.account);
  let freeWei = balanceWei - lane.book.reservedWei() - minBalanceOf(lane.relayer().policies);
  const affordable: Drafted[] = [];
  for (const one of drafted) {
    const cost = costWei(one.draft);
    if (cost <= freeWei) {
      freeWei -= cost;
      affordable.push(one);
      continue;
    }
    const sentence = `insufficient funds: it may cost ${cost} wei, and beside what is in flight only ${freeWei < 0n ? 0n : freeWei} wei are free`;
    await holdBack(lane, one.open, { refused: 'insufficient_funds', sentence, lasting: false });
  }
  return affordable;
}

function costWei({ valueWei, gasLimit, price }: Pick<Draft, 'valueWei' | 'gasLimit' | 'price'>): bigint {
  return valueWei + gasLimit * greatestCostPerGasWei(price);
}

/** Signs into the nonces that follow, and stores attempts, nonces and events in one commit. */
async function signAll(lane: LaneContext, drafted: readonly Drafted[]): Promise<void> {
  const { deps } = lane;
  await lane.hold(
    drafted.map(({ open }) => open.transaction.id),
    async () => {
      const unmoved = drafted.filter(({ open }) => lane.book.get(open.transaction.id)?.transaction.revision === open.transaction.revision);
      if (unmoved.length === 0) return;
      const from = lane.nextNonce;
      const attempts: Attempt[] = [];
      for (const { open, draft } of unmoved) {
        attempts.push(await signVersion(deps, lane.relayer(), open, draft, from + BigInt(attempts.length), 'content'));
      }
      const to = from + BigInt(attempts.length);
      const moves = unmoved.map(({ open }, index) => {
        const newAttempt = attempts[index] as Attempt;
        return transactionChanges(deps, lane.relayer(), open, { steps: [signed(open.transaction, newAttempt)], newAttempt });
      });
      try {
        await deps.store.commit([...nonceChanges(lane, from, to), ...moves.flatMap(({ changes }) => changes)]);
      } catch (error) {
        // What is in memory is not what is stored: it is read anew, and the next round prepares again.
        if (error instanceof ConflictError) await lane.reload(unmoved.map(({ open }) => open.transaction.id));
        throw error;
      }
      // Settling may have raised it meanwhile.
      if (lane.nextNonce < to) lane.nextNonce = to;
      lane.storedNonce = to;
      for (const { after } of moves) {
        lane.put(after);
        lane.notBeforeMs.delete(after.transaction.id);
      }
    },
  );
  lane.wakeBroadcast();
}

/** Takes the nonces from `from` up to `to`; fails where another process took any. */
export function nonceChanges({ id, deps, storedNonce }: LaneContext, from: bigint, to: bigint): readonly Change[] {
  const { change } = deps.store;
  return storedNonce === null ? [change.openLane(id, from), change.moveLane(id, from, to)] : [change.moveLane(id, storedNonce, to)];
}
