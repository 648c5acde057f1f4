import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { Draft, Refusal } from '../../core/ports/chain.js';
import type { Move } from '../../core/ports/lanes.js';
import { type Change, ConflictError, type OpenTransaction } from '../../core/ports/store.js';
import { smallestUnits } from '../../core/relayer/network.js';
import { maxInFlightOf, minBalanceOf } from '../../core/relayer/relayer.js';
import { endedUnsigned, signed, waiting } from '../../core/transaction/lifecycle.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt, Transaction } from '../../core/transaction/transaction.js';
import { transactionChanges } from '../../core/transaction/transaction-changes.js';
import { duplicateOf } from './duplicate.js';
import type { LaneContext } from './lane-context.js';
import { lookAtBalance, noteBalance } from './low-balance.js';
import { nullIfUnavailable } from './null-if-unavailable.js';

/** So many are signed in one go and stored in one commit: more would hold the event loop for longer than 10 ms. */
const batchSize = 50;
/** So many transactions that stand alone may be out at a time: what nodes tell of in one call. */
const maxUnsequenced = 256;
/** After this long a transaction that could not be prepared is tried again. */
const retryAfterMs = 500;
/** The same for one that nodes give no answer about: each try may last as long as they may take to answer, and others wait for it. */
const retryUnansweredAfterMs = 2_000;

const unanswered = { sentence: 'no node says yet whether it can go; it is asked again', lasting: false };

interface Drafted {
  readonly open: OpenTransaction;
  readonly draft: Draft;
}

/**
 * Makes the first versions of waiting transactions, in the order accepted: estimated, priced, checked for funds, signed, and stored together with the
 * nonces they take (none where they stand alone), in one commit. What cannot go takes no nonce and holds nobody back: a refusal that will not pass fails it, any other
 * waits, and so does one that nodes give no answer about while they answer other questions.
 *
 * Asks nodes outside of any lock; the commit asserts the revisions that the versions were made from, so content that was replaced meanwhile is never
 * signed over. Throws `NODE_UNAVAILABLE`.
 */
export async function prepare(lane: LaneContext): Promise<void> {
  // Each is looked at once a round: else those that must wait would be due again before the last of a long queue had its turn.
  const tried = new Set<string>();
  for (;;) {
    if (lane.settled === null || lane.isStopped()) return;
    const candidates = dueCandidates(lane, tried);
    if (candidates.length === 0) return;
    for (const { transaction } of candidates) tried.add(transaction.id);
    const outcomes = await Promise.all(candidates.map((open) => draftOf(lane, open).catch(nullIfUnavailable)));
    // Throws where nodes answer nothing at all: then it is not for one transaction's sake.
    if (outcomes.includes(null)) await lane.chain.balanceOf(lane.id.account);
    const drafted: Drafted[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const open = candidates[index];
      if (open === undefined || outcome === undefined) continue;
      if (outcome === null) await holdBack(lane, open, unanswered, retryUnansweredAfterMs);
      else if (isRefusal(outcome)) await holdBack(lane, open, outcome);
      else drafted.push({ open, draft: outcome });
    }
    if (outcomes.some((outcome) => outcome !== null && isRefusal(outcome) && outcome.refused === 'insufficient_funds'))
      await lookAtBalance(lane);
    const affordable = await withinFunds(lane, drafted);
    if (affordable.length > 0) await signAll(lane, affordable);
  }
}

function dueCandidates(lane: LaneContext, tried: ReadonlySet<string>): readonly OpenTransaction[] {
  const nowMs = lane.deps.clock.nowMs();
  const candidates: OpenTransaction[] = [];
  const { sequence, unsequenced } = lane.chain;
  // Where there is no room the queue is not walked through: it may be long, and this runs at every send.
  let slots = sequence === null ? 0 : maxInFlightOf(lane.relayer().policies) - lane.transactions.inFlightCount() + usedCount(lane);
  let places = unsequenced === null ? 0 : maxUnsequenced - lane.transactions.unsequencedCount();
  for (const open of lane.transactions.waiting()) {
    if (candidates.length === batchSize || (slots <= 0 && places <= 0)) break;
    const { id, content, validUntilMs } = open.transaction;
    if (tried.has(id) || nowMs < (lane.notBeforeMs.get(id) ?? 0) || (validUntilMs !== null && validUntilMs <= nowMs)) continue;
    const isUnsequenced = lane.chain.isUnsequenced(content);
    if ((isUnsequenced ? places : slots) <= 0) continue;
    if (isUnsequenced) places -= 1;
    else slots -= 1;
    candidates.push(open);
  }
  return candidates;
}

/** Slots that the chain has used without our knowing by what yet: they hold no room that others need. */
function usedCount({ transactions, chainNonce }: LaneContext): number {
  let used = 0;
  for (const { transaction } of transactions.inFlight()) {
    if (transaction.nonce === null || transaction.nonce >= chainNonce) break;
    used += 1;
  }
  return used;
}

