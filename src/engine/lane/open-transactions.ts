import type { Room } from '../../core/ports/lanes.js';
import {
  awaitsApproval,
  type Content,
  isFinal,
  isSigned,
  type OpenTransaction,
  type TransactionStatus,
} from '../../core/records/transaction.js';
import { readyAtMs } from '../../core/transaction/approval.js';
import { speedOf } from '../../core/transaction/delays.js';
import { type AttemptStates, createAttemptStates } from './attempt-states.js';
import { createInFlightTotals, type InFlightTotals, textLength } from './in-flight-totals.js';
import { createSlotIndex } from './slot-index.js';
import { forgetRefusals, type Tracked, type Waiting } from './tracked.js';

/** The state of a lane, for metrics. */
export interface LaneFigures {
  readonly relayerId: string;
  /** Open transactions that are not signed yet. */
  readonly waiting: number;
  /** Open transactions that are signed. */
  readonly inFlight: number;
  /** How many with a nonce may be in flight now; null: transactions have none. */
  readonly inFlightLimit: number | null;
  /** Open transactions by status. */
  readonly open: ReadonlyMap<TransactionStatus, number>;
  /** When the oldest open transaction was accepted, or had its last approval; null: none is open that can be sent. */
  readonly oldestOpenMs: number | null;
}

/**
 * The index of a lane's open transactions: unsigned ones by acceptance, those with a nonce by nonce, and unsequenced ones. It mirrors the
 * store: every change is committed first. Each operation costs the same with ten and with ten thousand of them, except the iterations.
 */
export interface OpenTransactions
  extends Pick<AttemptStates, 'stateOf' | 'untaken' | 'noteTaken' | 'forgetTaken' | 'noteWaiting'>,
    Pick<InFlightTotals, 'reserved' | 'heldCharacters'> {
  /** Undefined also if its content stays in the store. */
  get(id: string): OpenTransaction | undefined;
  /** The record of an open transaction; undefined: it is not open. */
  tracked(id: string): Tracked | undefined;
  /** The ids of everything that is open. */
  ids(): Iterable<string>;
  /** Takes in the current state of a transaction, and drops a final one. */
  put(open: OpenTransaction): void;
  drop(id: string): void;
  /** Not signed yet, oldest first. */
  waiting(): Iterable<Tracked>;
  waitingCount(): number;
  /** The same, by what they wait for. */
  waitingByNeed(): Room;
  atNonce(nonce: bigint): OpenTransaction | undefined;
  /** With a nonce, lowest first. */
  slotted(): Iterable<OpenTransaction>;
  slottedCount(): number;
  /** With a nonce and not known to be in a block, lowest first. */
  inFlight(): Iterable<OpenTransaction>;
  inFlightCount(): number;
  /** The number of those below this nonce. */
  inFlightBelow(nonce: bigint): number;
  /**
   * In flight from `chainNonce` on, lowest first. A lower nonce is used on chain: neither a price nor a broadcast helps there.
   */
  minable(chainNonce: bigint): Iterable<OpenTransaction>;
  /** Signed, without a nonce. */
  unsequenced(): Iterable<OpenTransaction>;
  unsequencedCount(): number;
  /** The number of unsequenced ones that are not known to be in a block. */
  unminedUnsequencedCount(): number;
  /** Walks over everything that is open. */
  figures(): Omit<LaneFigures, 'relayerId' | 'inFlightLimit'>;
}

/** The figures of a lane without open transactions. */
export const nothingOpen: Omit<LaneFigures, 'relayerId' | 'inFlightLimit'> = {
  waiting: 0,
  inFlight: 0,
  open: new Map(),
  oldestOpenMs: null,
};

/** Content of more characters stays in the store until it is signed: thousands of transactions may wait. */
const maxWaitingCharacters = 2_048;

