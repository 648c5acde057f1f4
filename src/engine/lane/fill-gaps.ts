import type { Head, Sequence } from '../../core/ports/chain.js';
import type { Move } from '../../core/ports/lanes.js';
import { noOrigin } from '../../core/transaction/journal.js';
import { signed, wordsOf } from '../../core/transaction/lifecycle.js';
import { isRefusal } from '../../core/transaction/refusal-error.js';
import { newTransaction } from '../../core/transaction/send-transaction.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { transactionChanges } from '../../core/transaction/transaction-changes.js';
import { emptyNonces } from './empty-nonces.js';
import type { LaneContext } from './lane-context.js';
import { nonceChanges } from './prepare.js';

/** Nonces that were seen to be empty, with the head at which that was first. */
export type Gaps = Map<bigint, string>;

/** So many empty nonces are looked at in one go. */
const reach = 50;

/**
 * Fills nonces between the chain's and ours that no open transaction has: a gap, behind which nothing is mined. There is one when the chain was rewound, or
 * when somebody else's transaction with our key vanished in a reorg.
 *
 * What was final there is broadcast again as it was stored: nothing confirmed is ever signed again. Where nothing final was, a filler takes the nonce,
 * as a transaction of its own, and outbids whatever of ours a node may still hold there. Throws `NODE_UNAVAILABLE`.
 */
export async function fillGaps(lane: LaneContext, head: Head, gaps: Gaps): Promise<void> {
  const { sequence } = lane.chain;
  if (sequence === null) return;
  const empty = emptyNonces(lane.chainNonce, lane.nextNonce, (nonce) => lane.transactions.atNonce(nonce) !== undefined, reach);
  for (const nonce of gaps.keys()) if (!empty.includes(nonce)) gaps.delete(nonce);
  if (empty.length === 0) return;
  const finals: Attempt[] = [];
  for (const nonce of empty) {
    const { mined, versions } = await lane.deps.store.read.slot(lane.id, nonce);
    if (mined !== null) finals.push(mined);
    else if (await isGap(lane, sequence, head, nonce, gaps)) await fill(lane, sequence, nonce, versions);
  }
  if (finals.length === 0) return;
  const outcomes = await lane.chain.broadcastAll(finals.map(({ raw }) => raw));
  const taken = outcomes.filter(({ kind }) => kind === 'accepted').length;
  if (taken > 0)
    lane.log.warn(
      { relayer: lane.relayer().id, head: head.number, taken },
      'the chain was rewound: stored transactions were broadcast again',
    );
}

/** One look proves nothing: a node behind the others shows a nonce as free that is used. */
async function isGap(lane: LaneContext, sequence: Sequence, head: Head, nonce: bigint, gaps: Gaps): Promise<boolean> {
  const firstSeenAt = gaps.get(nonce);
  if (firstSeenAt === undefined) gaps.set(nonce, head.hash);
  if (firstSeenAt === undefined || firstSeenAt === head.hash) return false;
  const used = await sequence.nextAt(lane.id.account, head.number);
  return used === 'pruned' || used <= nonce;
}

async function fill(lane: LaneContext, sequence: Sequence, nonce: bigint, outbids: readonly Attempt[]): Promise<void> {
  const { deps, id } = lane;
  const relayer = lane.relayer();
  const draft = await lane.chain.draft({ relayer, content: 'filler', outbids, validUntilMs: null });
  if (isRefusal(draft)) {
    lane.log.warn({ relayer: relayer.id, nonce, detail: draft.sentence }, 'a nonce that nothing of ours has cannot be filled yet');
    return;
  }
  const content = sequence.fillerOf(id.account);
  const transaction = {
    ...newTransaction(deps, relayer, content, { validUntilMs: null, traceParent: null }),
    statusReason: `fills ${wordsOf({ content }).slot} ${nonce}, which nothing else has`,
  };
  // As a cancel: should somebody else take the nonce after all, there is nothing left to send.
  const first = await signAttempt(deps, relayer, { transaction, attempts: [] }, draft, nonce, 'cancel');
  // Versions count within a slot, and other transactions of ours may have had versions there.
  const newAttempt = { ...first, version: outbids.reduce((most, { version }) => Math.max(most, version), 0) + 1 };
  const move: Move = { steps: [signed(transaction, newAttempt)], newAttempt };
  const { after, changes } = transactionChanges(deps, relayer, { transaction, attempts: [] }, move);
  await deps.store.commit([
    deps.store.change.insertTransaction(transaction),
    ...nonceChanges(lane, lane.nextNonce, lane.nextNonce),
    ...changes,
  ]);
  lane.storedNonce = lane.nextNonce;
  deps.journal.accepted(transaction, noOrigin);
  deps.journal.moved(transaction, move, after);
  lane.put(after);
  lane.wakeBroadcast();
}
