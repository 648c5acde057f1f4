import { DomainError } from '../../../core/errors/errors.js';
import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { Receipt, SecondReading } from '../../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../../core/ports/chain/slots.js';
import type { Move } from '../../../core/ports/lanes.js';
import { max } from '../../../core/records/bigints.js';
import type { OpenTransaction } from '../../../core/records/transaction.js';
import { type Attempt, hashesOf } from '../../../core/records/transaction.js';
import { mined, reorged, resolved } from '../../../core/transaction/lifecycle.js';
import { attemptsInSlot } from '../../../core/transaction/outbid.js';
import { type BlockView, createBlockView, finalAt, isDeep, isInBlockOf, isUsed, mayBeNewer, minedAt } from '../block-view.js';
import { receiptsDiffer, waitsFor } from '../commit-moves.js';
import { followNonce, nonceAt, type SeenNonce } from '../follow-nonce.js';
import type { LaneContext } from '../lane-context.js';
import { type Look, lookUpReceipts, slotHashes } from '../look-up-receipts.js';
import { type Decision, moveAll } from '../move-all.js';
import { type Final, isAloneLong, readFinalsAgain } from '../read-finals-again.js';

/**
 * Brings a lane's transactions with a nonce to the state that the chain shows at a head: mined, back from a reorg, or resolved. Only the
 * chain decides: a slot is resolved by a transaction that is *found in a block* at the required confirmations. A higher account nonce, or a
 * missing receipt, proves nothing.
 *
 * Costs one account nonce for the lane, receipts for slots below it (see `lookUpReceipts`), and one block hash for each block that holds
 * something unconfirmed. A block or receipt that no node shows delays only its own transactions: the next head looks again. Throws
 * `NODE_UNAVAILABLE`, also if anything went unanswered.
 */
export async function settleSlots(lane: LaneContext, sequence: Sequence, head: Head): Promise<void> {
  const { transactions } = lane;
  const seen = await nonceAt(lane, sequence, head);
  if ('another' in seen) return settleWithoutAccount(lane, sequence, head, seen.another);
  await lane.doubts.dismiss('absent');
  await followNonce(lane, sequence, head, seen);
  // Beyond ours a nonce says nothing about our slots.
  const chainNonce = seen.next < lane.numbers.next ? seen.next : lane.numbers.next;
  const highest = await highestShown(lane, sequence, head, seen);
  const blocks = createBlockView(sequence, head);
  const inBlocks = [...transactions.slotted()].filter(({ transaction }) => transaction.mined !== null);
  await blocks.read(inBlocks.map(({ transaction }) => transaction.mined?.blockNumber ?? 0n));
  const look = await lookUpReceipts(lane, sequence, head, {
    certain: inBlocks.filter(({ transaction: { mined } }) => mined !== null && blocks.shows(mined) === 'another'),
    used: [...transactions.slotted()].filter((open) => isUsed(open, highest)),
    blocks,
  });
  const found = [...look.found.values()];
  const isAnyDeep = [...inBlocks.flatMap(({ transaction }) => transaction.mined ?? []), ...found].some(({ blockNumber }) =>
    isDeep(lane, head, blockNumber),
  );
  const proof = isAnyDeep ? await finalAt(lane, sequence, head).catch(nullIfUnavailable) : () => false;
  const isFinal = proof ?? (() => false);
  const isStuck = ({ transaction: { mined } }: OpenTransaction): boolean =>
    mined !== null && blocks.shows(mined) === 'same' && isDeep(lane, head, mined.blockNumber) && !isFinal(mined.blockNumber);
  // The others stay where they are, and may have reached the required confirmations.
  const staying = inBlocks.filter(
    ({ transaction: { mined } }) => mined !== null && blocks.shows(mined) === 'same' && isFinal(mined.blockNumber),
  );
  const { readings, waiting, isUndecided } = await readFinalsAgain(lane, sequence, [
    ...foundFinals(look, (receipt) => blocks.shows(receipt) === 'same' && isFinal(receipt.blockNumber)),
    ...staying.flatMap(minedReceipt),
  ]);
  const decided = look.asked.map((open) => settleOne(lane, sequence, open, look, { head, blocks, isFinal, readings }));
  for (const open of staying)
    if (!waiting.has(open.transaction.id)) decided.push(resolveMined(lane, sequence, open, { head, isFinal, readings }));
  const isDisputed = sequence.isDisputed?.() === true;
  // Without an answer, what the records say stays.
  if (proof !== null) for (const open of inBlocks) decided.push(explainBranches(lane, open, isDisputed && isStuck(open)));
  await make(lane, decided);
  // A reorg can free a nonce again.
  for (const { transaction } of transactions.minable(max(highest, chainNonce))) {
    const record = transactions.tracked(transaction.id);
    if (record !== undefined) record.unexplained = null;
  }
  lane.numbers.chainShows(chainNonce, seen, highest);
  const isUnanswered = blocks.isUnanswered() || look.unanswered.size > 0 || proof === null;
  endAt(lane, head, isUnanswered, isUndecided || mayEndHere(lane, head, highest));
}

