import { type Lane, type LaneSlot, LaneSlotKind, type LaneTransaction } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { bidOf, isSelfTransfer } from './attempts.js';

/** The most numbers before the chain's that the page shows: the recent past of the lane. */
const historyLength = 200n;

/** Above every nonce that an account reaches, and below every sequence number of Stellar, which begins at a ledger number times 2^32. */
const largestNonce = 1_000_000_000n;

/** The most numbers that the service returns at once. */
export const slotsAtOnce = 200;

/** How a column looks and what it means. */
export type ColumnKind = 'waiting' | 'open' | 'mined' | 'confirmed' | 'failed' | 'withdrawn' | 'gap' | 'other' | 'unknown';

/** Words for the kinds. */
export const kindTexts: Readonly<Record<ColumnKind, string>> = {
  waiting: 'no RPC node has it yet',
  open: 'in flight',
  mined: 'mined, not final',
  confirmed: 'confirmed',
  failed: 'failed',
  withdrawn: 'canceled or expired',
  gap: 'gap',
  other: 'used by others',
  unknown: 'loading',
};

/** Returns the kind of a slot. Undefined: the slot is not loaded yet. */
export function kindOf(slot: LaneSlot | undefined): ColumnKind {
  if (slot === undefined) return 'unknown';
  if (slot.kind === LaneSlotKind.GAP) return 'gap';
  if (slot.kind === LaneSlotKind.OTHER) return 'other';
  switch (slot.transaction?.status) {
    case TransactionStatus.PENDING:
    case TransactionStatus.SENT:
      return 'waiting';
    case TransactionStatus.MINED:
      return 'mined';
    case TransactionStatus.CONFIRMED:
      return 'confirmed';
    case TransactionStatus.FAILED:
      return 'failed';
    case TransactionStatus.CANCELED:
    case TransactionStatus.EXPIRED:
      return 'withdrawn';
    case undefined:
      return 'unknown';
    default:
      return 'open';
  }
}

/** A part of a column: one attempt, from the bid of the one below to its own. */
export interface BidBar {
  readonly version: number;
  readonly bid: bigint;
  /** Where the bar begins: the next lower bid. Null: at the bottom. */
  readonly above: bigint | null;
  readonly isMined: boolean;
  readonly isNewest: boolean;
  readonly isSelfTransfer: boolean;
}

/** Returns the bars of a transaction, lowest bid first. Of attempts with the same bid the mined one, otherwise the newest, is shown. */
export function barsOf(transaction: LaneTransaction | undefined): readonly BidBar[] {
  const attempts = transaction?.attempts ?? [];
  const newest = attempts.at(-1)?.version;
  const byBid = new Map<bigint, (typeof attempts)[number]>();
  for (const attempt of attempts) {
    const bid = bidOf(attempt);
    if (bid !== null && byBid.get(bid)?.isMined !== true) byBid.set(bid, attempt);
  }
  const ordered = [...byBid].sort(([a], [b]) => (a < b ? -1 : 1));
  return ordered.map(([bid, attempt], index) => ({
    version: attempt.version,
    bid,
    above: ordered[index - 1]?.[0] ?? null,
    isMined: attempt.isMined,
    isNewest: attempt.version === newest,
    isSelfTransfer: isSelfTransfer(attempt),
  }));
}

/** The numbers that the page shows. */
export interface LaneSpan {
  /** The first number. */
  readonly from: bigint;
  /** The number after the last one. */
  readonly to: bigint;
}

/**
 * Returns the numbers to show: the recent past, and all that are taken. It keeps its beginning, so that nothing moves on the screen when
 * the chain does. Null: the lane has no numbers.
 */
export function spanOf(lane: Pick<Lane, 'chainNumber' | 'nextNumber' | 'slots'>, before: LaneSpan | null): LaneSpan | null {
  const first = lane.slots[0];
  const last = lane.slots.at(-1);
  const chain = lane.chainNumber === undefined ? undefined : BigInt(lane.chainNumber);
  const ends = [
    ...(before === null ? [] : [before.to]),
    ...(lane.nextNumber === undefined ? [] : [BigInt(lane.nextNumber)]),
    ...(last === undefined ? [] : [BigInt(last.number) + 1n]),
    ...(chain === undefined ? [] : [chain]),
  ];
  if (ends.length === 0) return null;
  const to = ends.reduce((a, b) => (a > b ? a : b));
  if (before !== null) return { from: before.from, to };
  const present = [first === undefined ? chain : BigInt(first.number)].filter((number) => number !== undefined);
  const lowest = present.reduce((a, b) => (a < b ? a : b), to);
  // Sequence numbers of Stellar begin at the ledger of the account's creation, so most of those before belong to no account: only what the
  // service returned counts.
  const past = lowest > largestNonce ? 0n : historyLength;
  return { from: lowest > past ? lowest - past : 0n, to };
}

