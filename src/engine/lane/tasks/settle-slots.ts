import { DomainError } from '../../../core/errors/errors.js';
import type { Head, Receipt, Sequence } from '../../../core/ports/chain.js';
import type { Move } from '../../../core/ports/lanes.js';
import type { OpenTransaction } from '../../../core/records/transaction.js';
import { type Attempt, hashesOf } from '../../../core/records/transaction.js';
import { mined, reorged, resolved } from '../../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../../core/transaction/outbid.js';
import { type BlockView, createBlockView, finalAt, isDeep, isInBlockOf, isUsed, mayBeNewer, minedAt } from '../block-view.js';
import { followNonce, nonceAt } from '../follow-nonce.js';
import { type LaneContext, nullIfUnavailable } from '../lane-context.js';
import { type Look, lookUpReceipts } from '../look-up-receipts.js';
import { type Decision, moveAll } from '../move-all.js';

/**
 * Brings a lane's transactions with a nonce to the state that the chain shows at a head: mined, back from a reorg, or resolved. Only the
 * chain decides: a slot is resolved by a transaction that is *found in a block* at the required confirmations. A higher account nonce, or a
 * missing receipt, proves nothing.
 *
 * Costs one account nonce for the lane, receipts for slots below it (see `lookUpReceipts`), and one block hash for each block that holds
 * something unconfirmed. A block or receipt that no node shows delays only its own transactions. Throws `NODE_UNAVAILABLE`, also if
 * anything went unanswered: then this head is not settled.
 */
export async function settleSlots(lane: LaneContext, sequence: Sequence, head: Head): Promise<void> {
  const { transactions } = lane;
  const seen = await nonceAt(lane, sequence, head);
  if ('another' in seen) return settleWithoutAccount(lane, sequence, head, seen.another);
  await lane.doubts.dismiss('absent');
  await followNonce(lane, sequence, head, seen);
  // Beyond ours a nonce says nothing about our slots.
  const chainNonce = seen.next < lane.numbers.next ? seen.next : lane.numbers.next;
  const blocks = createBlockView(sequence, head);
  const inBlocks = [...transactions.slotted()].filter(({ transaction }) => transaction.mined !== null);
  await blocks.read(inBlocks.map(({ transaction }) => transaction.mined?.blockNumber ?? 0n));
  const look = await lookUpReceipts(lane, sequence, head, {
    certain: inBlocks.filter(({ transaction: { mined } }) => mined !== null && blocks.shows(mined) === 'another'),
    used: [...transactions.slotted()].filter((open) => isUsed(open, chainNonce)),
  });
  const found = [...look.found.values()];
  await blocks.read(found.map(({ blockNumber }) => blockNumber));
  const isAnyDeep = [...inBlocks.flatMap(({ transaction }) => transaction.mined ?? []), ...found].some(({ blockNumber }) =>
    isDeep(lane, head, blockNumber),
  );
  const proof = isAnyDeep ? await finalAt(lane, sequence, head).catch(nullIfUnavailable) : () => false;
  const isFinal = proof ?? (() => false);
  const decided = look.asked.map((open) => settleOne(lane, open, look, { head, blocks, isFinal }));
  // The others stay where they are, and may have reached the required confirmations.
  for (const open of inBlocks) {
    const { mined } = open.transaction;
    if (mined !== null && blocks.shows(mined) === 'same' && isFinal(mined.blockNumber)) decided.push(resolveMined(lane, open));
  }
  await make(lane, decided);
  // A reorg can free a nonce again.
  for (const { transaction } of transactions.minable(chainNonce)) {
    const record = transactions.tracked(transaction.id);
    if (record !== undefined) record.unexplained = null;
  }
  lane.numbers.chainShows(chainNonce, seen);
  if (blocks.isUnanswered() || look.unanswered.size > 0 || proof === null) throw unanswered();
  lane.heads.settle(head);
}

function unanswered(): DomainError {
  return new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no RPC node showed some of the blocks or receipts of open transactions');
}

/**
 * The same if no node shows the account: then every slot may be used. If the service has signed for it, it was removed, or the chain was
 * reset.
 */
async function settleWithoutAccount(lane: LaneContext, sequence: Sequence, head: Head, another: 'same' | null): Promise<void> {
  const { id, transactions, numbers } = lane;
  // Without any nonce of ours it was not created yet.
  const sentence = `account ${id.account} no longer exists on ${lane.relayer().network.name}; nothing is sent until it is created again`;
  if (numbers.signed > 0n) await lane.doubts.note({ doubt: 'absent', head, sentence, another });
  const look = await lookUpReceipts(lane, sequence, head, { certain: [], used: [...transactions.inFlight()] });
  const blocks = createBlockView(sequence, head);
  await blocks.read([...look.found.values()].map(({ blockNumber }) => blockNumber));
  const isFinal = await finalAt(lane, sequence, head);
  // Receipts say nothing about the other attempts while no node shows the account.
  const landed = look.asked.filter((one) => foundAttempt(one, look.found) !== null);
  await make(
    lane,
    landed.map((one) => settleOne(lane, one, look, { head, blocks, isFinal })),
  );
  if (blocks.isUnanswered() || look.unanswered.size > 0) throw unanswered();
  lane.heads.settle(head);
}