/**
 * True if a slot may end at this head although this look has not shown it: the node that says that its nonce is used, or its block deep,
 * may have what proves it a moment later. The next head may never come, as on a development node that makes blocks for transactions only.
 */
function mayEndHere(lane: LaneContext, head: Head, highest: bigint): boolean {
  for (const open of lane.transactions.slotted()) {
    const { mined } = open.transaction;
    if (mined === null ? isUsed(open, highest) : isDeep(lane, head, mined.blockNumber)) return true;
  }
  return false;
}

/** What no node shows delays its own transactions, and is asked for again at this head. The others go on, after a restart too. */
function endAt(lane: LaneContext, head: Head, isUnanswered: boolean, isUndecided = false): void {
  if (!isUnanswered || lane.heads.settled === null) lane.heads.settle(head, isUndecided);
  if (isUnanswered) throw unanswered();
}

/** The lowest attempt has waited for this many heads: the state of the endpoint that shows its nonce as free may be old. */
const waitedHeads = 4;

/**
 * The nonce that the account shows, or a higher one that another endpoint shows while the lowest attempt waits. Too high is harmless: it
 * only says which receipts to look up.
 */
async function highestShown(lane: LaneContext, sequence: Sequence, head: Head, seen: SeenNonce): Promise<bigint> {
  const [lowest] = lane.transactions.minable(seen.next);
  const live = lowest?.attempts.at(-1);
  const since = live === undefined ? null : (lane.transactions.stateOf(live)?.waitingSince ?? null);
  if (since === null || lane.heads.count - since.head < waitedHeads) return seen.next;
  const another = await sequence.nextAt(lane.id.account, head.number, seen).catch(nullIfUnavailable);
  const next = another?.next === 'pruned' ? await sequence.nextOf(lane.id.account, 'highest').catch(nullIfUnavailable) : another?.next;
  return typeof next === 'bigint' && next > seen.next ? next : seen.next;
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
  const blocks = createBlockView(sequence, head);
  const look = await lookUpReceipts(lane, sequence, head, { certain: [], used: [...transactions.inFlight()], blocks });
  const isFinal = await finalAt(lane, sequence, head);
  const finals = foundFinals(look, (receipt) => blocks.shows(receipt) === 'same' && isFinal(receipt.blockNumber));
  const { readings, isUndecided } = await readFinalsAgain(lane, sequence, finals);
  // Receipts say nothing about the other attempts while no node shows the account.
  const landed = look.asked.filter((one) => foundAttempt(one, look.found, () => 0) !== null);
  await make(
    lane,
    landed.map((one) => settleOne(lane, sequence, one, look, { head, blocks, isFinal, readings })),
  );
  endAt(lane, head, blocks.isUnanswered() || look.unanswered.size > 0, isUndecided);
}

/** The facts that decide about a receipt. */
interface Depth {
  readonly head: Head;
  readonly blocks: BlockView;
  /** True if a block at this height has the required confirmations. */
  isFinal(blockNumber: bigint): boolean;
  readonly readings: ReadonlyMap<string, SecondReading>;
}

/** The receipt that the record shows; none: the transaction is in no block. */
function minedReceipt({ transaction: { id, mined }, attempts }: OpenTransaction): readonly Final[] {
  const attempt = attempts.find(({ version }) => version === mined?.version);
  if (mined === null || attempt === undefined) return [];
  const otherHashes = hashesOf(attempt).filter((hash) => hash !== attempt.hash);
  return [{ id, receipt: { hash: attempt.hash, ...mined, ...(otherHashes.length === 0 ? {} : { otherHashes }) } }];
}

/** The receipts of a look that are about to become final. */
function foundFinals({ asked, found }: Look, isFinal: (receipt: Receipt) => boolean): readonly Final[] {
  const ids = new Map(asked.flatMap((open) => slotHashes(open).map((hash) => [hash, open.transaction.id] as const)));
  return [...found].flatMap(([hash, receipt]) => {
    const id = ids.get(hash);
    return id !== undefined && isFinal(receipt) ? [{ id, receipt }] : [];
  });
}