async function draftOf(lane: LaneContext, { transaction }: OpenTransaction): Promise<Draft | Refusal> {
  const { journal } = lane.deps;
  const { content, validUntilMs } = transaction;
  const step = journal.step('transaction prepared', transaction);
  const request = { relayer: lane.relayer(), content, outbids: [], validUntilMs, nextNonce: lane.nextNonce };
  const draft = await journal.within(step, () => lane.chain.draft(request));
  // A transaction that waits is tried again and again; that it waits is told once.
  if (!isRefusal(draft)) step?.end();
  else if (draft.sentence !== transaction.statusReason) step?.end(draft.sentence);
  return draft;
}

async function holdBack(
  lane: LaneContext,
  { transaction: seen }: OpenTransaction,
  refusal: Pick<Refusal, 'sentence' | 'lasting'>,
  pauseMs = retryAfterMs,
): Promise<void> {
  lane.notBeforeMs.set(seen.id, lane.deps.clock.nowMs() + pauseMs);
  await lane.move(seen.id, ({ transaction }) => {
    if (transaction.revision !== seen.revision) return null;
    if (refusal.lasting) return { steps: [endedUnsigned(transaction, 'failed', refusal.sentence)] };
    return transaction.statusReason === refusal.sentence ? null : { steps: [waiting(transaction, refusal.sentence)] };
  });
}

/** Those that the balance pays for beside all that is in flight, in order; the rest wait. */
async function withinFunds(lane: LaneContext, drafted: readonly Drafted[]): Promise<readonly Drafted[]> {
  if (drafted.length === 0) return drafted;
  const balance = await lane.chain.balanceOf(lane.id.account);
  await noteBalance(lane, balance);
  const unit = smallestUnits[lane.relayer().networkType];
  let free = balance - lane.transactions.reserved() - minBalanceOf(lane.relayer().policies);
  const affordable: Drafted[] = [];
  for (const one of drafted) {
    const cost = greatestCost(one.draft);
    if (cost <= free) {
      free -= cost;
      affordable.push(one);
      continue;
    }
    const sentence = `insufficient funds: it may cost ${cost} ${unit}, and beside what is in flight only ${free < 0n ? 0n : free} ${unit} are free`;
    await holdBack(lane, one.open, { sentence, lasting: false });
  }
  return affordable;
}

/** Signs into the nonces that follow, and stores attempts, nonces and events in one commit. */
async function signAll(lane: LaneContext, drafted: readonly Drafted[]): Promise<void> {
  const { deps } = lane;
  const duplicates: { open: OpenTransaction; sentence: string }[] = [];
  await lane.hold(
    drafted.map(({ open }) => open.transaction.id),
    async () => {
      const unmoved = drafted.filter(
        ({ open }) => lane.transactions.get(open.transaction.id)?.transaction.revision === open.transaction.revision,
      );
      const from = lane.nextNonce;
      let to = from;
      const attempts: Attempt[] = [];
      const moves: (ReturnType<typeof transactionChanges> & { readonly before: Transaction; readonly move: Move })[] = [];
      for (const { open, draft } of unmoved) {
        const nonce = lane.chain.isUnsequenced(open.transaction.content) ? null : to;
        const newAttempt = await signAttempt(deps, lane.relayer(), open, draft, nonce, 'content');
        const sentence = await duplicateOf(lane, newAttempt, attempts);
        if (sentence !== null) {
          duplicates.push({ open, sentence });
          continue;
        }
        if (nonce !== null) to += 1n;
        attempts.push(newAttempt);
        const move: Move = { steps: [signed(open.transaction, newAttempt)], newAttempt };
        moves.push({ before: open.transaction, move, ...transactionChanges(deps, lane.relayer(), open, move) });
      }
      if (moves.length === 0) return;
      const steps = moves.map(({ before }) => deps.journal.step('transaction stored', before));
      try {
        const taken = to === from ? [] : nonceChanges(lane, from, to);
        await deps.store.commit([...taken, ...moves.flatMap(({ changes }) => changes)]);
      } catch (error) {
        // What is in memory is not what is stored: it is read anew, and the next round prepares again.
        if (error instanceof ConflictError) await lane.reload(unmoved.map(({ open }) => open.transaction.id));
        throw error;
      }
      // Settling may have raised it meanwhile.
      if (lane.nextNonce < to) lane.nextNonce = to;
      if (to !== from) lane.storedNonce = to;
      for (const step of steps) step?.end();
      for (const { before, move, after } of moves) {
        deps.journal.moved(before, move, after);
        lane.put(after);
        lane.notBeforeMs.delete(after.transaction.id);
      }
    },
  );
  for (const { open, sentence } of duplicates) await holdBack(lane, open, { sentence, lasting: false });
  lane.wakeBroadcast();
}

/** Takes the nonces from `from` up to `to`; fails where another process took any. */
export function nonceChanges({ id, deps, storedNonce }: LaneContext, from: bigint, to: bigint): readonly Change[] {
  const { change } = deps.store;
  return storedNonce === null ? [change.openLane(id, from), change.moveLane(id, from, to)] : [change.moveLane(id, storedNonce, to)];
}