/** The facts that decide about a receipt. */
interface Depth {
  readonly head: Head;
  readonly blocks: BlockView;
  /** True if a block at this height has the required confirmations. */
  isFinal(blockNumber: bigint): boolean;
}

/** What to do about one slot; null: nothing. It is a promise if a node is asked first why the transaction failed. */
type Decided = Decision | Promise<Decision> | null;

/** Makes the changes together, except those that wait for a node. */
async function make(lane: LaneContext, decided: readonly Decided[]): Promise<void> {
  const known = decided.filter((one): one is Decision => one !== null && !(one instanceof Promise));
  const asking = decided.filter((one) => one instanceof Promise);
  const makeLater = async (asked: Promise<Decision>) => {
    const { id, decide } = await asked;
    await lane.records.move(id, decide);
  };
  await Promise.all([moveAll(lane, known), ...asking.map(makeLater)]);
}

function settleOne(lane: LaneContext, seen: OpenTransaction, receipts: Look, { head, blocks, isFinal }: Depth): Decided {
  const { id } = seen.transaction;
  const record = lane.transactions.tracked(id);
  const found = foundAttempt(seen, receipts.found);
  if (found === null && attemptsInSlot(seen).some((attempt) => hashesOf(attempt).some((hash) => receipts.unanswered.has(hash))))
    return null;
  // A receipt in a block that is not there proves nothing. One above the head waits for that head: it might never come.
  const shown = found === null ? null : blocks.shows(found.receipt);
  if (shown === 'another' || (found !== null && found.receipt.blockNumber > head.number)) return null;
  if (found !== null) {
    if (record !== undefined) record.unexplained = record.looks = null;
    const { receipt, attempt } = found;
    return withReason(lane, receipt, id, (current, whyFailed) => {
      const { transaction } = current;
      if (transaction.nonce !== attempt.nonce || mayBeNewer(attempt, receipt, seen, current)) return null;
      const step = mined(transaction, minedAt(attempt, receipt), lane.deps.clock.nowMs());
      if (shown === null || !isFinal(receipt.blockNumber)) return { steps: [step] };
      return { steps: [step, resolved(step, attempt.purpose, whyFailed, lane.deps.clock.nowMs())] };
    });
  }
  if (seen.transaction.mined !== null) {
    lane.transactions.forgetTaken(seen);
    return { id, decide: ({ transaction }) => (isInBlockOf(transaction, seen.transaction) ? { steps: [reorged(transaction)] } : null) };
  }
  // A head that is settled again counts once.
  if (record === undefined || record.unexplained?.lastHash === head.hash) return null;
  const { heads, emptyHeads, searchedAtBlock } = record.unexplained ?? { heads: 0, emptyHeads: 0, searchedAtBlock: 0n };
  record.unexplained = { heads: heads + 1, lastHash: head.hash, emptyHeads, searchedAtBlock };
  return null;
}

/** Decides with the reason of the failure; null: the transaction succeeded. */
function withReason(
  lane: LaneContext,
  mined: Receipt,
  id: string,
  decide: (current: OpenTransaction, whyFailed: string | null) => Move | null,
): Decided {
  const decision = (whyFailed: string | null): Decision => ({ id, decide: (current) => decide(current, whyFailed) });
  return mined.succeeded ? decision(null) : lane.chain.whyFailed(mined, lane.relayer()).then(decision);
}

function foundAttempt(open: OpenTransaction, receipts: ReadonlyMap<string, Receipt>): { attempt: Attempt; receipt: Receipt } | null {
  const attempts = attemptsInSlot(open);
  const attempt =
    attempts.find(({ hash }) => receipts.has(hash)) ?? attempts.find((one) => hashesOf(one).some((hash) => receipts.has(hash)));
  const receipt = attempt && receipts.get(hashesOf(attempt).find((hash) => receipts.has(hash)) ?? '');
  return attempt === undefined || receipt === undefined ? null : { attempt, receipt };
}

function resolveMined(lane: LaneContext, open: OpenTransaction): Decided {
  const { mined: at, id } = open.transaction;
  if (at === null) return null;
  const attempt = open.attempts.find(({ version }) => version === at.version);
  // A bug about one transaction must not keep the others from being settled.
  if (attempt === undefined) return Promise.reject(new Error(`the mined attempt of transaction ${id} is not stored`));
  return withReason(lane, { hash: attempt.hash, ...at }, id, ({ transaction }, whyFailed) => {
    if (!isInBlockOf(transaction, open.transaction)) return null;
    return { steps: [resolved(transaction, attempt.purpose, whyFailed, lane.deps.clock.nowMs())] };
  });
}