/** What to do about one slot; null: nothing. It is a promise if a node is asked first why the transaction failed. */
type Decided = Decision | Promise<Decision> | null;

/** Makes the changes together, except changes that wait for a node. */
async function make(lane: LaneContext, decided: readonly Decided[]): Promise<void> {
  const known = decided.filter((one): one is Decision => one !== null && !(one instanceof Promise));
  const asking = decided.filter((one) => one instanceof Promise);
  const makeLater = async (asked: Promise<Decision>) => {
    const { id, decide } = await asked;
    await lane.records.move(id, decide);
  };
  await Promise.all([moveAll(lane, known), ...asking.map(makeLater)]);
}

function settleOne(
  lane: LaneContext,
  sequence: Sequence,
  seen: OpenTransaction,
  receipts: Look,
  { head, blocks, isFinal, readings }: Depth,
): Decided {
  const { id } = seen.transaction;
  const record = lane.transactions.tracked(id);
  const found = foundAttempt(seen, receipts.found, (receipt) => doubtOf(receipt, { head, blocks, readings }));
  if (found === null && slotHashes(seen).some((hash) => receipts.unanswered.has(hash))) return null;
  if (found !== null && !blocks.admits(found.receipt)) return null;
  if (found !== null) {
    if (record !== undefined) record.unexplained = record.looks = record.unread = null;
    const { receipt, attempt } = found;
    // The record first shows the block. The next look decides about a receipt that another endpoint has not confirmed.
    const reading = readings.get(receipt.hash) ?? 'same';
    const isFirst = blocks.shows(receipt) === null || !isFinal(receipt.blockNumber) || (reading !== 'same' && reading !== 'alone');
    return withStatus(sequence, attempt, receipt, reading, (judged) =>
      withReason(lane, judged ?? receipt, id, (current, whyFailed) => {
        const { transaction } = current;
        if (transaction.nonce !== attempt.nonce || mayBeNewer(attempt, receipt, seen, current)) return null;
        const step = mined(transaction, minedAt(attempt, judged ?? receipt), lane.deps.clock.nowMs());
        return { steps: isFirst ? [step] : [step, resolved(step, attempt.purpose, whyFailed, lane.deps.clock.nowMs())] };
      }),
    );
  }
  if (seen.transaction.mined !== null) return takeBack(lane, seen);
  // A head that is settled again counts once.
  if (record === undefined || record.unexplained?.lastHash === head.hash) return null;
  const { heads, emptyHeads, searchedAt } = record.unexplained ?? { heads: 0, emptyHeads: 0, searchedAt: 0 };
  record.unexplained = { heads: heads + 1, lastHash: head.hash, emptyHeads, searchedAt };
  return null;
}

