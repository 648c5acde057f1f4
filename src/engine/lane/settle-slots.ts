import type { Head, Receipt, Sequence } from '../../core/ports/chain.js';
import type { OpenTransaction } from '../../core/ports/store.js';

import { displaced, mined, resolved, takenBack, unresolvable, waiting, wordsOf } from '../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../core/transaction/outbid.js';
import { type Attempt, hashesOf, type MinedAt, type Transaction } from '../../core/transaction/transaction.js';
import type { LaneContext } from './lane-context.js';
import { nullIfUnavailable } from './null-if-unavailable.js';

/** So many slots that no version of ours explains are searched for at a head: each search asks about twenty questions. */
const searchesPerHead = 4;
/** No transaction is given up as forgotten sooner: blocks can be fast, and outages of an index slow. */
const forgottenAfterMs = 600_000;
/** The first head may show a nonce before the receipt that explains it: others are searched for from this one on. */
const headsUntilSearched = 2;
/** After so many searches in a row that found nobody, nobody will ever tell; nor before the nonce is as deep as the required confirmations. */
const searchesUntilForgotten = 64;

/** A used nonce that no version of ours explains. */
interface Mystery {
  /** Heads that have shown it, one after the other. */
  readonly heads: number;
  /** Searches that found nobody, one after the other. */
  readonly searches: number;
}

/** The used nonces that no version of ours explains, by transaction. */
export type Unexplained = Map<string, Mystery>;

/**
 * Brings a lane's transactions with a nonce to what the chain says at a head: mined, taken back, resolved, displaced. The chain is the only one that decides: a slot
 * is resolved by a version of ours, or by somebody else's transaction, that is *found in a block* at the required confirmations. A higher account nonce
 * alone, or a missing receipt, proves nothing.
 *
 * One account nonce for the whole lane; receipts only for slots below it; one block hash for each block that holds something unconfirmed.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function settle(lane: LaneContext, sequence: Sequence, head: Head, unexplained: Unexplained): Promise<void> {
  const { transactions, id } = lane;
  const chainNonce = await sequence.nextOf(id.account);
  const lookedFor = [
    ...(await noLongerInTheirBlocks(lane, sequence, head)),
    ...[...transactions.slotted()].filter((open) => isUsed(open, chainNonce)),
  ];
  const receipts = await receiptsOf(lane, sequence, lookedFor, head);
  const moves = lookedFor.map((open) => settleOne(lane, head, open, receipts, unexplained));
  // Those that stay where they are may have come to the required confirmations.
  const lookedForIds = new Set(lookedFor.map(({ transaction }) => transaction.id));
  for (const open of [...transactions.slotted()]) {
    if (open.transaction.mined !== null && !lookedForIds.has(open.transaction.id)) moves.push(resolveIfDeep(lane, head, open));
  }
  await Promise.all(moves);
  lane.chainNonce = chainNonce;
  if (lane.nextNonce < chainNonce) lane.nextNonce = chainNonce;
  lane.settled = head;
  // Last: a slot that nobody can explain now holds nothing else up.
  await explainOthers(lane, sequence, head, chainNonce, unexplained);
}

function isUsed({ transaction }: OpenTransaction, chainNonce: bigint): boolean {
  return transaction.mined === null && transaction.nonce !== null && transaction.nonce < chainNonce;
}

/** Mined transactions whose block is not, or not any more, the one at its height. */
async function noLongerInTheirBlocks({ transactions }: LaneContext, sequence: Sequence, head: Head): Promise<readonly OpenTransaction[]> {
  const inBlocks = [...transactions.slotted()].filter(({ transaction }) => transaction.mined !== null);
  const heights = new Set(inBlocks.map(({ transaction }) => transaction.mined?.blockNumber ?? 0n));
  const hashes = new Map<bigint, string | null>();
  await Promise.all(
    [...heights].map(async (height) => {
      hashes.set(height, height === head.number ? head.hash : height > head.number ? null : await sequence.blockHash(height));
    }),
  );
  return inBlocks.filter(
    ({ transaction }) => transaction.mined !== null && hashes.get(transaction.mined.blockNumber) !== transaction.mined.blockHash,
  );
}

async function receiptsOf(
  lane: LaneContext,
  sequence: Sequence,
  open: readonly OpenTransaction[],
  head: Head,
): Promise<ReadonlyMap<string, Receipt>> {
  const hashes = open.flatMap((one) => attemptsInSlot(one).flatMap(hashesOf));
  if (hashes.length === 0) return new Map();
  const from = lane.settled === null ? 0n : lane.settled.number < head.number ? lane.settled.number + 1n : head.number;
  return sequence.receipts(hashes, { from, to: head.number });
}

async function settleOne(
  lane: LaneContext,
  head: Head,
  seen: OpenTransaction,
  receipts: ReadonlyMap<string, Receipt>,
  unexplained: Unexplained,
): Promise<void> {
  const { id } = seen.transaction;
  const found = foundVersion(seen, receipts);
  if (found !== null) {
    unexplained.delete(id);
    const whyFailed = found.receipt.succeeded ? null : await lane.chain.whyFailed(found.receipt, lane.relayer());
    await lane.move(id, ({ transaction }) => {
      if (transaction.nonce !== found.attempt.nonce) return null;
      const { receipt, attempt } = found;
      const step = mined(transaction, minedAt(attempt, receipt), lane.deps.clock.nowMs());
      if (!isDeep(lane, head, receipt.blockNumber)) return { steps: [step] };
      return { steps: [step, resolved(step, attempt.purpose, whyFailed, lane.deps.clock.nowMs())] };
    });
    return;
  }
  if (seen.transaction.mined !== null) {
    lane.forgetTaken(seen);
    await lane.move(id, ({ transaction }) => (transaction.mined === null ? null : { steps: [takenBack(transaction)] }));
    return;
  }
  const { heads, searches } = unexplained.get(id) ?? { heads: 0, searches: 0 };
  unexplained.set(id, { heads: heads + 1, searches });
}