/** Makes an empty index. `isUnsequenced` and `soleUseOf`: see `Chain`. */
export function createOpenTransactions(
  isUnsequenced: (content: Content) => boolean,
  soleUseOf: (content: Content) => string | null = () => null,
): OpenTransactions {
  const records = new Map<string, Tracked>();
  const waiting = new Map<string, Tracked>();
  /** The ids of transactions in `waiting` that wait for approvals. */
  const awaiting = new Set<string>();
  const slots = createSlotIndex<Tracked>();
  const unsequenced = new Map<string, Tracked>();
  const slotted = () => openOf(slots.walk());
  const inFlight = () => minedNowhere(slotted());
  const attempts = createAttemptStates(records);
  const totals = createInFlightTotals(inFlight);

  /** Takes a record out of the index that holds it. */
  function remove(record: Tracked): void {
    awaiting.delete(record.transaction.id);
    if (waiting.delete(record.transaction.id) || record.open === null) return;
    const { id, nonce } = record.open.transaction;
    if (unsequenced.delete(id)) totals.remove(record.open);
    if (nonce !== null && slots.free(nonce, record)) totals.remove(record.open);
  }

  function add(record: Tracked, open: OpenTransaction, hadNonce: boolean): void {
    const { id, nonce } = open.transaction;
    if (nonce !== null) {
      slots.put(nonce, record);
      totals.add(open);
    } else if (isSigned(open.transaction)) {
      unsequenced.set(id, record);
      totals.add(open);
    } else if (hadNonce) {
      // It lost its slot to another sender, and comes before what was accepted later: ids are ordered by time.
      const inOrder = [...waiting.values(), record].sort((a, b) => (a.transaction.id < b.transaction.id ? -1 : 1));
      waiting.clear();
      for (const one of inOrder) waiting.set(one.transaction.id, one);
    } else {
      waiting.set(id, record);
    }
  }

  function noteNeed({ transaction }: Tracked): void {
    if (waiting.has(transaction.id) && awaitsApproval(transaction)) awaiting.add(transaction.id);
    else awaiting.delete(transaction.id);
  }

  function drop(id: string): void {
    const record = records.get(id);
    if (record === undefined) return;
    remove(record);
    records.delete(id);
    attempts.drop(id);
  }

  function waitingOf({ transaction }: OpenTransaction): Waiting {
    const { id, revision, status, statusReason, intent, mined, validUntilMs, createdAtMs, content, delays, approval } = transaction;
    return {
      id,
      revision,
      status,
      statusReason,
      intent,
      mined,
      validUntilMs,
      createdAtMs,
      delays,
      approval,
      speed: speedOf(content),
      isUnsequenced: isUnsequenced(content),
      soleUse: soleUseOf(content),
    };
  }

  return {
    get: (id) => records.get(id)?.open ?? undefined,
    tracked: (id) => records.get(id),
    ids: () => records.keys(),
    stateOf: attempts.stateOf,
    put(open) {
      const { id, status } = open.transaction;
      if (isFinal(status)) {
        drop(id);
        return;
      }
      const before = records.get(id);
      if (before === undefined) {
        const record = newRecord(keptOf(open), waitingOf(open));
        records.set(id, record);
        add(record, open, false);
        noteNeed(record);
        attempts.noteChange(record);
        return;
      }
      const nonceBefore = before.open?.transaction.nonce ?? null;
      const staysWaiting = waiting.has(id) && open.transaction.nonce === null && !isSigned(open.transaction);
      if (!staysWaiting) remove(before);
      // Nothing is known yet about the use of a new nonce.
      if (nonceBefore !== open.transaction.nonce) before.unexplained = before.looks = null;
      const { content, queued } = before.open?.transaction ?? open.transaction;
      if (content !== open.transaction.content || queued !== open.transaction.queued) forgetRefusals(before);
      before.open = keptOf(open);
      before.transaction = waitingOf(open);
      if (!staysWaiting) add(before, open, nonceBefore !== null);
      noteNeed(before);
      attempts.noteChange(before);
    },
    drop,
    waiting: () => waiting.values(),
    waitingCount: () => waiting.size,
    waitingByNeed: () => ({ toSign: waiting.size - awaiting.size, toApprove: awaiting.size }),
    atNonce: (nonce) => slots.at(nonce)?.open ?? undefined,
    slotted,
    slottedCount: slots.size,
    inFlight,
    inFlightCount: totals.count,
    inFlightBelow: totals.countBelow,
    minable: (chainNonce) => fromNonce(inFlight(), chainNonce),
    unsequenced: () => openOf(unsequenced.values()),
    unsequencedCount: () => unsequenced.size,
    unminedUnsequencedCount: totals.unsequencedCount,
    reserved: totals.reserved,
    heldCharacters: totals.heldCharacters,
    untaken: attempts.untaken,
    noteTaken: attempts.noteTaken,
    forgetTaken: attempts.forgetTaken,
    noteWaiting: attempts.noteWaiting,
    figures() {
      const open = new Map<TransactionStatus, number>();
      let oldestOpenMs: number | null = null;
      for (const { transaction } of records.values()) {
        open.set(transaction.status, (open.get(transaction.status) ?? 0) + 1);
        if (awaitsApproval(transaction)) continue;
        const readyMs = readyAtMs(transaction);
        if (oldestOpenMs === null || readyMs < oldestOpenMs) oldestOpenMs = readyMs;
      }
      return { waiting: waiting.size, inFlight: slots.size() + unsequenced.size, open, oldestOpenMs };
    },
  };
}

// Not inside of an index: V8 keeps a prototype and hidden classes for each generator function that was called, which are kilobytes for each
// idle lane.

function* openOf(some: Iterable<Tracked>): Generator<OpenTransaction> {
  for (const { open } of some) if (open !== null) yield open;
}

function* minedNowhere(some: Iterable<OpenTransaction>): Generator<OpenTransaction> {
  for (const open of some) if (open.transaction.mined === null) yield open;
}

function* fromNonce(some: Iterable<OpenTransaction>, least: bigint): Generator<OpenTransaction> {
  for (const open of some) if (open.transaction.nonce !== null && open.transaction.nonce >= least) yield open;
}

/** Returns the transaction if it stays in memory as a whole: if it is signed, or small. */
function keptOf(open: OpenTransaction): OpenTransaction | null {
  return isSigned(open.transaction) || textLength(open.transaction.content) <= maxWaitingCharacters ? open : null;
}

function newRecord(open: Tracked['open'], transaction: Waiting): Tracked {
  return {
    open,
    transaction,
    notBeforeMs: 0,
    refusals: 0,
    isHeldBack: false,
    forbidden: null,
    drafting: null,
    rejected: null,
    lost: null,
    unexplained: null,
    unread: null,
    undecidedAtHead: null,
    disputedAtHash: null,
    looks: null,
    attempts: new Map(),
  };
}
