import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import { isRefusal, type Refusal } from '../../../core/ports/chain/drafts.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { NonceAnswer } from '../../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../../core/ports/chain/slots.js';
import { type Attempt, isFinal } from '../../../core/records/transaction.js';
import { signed, slotTerms } from '../../../core/transaction/lifecycle.js';
import { newTransaction } from '../../../core/transaction/send-transaction.js';
import { signAttempt } from '../../../core/transaction/sign-attempt.js';
import { emptyNonces } from '../account-numbers.js';
import { commitMoves } from '../commit-moves.js';
import type { LaneContext } from '../lane-context.js';

/** The number of heads between rebroadcasts of final transactions doubles at most this number of times. */
const maxDoublings = 5;

/** A nonce that nothing uses, and the attempts ever signed for it. */
interface Gap {
  readonly nonce: bigint;
  readonly attempts: readonly Attempt[];
}

/** The lowest nonce whose final transaction the chain lost, the looks at it, and the `Heads.count` at the next one. */
interface LostFinals {
  readonly nonce: bigint | null;
  readonly looks: number;
  readonly nextAtHead: number;
}

/** More gaps than this were not made by a reorg: the chain was reset, or the node is wrong. They are not filled. */
const maxGaps = 64;
/** Nonces that are looked at per head: among the gaps may be those of final transactions, which do not count as gaps. */
const maxLooks = 1_024;

/**
 * Makes the task that fills gaps: nonces between the chain's and the highest one that we signed which no open transaction has, behind which
 * nothing is mined. A gap appears if the chain lost blocks: ours, or that of a foreign transaction that had used our key.
 *
 * If one of our transactions became final at such a nonce, its stored attempt is broadcast again: nothing confirmed is ever signed again.
 * Otherwise a self-transfer takes the nonce, as a transaction of its own, and outbids any attempt of ours that a node may still hold there.
 * Throws `NODE_UNAVAILABLE`.
 */
export function createGapFiller(lane: LaneContext, sequence: Sequence): (head: Head) => Promise<void> {
  /** The head at which each empty nonce was first seen. */
  const firstSeen = new Map<bigint, string>();

  /** One answer proves nothing: a node behind the others shows a used nonce as free. */
  async function isGap(head: Head, nonce: bigint, nextAtHead: () => ReturnType<Sequence['nextAt']>): Promise<boolean> {
    const firstSeenAt = firstSeen.get(nonce);
    if (firstSeenAt === undefined) firstSeen.set(nonce, head.hash);
    if (firstSeenAt === undefined || firstSeenAt === head.hash) return false;
    const { next: used } = await nextAtHead();
    return used === 'pruned' || (used !== 'absent' && used <= nonce);
  }

  let lookedAtHash: string | null = null;
  /** The obstacle in the log; null: none since the last gap that was filled. */
  let reported: Refusal['refused'] | null = null;
  /** The final transactions that the chain lost. Nodes may accept and drop them again. */
  let lost: LostFinals | null = null;

  /** Fills gaps, lowest first. The obstacle of one is that of all above it. */
  async function fill(gaps: readonly Gap[]): Promise<void> {
    for (const gap of gaps) {
      const refusal = await fillGap(lane, sequence, gap);
      if (refusal === null) {
        reported = null;
        continue;
      }
      if (reported !== refusal.refused) {
        const facts = { relayer: lane.relayer().id, nonce: gap.nonce, gaps: gaps.length, detail: refusal.sentence };
        lane.deps.log.warn(facts, 'a nonce gap cannot be filled yet; retrying');
      }
      reported = refusal.refused;
      return;
    }
  }

  /** Rebroadcasts final transactions that the chain lost, after more and more heads while it does not mine them. */
  async function rebroadcast(head: Head, finals: readonly Attempt[]): Promise<void> {
    const [lowest] = finals;
    if (lowest === undefined) {
      lost = null;
      return;
    }
    const { count } = lane.heads;
    const isReported = lost !== null;
    const known = lost?.nonce === lowest.nonce ? lost : null;
    if (known !== null && count < known.nextAtHead) return;
    const looks = (known?.looks ?? 0) + 1;
    lost = { nonce: lowest.nonce, looks, nextAtHead: count + 2 ** Math.min(looks - 1, maxDoublings) };
    const outcomes = await lane.chain.broadcastAll(finals.map(({ raw }) => raw));
    const taken = outcomes.filter(({ kind }) => kind === 'accepted').length;
    const facts = { relayer: lane.relayer().id, head: head.number, finals: finals.length, taken };
    if (!isReported) lane.deps.log.warn(facts, 'the chain lost blocks of final transactions: rebroadcasting them');
  }

  return async (head) => {
    if (lookedAtHash === head.hash) return;
    const { transactions } = lane;
    const empty = emptyNonces(lane.numbers.onChain, lane.numbers.signed, (nonce) => transactions.atNonce(nonce) !== undefined, maxLooks);
    const stillEmpty = new Set(empty);
    for (const nonce of firstSeen.keys()) if (!stillEmpty.has(nonce)) firstSeen.delete(nonce);
    const finals: Attempt[] = [];
    const gaps: Gap[] = [];
    /** Gaps, and nonces that may be gaps. */
    let unused = 0;
    let asked: ReturnType<Sequence['nextAt']> | null = null;
    const nextAtHead = () => {
      asked ??= sequence.nextAt(lane.id.account, head.number);
      return asked;
    };
    let second: Promise<NonceAnswer | null> | null = null;
    const nextByOther = () => {
      second ??= sequence.nextAt(lane.id.account, head.number, lane.numbers.shownBy).catch(nullIfUnavailable);
      return second;
    };
    /** Several endpoints agree that it is used, or the chain proves it. */
    const isUsedBySeveral = async (nonce: bigint): Promise<boolean> => {
      const { next, isOfSeveral } = (await nextByOther()) ?? {};
      return isOfSeveral === true && typeof next === 'bigint' && next > nonce;
    };
    for (const nonce of empty) {
      const { mined, versions } = await lane.deps.store.read.slot(lane.id, nonce);
      if (mined !== null) finals.push(mined);
      if (mined !== null || (await isUsed(lane, sequence, nonce, versions))) continue;
      if ((await isGap(head, nonce, nextAtHead)) && !(await isUsedBySeveral(nonce))) gaps.push({ nonce, attempts: versions });
      unused += 1;
      if (unused > maxGaps) break;
    }
    if (unused > maxGaps && !(await isUsedBySeveral(lane.numbers.onChain))) {
      const { slot } = slotTerms({ content: sequence.fillerOf(lane.id.account) });
      const numbers = `its ${slot} for the account is ${lane.numbers.onChain - 1n}, but the service has signed transactions up to ${lane.numbers.signed - 1n}`;
      const sentence = `the chain was reset, or an RPC node is wrong: ${numbers}; nothing is sent until they agree`;
      const another = (await nextByOther())?.next;
      const shows = typeof another !== 'bigint' ? null : another > lane.numbers.onChain ? 'different' : 'same';
      await lane.doubts.note({ doubt: 'reset', head, sentence, another: shows });
    } else {
      await lane.doubts.dismiss('reset');
      await fill(gaps);
      await rebroadcast(head, finals);
    }
    lookedAtHash = head.hash;
  };
}