/** The tone of a verdict. */
export type VerdictTone = 'good' | 'busy' | 'warn' | 'bad';

/** What the lane waits for, in words. */
export interface Verdict {
  readonly tone: VerdictTone;
  /** One short sentence. */
  readonly headline: string;
  /** More about it. Null: there is nothing to add. */
  readonly detail: string | null;
  /** The transaction that holds up the others. Null: none does. */
  readonly transactionId: string | null;
}

/** What a verdict is made from, besides the lane. */
export interface Surroundings {
  readonly isPaused: boolean;
  readonly disabledReason: string | undefined;
  /** The first slot that the chain has not used, if the page has loaded it. */
  readonly head: LaneSlot | undefined;
  /** The number of transactions in flight. */
  readonly inFlight: number;
  /** What numbers are called: `nonce`, or `sequence number`. */
  readonly numberWord: string;
}

/** Says what the lane waits for. The first sentence that holds names what an operator must act on. */
export function verdictOf(lane: Lane, { isPaused, disabledReason, head, inFlight, numberWord }: Surroundings): Verdict {
  const holdsNothing = { transactionId: null };
  if (disabledReason !== undefined) {
    return { tone: 'bad', headline: 'The service has disabled this relayer.', detail: disabledReason, ...holdsNothing };
  }
  if (lane.problem !== undefined) return { tone: 'bad', headline: 'No RPC node can be used.', detail: lane.problem, ...holdsNothing };
  const open = inFlight + lane.waitingCount;
  if (open === 0) {
    return isPaused
      ? { tone: 'warn', headline: 'Paused. Nothing is open.', detail: null, ...holdsNothing }
      : { tone: 'good', headline: 'Idle: every transaction is final.', detail: null, ...holdsNothing };
  }
  if (head?.kind === LaneSlotKind.GAP) {
    const headline = `Nothing uses ${numberWord} ${head.number}. ${counted(inFlight, 'transaction')} after it ${inFlight === 1 ? 'waits' : 'wait'}.`;
    return { tone: 'bad', headline, detail: 'The service fills the gap by a self-transfer.', ...holdsNothing };
  }
  if (isPaused && lane.waitingCount > 0) {
    const detail = 'A paused relayer signs none of those that wait. Transactions in flight continue.';
    return { tone: 'warn', headline: `Paused with ${counted(lane.waitingCount, 'waiting transaction')}.`, detail, ...holdsNothing };
  }
  const stuck = head?.transaction;
  if (stuck !== undefined && head !== undefined && head.kind === LaneSlotKind.OPEN && stuck.status !== TransactionStatus.MINED) {
    const after = lane.nextNumber === undefined ? 0 : Number(BigInt(lane.nextNumber) - BigInt(head.number)) - 1;
    const behind = Math.max(0, after) + lane.waitingCount;
    const bid = stuck.attempts
      .map(bidOf)
      .filter((price) => price !== null)
      .reduce<bigint | null>((a, b) => (a === null || b > a ? b : a), null);
    const isBelowBaseFee = bid !== null && lane.baseFee !== undefined && bid < BigInt(lane.baseFee);
    const holds =
      behind === 0
        ? 'is the only open transaction'
        : `is next; ${counted(behind, 'transaction')} ${behind === 1 ? 'waits' : 'wait'} behind it`;
    return {
      tone: isBelowBaseFee ? 'bad' : 'busy',
      headline: `${capitalized(numberWord)} ${head.number} ${holds}.`,
      detail: stuck.statusReason ?? null,
      transactionId: stuck.id,
    };
  }
  const first = lane.waiting[0];
  if (inFlight === 0 && first !== undefined) {
    return {
      tone: 'warn',
      headline: `${counted(lane.waitingCount, 'transaction')} ${lane.waitingCount === 1 ? 'is' : 'are'} not signed yet.`,
      detail: first.statusReason ?? null,
      transactionId: first.id,
    };
  }
  return {
    tone: 'busy',
    headline: `${counted(open, 'transaction')} ${open === 1 ? 'is' : 'are'} open.`,
    detail: first?.statusReason ?? null,
    transactionId: first?.id ?? null,
  };
}

/** Begins a text with a capital letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Writes a number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