/** The block that the record shows does not hold it: nodes may have to get it again. */
function takeBack({ transactions }: LaneContext, seen: OpenTransaction): Decision {
  const { id } = seen.transaction;
  transactions.forgetTaken(seen);
  const record = transactions.tracked(id);
  if (record !== undefined) record.unread = record.disputedAtHash = record.undecidedAtHead = null;
  return { id, decide: ({ transaction }) => (isInBlockOf(transaction, seen.transaction) ? { steps: [reorged(transaction)] } : null) };
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

/** How much speaks against one of several receipts in a slot: its block is not there, or no other one shows it; null: it is refuted. */
function doubtOf(receipt: Receipt, { head, blocks, readings }: Omit<Depth, 'isFinal'>): number | null {
  const reading = readings.get(receipt.hash);
  if (reading === 'absent') return null;
  if (blocks.shows(receipt) === 'another' || receipt.blockNumber > head.number) return 2;
  return reading === 'different' || reading === 'unknown' || reading === 'below' ? 1 : 0;
}

/** Returns the attempt in the slot whose receipt is the least doubtful; of several, one with a receipt of its own hash. */
function foundAttempt(
  open: OpenTransaction,
  receipts: ReadonlyMap<string, Receipt>,
  doubt: (receipt: Receipt) => number | null,
): { attempt: Attempt; receipt: Receipt } | null {
  const attempts = attemptsInSlot(open);
  const own = attempts.map((attempt) => ({ attempt, hash: attempt.hash }));
  const all = [...own, ...attempts.flatMap((attempt) => hashesOf(attempt).map((hash) => ({ attempt, hash })))];
  let best: { attempt: Attempt; receipt: Receipt; doubts: number } | null = null;
  for (const { attempt, hash } of all) {
    const receipt = receipts.get(hash);
    const doubts = receipt === undefined ? null : doubt(receipt);
    if (receipt !== undefined && doubts !== null && (best === null || doubts < best.doubts)) best = { attempt, receipt, doubts };
  }
  return best;
}

function resolveMined(
  lane: LaneContext,
  sequence: Sequence,
  open: OpenTransaction,
  { head, isFinal, readings }: Omit<Depth, 'blocks'>,
): Decided {
  const { mined: at, id } = open.transaction;
  if (at === null) return null;
  const attempt = open.attempts.find(({ version }) => version === at.version);
  // A bug about one transaction must not keep the others from being settled.
  if (attempt === undefined) return Promise.reject(new Error(`the mined attempt of transaction ${id} is not stored`));
  const reading = readings.get(attempt.hash) ?? 'same';
  const record = lane.transactions.tracked(id);
  if (record !== undefined && reading !== 'unknown') record.unread = null;
  if (reading === 'absent') return takeBack(lane, open);
  if (reading === 'different') return dispute(lane, head, open, at.blockNumber);
  if (reading === 'below' || (reading === 'unknown' && !isAloneLong(lane, head, id))) return null;
  const receipt = typeof reading === 'string' ? { hash: attempt.hash, ...at } : reading;
  return withStatus(sequence, attempt, receipt, reading, (shown) => {
    if (shown === null) return dispute(lane, head, open, at.blockNumber);
    return withReason(lane, shown, id, ({ transaction }, whyFailed) => {
      if (!isInBlockOf(transaction, open.transaction)) return null;
      const nowMs = lane.deps.clock.nowMs();
      const step =
        isInBlockOf({ mined: at }, { mined: minedAt(attempt, shown) }) && shown.succeeded === at.succeeded && shown.facts === at.facts
          ? null
          : mined(transaction, minedAt(attempt, shown), nowMs);
      // The block that two others show instead may be a newer one.
      if (step !== null && !isFinal(shown.blockNumber)) return { steps: [step] };
      const last = resolved(step ?? transaction, attempt.purpose, whyFailed, nowMs);
      return { steps: step === null ? [last] : [step, last] };
    });
  });
}

/**
 * Decides with the status of a receipt; null: it is disputed. A payment that ran no code cannot have failed, if only one endpoint says so.
 * What two say counts in any case.
 */
function withStatus(
  sequence: Sequence,
  attempt: Attempt,
  receipt: Receipt,
  reading: SecondReading,
  decide: (judged: Receipt | null) => Decided,
): Decided {
  const otherwise = reading === 'status' ? null : receipt;
  const isDoubtful = reading === 'status' || (reading === 'alone' && !receipt.succeeded);
  if (!isDoubtful || attempt.purpose !== 'content') return decide(otherwise);
  const nothing: Decision = { id: attempt.transactionId, decide: () => null };
  return sequence
    .cannotFail(attempt, receipt.blockNumber)
    .catch(nullIfUnavailable)
    .then(async (cannotFail) => (await decide(cannotFail === true ? { ...receipt, succeeded: true } : otherwise)) ?? nothing);
}

const branchesDiffer = 'waiting: RPC nodes are on different branches of the chain; final when they agree';

/** Writes into the record of a mined transaction, once, that endpoints show different blocks, and removes that when they agree. */
function explainBranches(lane: LaneContext, open: OpenTransaction, isDisputed: boolean): Decided {
  if (isDisputed === (open.transaction.statusReason === branchesDiffer)) return null;
  return {
    id: open.transaction.id,
    decide(current) {
      const { transaction } = current;
      if (transaction.mined === null || !isInBlockOf(transaction, open.transaction)) return null;
      if (isDisputed) return waitsFor(transaction, branchesDiffer);
      return transaction.statusReason === branchesDiffer
        ? { steps: [mined(transaction, transaction.mined, lane.deps.clock.nowMs())] }
        : null;
    },
  };
}

/** Two endpoints show different receipts: nothing becomes final until they agree. After a reorg, one of them may be late. */
function dispute(lane: LaneContext, head: Head, { transaction: { id } }: OpenTransaction, blockNumber: bigint): Decision {
  const record = lane.transactions.tracked(id);
  if (record !== undefined && record.disputedAtHash === null)
    lane.deps.log.warn(
      { relayer: lane.relayer().id, transaction: id, block: blockNumber },
      'RPC nodes show different receipts for a transaction',
    );
  if (record !== undefined) record.disputedAtHash = head.hash;
  return { id, decide: ({ transaction }) => waitsFor(transaction, receiptsDiffer(blockNumber)) };
}
