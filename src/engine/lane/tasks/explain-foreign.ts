import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { SenderTransaction } from '../../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../../core/ports/chain/slots.js';
import type { Move } from '../../../core/ports/lanes.js';
import { type Attempt, hashesOf, type OpenTransaction, type Transaction } from '../../../core/records/transaction.js';
import { displaced, mined, paidByCaller, resolved, slotTerms, unresolvable } from '../../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../../core/transaction/outbid.js';
import { isUsed } from '../block-view.js';
import { waitsFor } from '../commit-moves.js';
import { isProvablyUsed, isSearchedLong } from '../give-up-slot.js';
import { askAgainMs } from '../heads.js';
import type { LaneContext } from '../lane-context.js';
import { whoPaidBefore } from '../paid-before.js';
import { isInFinalBlock, proveUse } from '../prove-use.js';
import type { Tracked } from '../tracked.js';

/** This many unexplained slots are searched at a head: each search takes about twenty calls. */
const searchesPerHead = 4;
/**
 * The heads from one search to the next double with each that finds nothing, this many times. Without the state of old blocks, a search
 * reads 64 whole blocks, and a gateway that counts its pool leaves nothing to find.
 */
const maxDoublings = 3;
/** The first head can show a used nonce before the receipt that explains it: foreign use is searched from this head on. */
const headsUntilSearched = 2;
/**
 * Makes the task that finds the transactions that used nonces which no attempt of ours explains. It runs once at each head. Only a foreign
 * transaction found in a block at the required confirmations displaces ours.
 */
export function createForeignExplainer(lane: LaneContext, sequence: Sequence): (head: Head) => Promise<void> {
  /** The consecutive rounds of searches that found nothing, and the heads since the last round. */
  let emptyRounds = 0;
  let heads = 0;
  let searchedAtMs = Number.NEGATIVE_INFINITY;
  return async (head) => {
    heads += 1;
    const mysteries: Mystery[] = [];
    let isAnyUnexplained = false;
    for (const open of lane.transactions.inFlight()) {
      if (!isUsed(open, lane.numbers.highestShown)) break;
      const record = lane.transactions.tracked(open.transaction.id);
      if (record?.unexplained == null) continue;
      isAnyUnexplained = true;
      if (record.unexplained.heads >= headsUntilSearched) mysteries.push({ open, record, ...record.unexplained });
    }
    // The slot that was searched longest ago comes first, so that no slot is left out.
    mysteries.sort((a, b) => a.searchedAt - b.searchedAt);
    // A slot that a search showed as unused is searched later again if nodes still show it as used: until then it is not explained.
    if (!isAnyUnexplained) emptyRounds = 0;
    const pause = emptyRounds === 0 ? 1 : 2 ** Math.min(emptyRounds - 1, maxDoublings);
    const nowMs = lane.deps.clock.elapsedMs();
    // On fast chains not at every head: a node can show for ever that nonces are used.
    if (mysteries.length === 0 || heads < pause || nowMs - searchedAtMs < askAgainMs) return;
    const passed = heads;
    searchedAtMs = nowMs;
    heads = 0;
    const results = new Set<SearchResult>();
    for (const mystery of mysteries.slice(0, searchesPerHead)) results.add(await explainOne(lane, sequence, head, { ...mystery, passed }));
    if (results.has('found')) emptyRounds = 0;
    else if (results.has('empty')) emptyRounds += 1;
  };
}

type Mystery = { readonly open: OpenTransaction; readonly record: Tracked } & NonNullable<Tracked['unexplained']>;

/** `unused`: the nonce is not used at all. That takes one call and explains nothing, so it neither shortens nor extends the pause. */
type SearchResult = 'found' | 'empty' | 'unused';