function foundVersion(open: OpenTransaction, receipts: ReadonlyMap<string, Receipt>): { attempt: Attempt; receipt: Receipt } | null {
  const versions = attemptsInSlot(open);
  const attempt =
    versions.find(({ hash }) => receipts.has(hash)) ?? versions.find((one) => hashesOf(one).some((hash) => receipts.has(hash)));
  const receipt = attempt && receipts.get(hashesOf(attempt).find((hash) => receipts.has(hash)) ?? '');
  return attempt === undefined || receipt === undefined ? null : { attempt, receipt };
}

function isDeep(lane: LaneContext, head: Head, blockNumber: bigint): boolean {
  return head.number - blockNumber + 1n >= BigInt(lane.relayer().network.requiredConfirmations);
}

async function resolveIfDeep(lane: LaneContext, head: Head, open: OpenTransaction): Promise<void> {
  const { mined: at, id } = open.transaction;
  if (at === null || !isDeep(lane, head, at.blockNumber)) return;
  const attempt = open.attempts.find(({ version }) => version === at.version);
  if (attempt === undefined) throw new Error(`transaction ${id} was mined in a version that is not stored`);
  const whyFailed = at.succeeded ? null : await lane.chain.whyFailed({ hash: attempt.hash, ...at }, lane.relayer());
  await lane.move(id, ({ transaction }) => {
    if (transaction.mined?.blockHash !== at.blockHash) return null;
    return { steps: [resolved(transaction, attempt.purpose, whyFailed, lane.deps.clock.nowMs())] };
  });
}

/** A version, and where it was found. */
export function minedAt({ version }: Attempt, { blockNumber, blockHash, succeeded, facts }: Receipt): MinedAt {
  return { version, blockNumber, blockHash, succeeded, facts };
}

/** Finds out who used nonces that no version of ours explains. */
async function explainOthers(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  chainNonce: bigint,
  unexplained: Unexplained,
): Promise<void> {
  for (const id of unexplained.keys()) {
    // It has ended, has another nonce, or a reorg has freed its own again: what was counted says nothing any more.
    const open = lane.transactions.get(id);
    if (open === undefined || !isUsed(open, chainNonce)) unexplained.delete(id);
  }
  const searched = [...unexplained].filter(([, { heads }]) => heads >= headsUntilSearched).slice(0, searchesPerHead);
  const patience = Math.max(searchesUntilForgotten, lane.relayer().network.requiredConfirmations);
  for (const [id, { heads, searches }] of searched) {
    const open = lane.transactions.get(id);
    if (open === undefined || open.transaction.nonce === null) continue;
    const { nonce } = open.transaction;
    // Behind the others next time.
    unexplained.delete(id);
    unexplained.set(id, { heads, searches });
    const user = await sequence.findSender(lane.id.account, nonce, { from: 0n, to: head.number }).catch(nullIfUnavailable);
    // Not an answer, so not a search.
    if (user === null) continue;
    const isKnown = user !== 'not_found' && user !== 'pruned';
    unexplained.set(id, { heads, searches: isKnown ? 0 : searches + 1 });
    await lane.move(id, ({ transaction }) => {
      if (transaction.nonce !== nonce || transaction.mined !== null) return null;
      if (!isKnown)
        return searches >= patience && isOld(open, lane.deps.clock.nowMs())
          ? { steps: [unresolvable(transaction)] }
          : explain(transaction, unknownUser(transaction, nonce));
      // Ours after all: the next head finds its receipt.
      if (open.attempts.some((attempt) => hashesOf(attempt).includes(user.hash))) return null;
      return isDeep(lane, head, user.blockNumber)
        ? { steps: [displaced(transaction, user.hash)] }
        : explain(transaction, foreignUser(transaction, nonce, user.hash));
    });
    lane.wakePrepare();
  }
}

/** Its newest version was signed long enough ago for a node's index to have come back from whatever befell it. */
function isOld({ attempts }: OpenTransaction, nowMs: number): boolean {
  return nowMs - (attempts.at(-1)?.createdAtMs ?? nowMs) >= forgottenAfterMs;
}

function explain(transaction: Transaction, reason: string): { steps: [Transaction] } | null {
  return transaction.statusReason === reason ? null : { steps: [waiting(transaction, reason)] };
}

function unknownUser(transaction: Transaction, nonce: bigint): string {
  return `${wordsOf(transaction).slot} ${nonce} is used on chain, but the nodes show none of our versions there; waiting for the chain to tell`;
}

function foreignUser(transaction: Transaction, nonce: bigint, hash: string): string {
  return `${wordsOf(transaction).slot} ${nonce} was used by ${hash}, which is not ours; waiting for its confirmations`;
}