/**
 * True if an open transaction has the nonce after all: it was committed without an answer, so the index did not know it. Also if one of
 * ours has left the slot, because a foreign transaction was found there, on a chain that loses no blocks: then the node that shows the
 * nonce as free lags.
 */
async function isUsed(lane: LaneContext, { losesBlocks }: Sequence, nonce: bigint, versions: readonly Attempt[]): Promise<boolean> {
  let isDisplaced = false;
  for (const id of new Set(versions.map(({ transactionId }) => transactionId))) {
    const transaction = (await lane.deps.store.read.transaction(id))?.transaction;
    if (transaction === undefined) continue;
    const isHere = transaction.nonce === nonce;
    if (isHere && !isFinal(transaction.status)) await lane.records.reload([id]);
    // If it is unresolvable, the transaction that used its slot is unknown.
    else if (!isHere || transaction.failureReason !== 'unresolvable') isDisplaced = true;
  }
  return (isDisplaced && !losesBlocks) || lane.transactions.atNonce(nonce) !== undefined;
}

/** Fills a gap; or returns why that is impossible now. */
async function fillGap(lane: LaneContext, sequence: Sequence, { nonce, attempts: outbids }: Gap): Promise<Refusal | null> {
  const { deps, id } = lane;
  const relayer = lane.relayer();
  const draft = await lane.chain.draft({ relayer, content: 'filler', outbids, validUntilMs: null });
  if (isRefusal(draft)) return draft;
  const content = sequence.fillerOf(id.account);
  const statusReason = `fills the gap at ${slotTerms({ content }).slot} ${nonce}`;
  const unset = { validUntilMs: null, traceParent: null, tags: null, approval: null };
  const transaction = newTransaction(deps, relayer, { content, statusReason, ...unset });
  // Its purpose is a cancel: if a foreign transaction uses the nonce after all, nothing is left to send.
  const first = await signAttempt(deps, relayer, { transaction, attempts: [] }, { draft, nonce, purpose: 'cancel' });
  // Versions count within a slot, and other transactions of ours may have attempts there.
  const newAttempt = { ...first, version: outbids.reduce((highest, { version }) => Math.max(highest, version), 0) + 1 };
  const before = { transaction, attempts: [] };
  const move = { steps: [signed(transaction, newAttempt)] as const, newAttempt };
  const { signed: highest } = lane.numbers;
  await lane.numbers.take(highest, highest, (changes) => commitMoves(lane, [{ before, move, isNew: true }], changes));
  return null;
}
