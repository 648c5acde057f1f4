import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { NonceAnswer } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { max, min } from '../../core/records/bigints.js';
import { isOver } from '../../core/work/patience.js';
import type { DoubtedNonce } from './account-numbers.js';
import type { LaneContext } from './lane-context.js';
import { momentOf, waitedSince } from './moment.js';
import { paidBelow } from './paid-before.js';

/** An account's nonce as an endpoint shows it. */
export interface SeenNonce extends NonceAnswer {
  readonly next: bigint;
}

/**
 * The account's nonce at this head, by its number: gateways count their pool into `latest`. Nodes without that state can say that nonces of
 * ours are used, but not that higher ones are. An account that another node shows exists. If no node shows it, `another` says whether
 * another node confirms that; null: it does not answer.
 */
export async function nonceAt(
  { id, numbers }: LaneContext,
  sequence: Sequence,
  head: Head,
): Promise<SeenNonce | { readonly another: 'same' | null }> {
  let answer = await sequence.nextAt(id.account, head.number);
  if (answer.next === 'absent') {
    const another = await sequence.nextAt(id.account, head.number, answer).catch(nullIfUnavailable);
    if (another === null || another.next === 'absent') return { another: another === null ? null : 'same' };
    answer = another;
  }
  const { next } = answer;
  if (typeof next === 'bigint') return { ...answer, next };
  const latest = await sequence.nextOf(id.account);
  return { next: numbers.signed === 0n ? latest : min(latest, numbers.signed) };
}

/** Decides from which nonce on the lane signs, after an endpoint has shown this one. It is doubted until it is confirmed. */
export async function followNonce(lane: LaneContext, sequence: Sequence, head: Head, seen: SeenNonce): Promise<void> {
  if (lane.heads.settled === null && lane.numbers.signed === 0n) await believeFirst(lane, sequence, head, seen);
  else await followChain(lane, sequence, head, seen);
}

/**
 * A lane that never signed takes its first nonce from the chain: the lower of two answers, since a gap costs a self-transfer for each
 * nonce, unless several endpoints agree on the second one. If another endpoint is configured and does not answer, or has no state of this
 * head, the nonce counts as an increase from 0 that is to be confirmed. If no endpoint has that state, or another one does not show the
 * account yet, the newest state is read again; a high nonce that only one endpoint can have shown is to be confirmed too.
 */
async function believeFirst(lane: LaneContext, sequence: Sequence, head: Head, seen: SeenNonce): Promise<void> {
  const another = await sequence.nextAt(lane.id.account, head.number, seen).catch(nullIfUnavailable);
  if (typeof another?.next === 'bigint') {
    const first = another.isOfSeveral === true ? another.next : min(another.next, seen.next);
    // The only endpoint confirms a high nonce by another question. On Stellar an account's numbers begin at that of its first ledger.
    const isAlone = sequence.losesBlocks && first > maxJump && another.endpoint !== undefined && another.endpoint === seen.endpoint;
    await believeUnpaid(lane, sequence, head, { ...seen, next: isAlone ? min(await sequence.nextOf(lane.id.account), first) : first });
    return;
  }
  const isUnconfirmed = another === null || (another.next === 'pruned' && seen.endpoint !== undefined);
  if (isUnconfirmed && seen.next > 0n) {
    doubt(lane, head, seen, seen.next);
    return;
  }
  const first = min(await sequence.nextOf(lane.id.account), seen.next);
  if (first > maxJump && sequence.isAlone?.() === true) doubt(lane, head, seen, first);
  else await believeUnpaid(lane, sequence, head, { ...seen, next: first });
}

/**
 * Nothing takes a nonce if one of those before this one shows that the database has gone back to before the first signature. While
 * nodes do not say who used them, the nonce counts as an increase that is to be confirmed.
 */
async function believeUnpaid(lane: LaneContext, sequence: Sequence, head: Head, first: SeenNonce): Promise<void> {
  const answer = await paidBelow(lane, sequence, head, first.next);
  if (answer === 'unpaid') lane.numbers.believe(first.next);
  else if (answer !== 'paid') doubt(lane, head, first, first.next);
}