/** Searches for the transaction that used the nonce. `passed`: heads since the last round of searches. */
async function explainOne(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  { open, record, heads, lastHash, emptyHeads, passed }: Mystery & { readonly passed: number },
): Promise<SearchResult> {
  const { id, nonce } = open.transaction;
  if (nonce === null) return 'empty';
  const user = await sequence.findSender(lane.id.account, nonce, { from: 0n, to: head.number }).catch(nullIfUnavailable);
  // The attempt waits in a pool: nothing used its nonce.
  if (user === 'unused') {
    record.unexplained = null;
    return 'unused';
  }
  // A search without an answer does not count, but other slots come first next time.
  const isKnown = user !== null && user !== 'not_found' && user !== 'pruned';
  // An attempt of ours in a block whose receipt no node has: the index may recover, or the receipt is pruned.
  const ours = isKnown ? attemptsInSlot(open).find((attempt) => hashesOf(attempt).includes(user.hash)) : undefined;
  const isForeign = isKnown && ours === undefined;
  const nowEmptyHeads = user === null ? emptyHeads : isForeign ? 0 : emptyHeads + passed;
  record.unexplained = { heads, lastHash, emptyHeads: nowEmptyHeads, searchedAt: lane.heads.count };
  if (user === null) return 'empty';
  const isSearched = !isKnown && isSearchedLong(lane, open, emptyHeads);
  // With a new nonce, the service pays again.
  const proof = isForeign ? await proveUse(lane, sequence, head, user, id) : null;
  // Another search finds what really used the nonce, if anything did.
  if (proof === 'refuted') return 'found';
  const isFinal = ours !== undefined && isKnown && (await isInFinalBlock(lane, sequence, head, user));
  const paid = isForeign && proof === 'proved' ? await whoPaidBefore(lane, user, [open.transaction]) : null;
  const isLost =
    isSearched && (await isProvablyUsed(lane, sequence, head, nonce)) && (await sequence.areGone(attemptsInSlot(open).flatMap(hashesOf)));
  const isHarmless =
    isFinal &&
    ours !== undefined &&
    (ours.purpose !== 'content' || (await sequence.cannotFail(ours, user.blockNumber).catch(nullIfUnavailable)) === true);
  await lane.records.move(id, ({ transaction, attempts }) => {
    if (transaction.nonce !== nonce || transaction.mined !== null) return null;
    // An attempt that was signed meanwhile was not searched.
    const isWhole = attempts.length === open.attempts.length;
    if (!isKnown)
      return isLost && isWhole ? { steps: [unresolvable(transaction)] } : waitsFor(transaction, unknownUser(transaction, nonce));
    if (ours !== undefined) return isFinal ? withoutReceipt(lane, transaction, ours, user, isHarmless) : null;
    // It is ours after all: the next head finds its receipt.
    if (attempts.some((attempt) => hashesOf(attempt).includes(user.hash))) return null;
    if (paid === 'lost') return waitsFor(transaction, paidBefore(user.hash));
    if (paid !== null && transaction.intent === 'content')
      return { steps: [paidByCaller(transaction, user.hash)], usedSignature: user.hash };
    if (proof === 'proved') return { steps: [displaced(transaction, user.hash)] };
    return waitsFor(
      transaction,
      proof === 'disputed' ? usersDiffer(user.hash, user.blockNumber) : foreignUser(transaction, nonce, user.hash),
    );
  });
  return isKnown ? 'found' : 'empty';
}

/**
 * Ends a transaction whose attempt is in a final block without a readable receipt, if it cannot have failed. The block shows what was
 * executed, but not whether that succeeded, so any other transaction waits for its receipt: an index can lag for long.
 */
function withoutReceipt(
  lane: LaneContext,
  transaction: Transaction,
  attempt: Attempt,
  { blockNumber, blockHash }: SenderTransaction,
  isHarmless: boolean,
): Move | null {
  if (isHarmless) {
    const step = mined(
      transaction,
      { version: attempt.version, blockNumber, blockHash, succeeded: true, facts: null },
      lane.deps.clock.nowMs(),
    );
    return { steps: [step, resolved(step, attempt.purpose, null, lane.deps.clock.nowMs())] };
  }
  return waitsFor(transaction, `waiting: block ${blockNumber} contains it, but no RPC node has a receipt that can be read; retrying`);
}

function unknownUser(transaction: Transaction, nonce: bigint): string {
  return `waiting: ${slotTerms(transaction).slot} ${nonce} is used on chain, but the RPC nodes report no attempt of the service there; searching for the transaction that used it`;
}

function paidBefore(hash: string): string {
  return `waiting: transaction ${hash} has paid the same, and the database lacks its attempt; run relayer restore`;
}

function usersDiffer(hash: string, blockNumber: bigint): string {
  return `waiting: not all RPC nodes show the foreign transaction ${hash} in block ${blockNumber}; decided when they agree`;
}

function foreignUser(transaction: Transaction, nonce: bigint, hash: string): string {
  return `waiting: ${slotTerms(transaction).slot} ${nonce} was used by the foreign transaction ${hash}; waiting for its confirmations`;
}