function doubt(lane: LaneContext, head: Head, { endpoint }: NonceAnswer, nonce: bigint): void {
  lane.numbers.doubt({ nonce, head, endpoint, since: momentOf(lane) });
}

/**
 * Follows a nonce that moved without us: a foreign transaction used the key, or a reorg removed such a transaction. One answer proves
 * nothing, so two heads must agree, and for an increase another node at the first of them; until then nothing takes a nonce. The lowest
 * increase counts, and the higher of two decreases: a nonce that is too low is refused, but one that is too high costs a self-transfer for
 * each nonce below it.
 */
async function followChain(lane: LaneContext, sequence: Sequence, head: Head, seen: SeenNonce): Promise<void> {
  const { numbers } = lane;
  const wanted = max(seen.next, numbers.signed);
  const { doubted } = numbers;
  if (wanted === numbers.next) {
    numbers.believe(wanted);
    return;
  }
  const isHigher = wanted > numbers.next;
  // Both answers of an increase are from the endpoint that the other one must not be.
  const isOthers = isHigher && doubted?.endpoint !== seen.endpoint;
  if (doubted === null || isOthers || doubted.nonce > numbers.next !== isHigher) {
    doubt(lane, head, seen, wanted);
    return;
  }
  if (doubted.head.hash === head.hash) return;
  const believed = isHigher ? await confirmed(lane, sequence, { doubted, head, seen, wanted }) : max(doubted.nonce, wanted);
  if (believed === 'contradicted') {
    // The lane signs on until the next head shows it again: a nonce that is too low is refused. The chain may also reach this nonce later,
    // and the old head would never show that.
    numbers.believe(numbers.next);
    return;
  }
  // What was signed meanwhile stays ours.
  if (believed === null || believed < numbers.signed) return;
  // Nothing takes a nonce meanwhile.
  const answer = isHigher ? await paidBelow(lane, sequence, head, believed) : 'unpaid';
  if (answer === 'paid' || answer === 'unproved' || (answer === 'unanswered' && !isOver(aloneFor, waitedSince(lane, doubted.since))))
    return;
  numbers.believe(believed);
  if (believed !== wanted) doubt(lane, head, seen, wanted);
}

/**
 * While no other node answers, or the others lack the state, or nodes do not say who used the nonces, the lane accepts an increase after
 * the same node has shown it for this number of heads and this long.
 */
const aloneFor = { heads: 8, ms: 60_000 };
/** A jump of the nonce that is higher needs the word of another endpoint, or the same one for longer. */
const maxJump = 64n;
const aloneForJump = { heads: 20, ms: 600_000 };

/** An increase of the nonce that two heads show. */
interface Increase {
  readonly doubted: DoubtedNonce;
  readonly head: Head;
  readonly seen: NonceAnswer;
  readonly wanted: bigint;
}

/**
 * How far another node confirms an increase; null: it is not confirmed yet. It may lag, so the lane asks it about the earlier of the two.
 * On a network that keeps only the newest state, the lane asks about that.
 */
async function confirmed(
  lane: LaneContext,
  sequence: Sequence,
  { doubted, head, seen, wanted }: Increase,
): Promise<bigint | 'contradicted' | null> {
  const at = (block: bigint) => sequence.nextAt(lane.id.account, block, seen).catch(nullIfUnavailable);
  const before = await at(doubted.head.number);
  const earlier = before?.next === 'pruned' ? await at(head.number) : before;
  const another = earlier?.next;
  const believed = min(doubted.nonce, wanted);
  // A first nonce by its block's number is confirmed by another question.
  const isDoubtful = lane.numbers.signed > 0n || (another === 'pruned' && seen.endpoint === undefined);
  const isJump = sequence.losesBlocks && isDoubtful && believed - lane.numbers.next > maxJump;
  if (another === undefined || another === 'pruned' || (isJump && earlier?.endpoint === seen.endpoint)) {
    return isOver(isJump ? aloneForJump : aloneFor, waitedSince(lane, doubted.since)) ? believed : null;
  }
  if (typeof another !== 'bigint') return null;
  return another <= lane.numbers.next ? 'contradicted' : min(another, doubted.nonce, wanted);
}
