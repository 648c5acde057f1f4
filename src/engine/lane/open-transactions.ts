import { maxCost } from '../../core/fees/price.js';
import {
  type Attempt,
  type Content,
  isFinal,
  isSigned,
  type OpenTransaction,
  type TransactionStatus,
} from '../../core/records/transaction.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import { createSlotIndex } from './slot-index.js';
import { type AttemptState, forgetRefusals, type Tracked, type Waiting } from './tracked.js';

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
  /** When the oldest open transaction was accepted; null: none is open. */
  readonly oldestOpenMs: number | null;
}

/**
 * The index of a lane's open transactions: unsigned ones by acceptance, those with a nonce by nonce, and unsequenced ones. It mirrors the
 * store: every change is committed first. Each operation costs the same with ten and with ten thousand of them, except the iterations.
 */
export interface OpenTransactions {
  /** Undefined also if its content stays in the store. */
  get(id: string): OpenTransaction | undefined;
  /** The record of an open transaction; undefined: it is not open. */
  tracked(id: string): Tracked | undefined;
  /** The ids of everything that is open. */
  ids(): Iterable<string>;
  /** Returns the state of this attempt; undefined: its transaction is not open. */
  stateOf(attempt: Pick<Attempt, 'transactionId' | 'hash'>): AttemptState | undefined;
  /** Takes in the current state of a transaction, and drops a final one. */
  put(open: OpenTransaction): void;
  drop(id: string): void;
  /** Not signed yet, oldest first. */
  waiting(): Iterable<Tracked>;
  waitingCount(): number;
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
  /** The most that everything in flight can cost, in the network's smallest unit. */
  reserved(): bigint;
  /** The characters of content and signed bytes in memory of everything that is signed. */
  heldCharacters(): number;
  /** Those whose live attempt has to be broadcast: no node has accepted it. */
  untaken(): Iterable<OpenTransaction>;
  /** A node has this attempt. */
  noteTaken(attempt: Attempt, nowMs: number): void;
  /** No node is known to have any attempt of this transaction any more. */
  forgetTaken(open: OpenTransaction): void;
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
  const slots = createSlotIndex<Tracked>();
  const unsequenced = new Map<string, Tracked>();
  const untaken = new Set<string>();
  let inFlightCount = 0;
  /** Each change of what is in flight makes the count below a nonce outdated. */
  let countsBelow = new Map<bigint, number>();
  let reserved = 0n;
  let held = 0;

  /** Adds (1) or subtracts (-1) a signed transaction that is in no block. */
  function count(open: OpenTransaction, sign: 1 | -1): void {
    held += sign * charactersOf(open);
    if (countsBelow.size > 0) countsBelow = new Map();
    if (open.transaction.mined !== null) return;
    if (open.transaction.nonce !== null) inFlightCount += sign;
    reserved += BigInt(sign) * highestCost(open);
  }

  /** Takes a record out of the index that holds it. */
  function remove(record: Tracked): void {
    if (waiting.delete(record.transaction.id) || record.open === null) return;
    const { id, nonce } = record.open.transaction;
    if (unsequenced.delete(id)) count(record.open, -1);
    if (nonce !== null && slots.free(nonce, record)) count(record.open, -1);
  }

  function add(record: Tracked, open: OpenTransaction, hadNonce: boolean): void {
    const { id, nonce } = open.transaction;
    if (nonce !== null) {
      slots.put(nonce, record);
      count(open, 1);
    } else if (isSigned(open.transaction)) {
      unsequenced.set(id, record);
      count(open, 1);
    } else if (hadNonce) {
      // It lost its slot to another sender, and comes before what was accepted later: ids are ordered by time.
      const inOrder = [...waiting.values(), record].sort((a, b) => (a.transaction.id < b.transaction.id ? -1 : 1));
      waiting.clear();
      for (const one of inOrder) waiting.set(one.transaction.id, one);
    } else {
      waiting.set(id, record);
    }
  }

  function noteUntaken({ transaction: { id }, open, attempts }: Tracked): void {
    if (open === null) {
      untaken.delete(id);
      return;
    }
    const { transaction } = open;
    const live = shownAttempt(transaction, open.attempts);
    const isInFlight = isSigned(transaction) && transaction.mined === null;
    // An unsequenced attempt is sent only while it is wanted: nothing could outbid it in time.
    const isWanted = transaction.nonce !== null || (transaction.intent === 'content' && transaction.queued === null);
    if (isInFlight && isWanted && live !== null && attempts.get(live.hash)?.takenAtMs == null) untaken.add(id);
    else untaken.delete(id);
  }

  function drop(id: string): void {
    const record = records.get(id);
    if (record === undefined) return;
    remove(record);
    records.delete(id);
    untaken.delete(id);
  }

  function waitingOf({ transaction }: OpenTransaction): Waiting {
    const { id, revision, status, statusReason, intent, mined, validUntilMs, createdAtMs, content } = transaction;
    return {
      id,
      revision,
      status,
      statusReason,
      intent,
      mined,
      validUntilMs,
      createdAtMs,
      isUnsequenced: isUnsequenced(content),
      soleUse: soleUseOf(content),
    };
  }

  function stateOf({ transactionId, hash }: Pick<Attempt, 'transactionId' | 'hash'>): AttemptState | undefined {
    const record = records.get(transactionId);
    if (record === undefined) return undefined;
    const known = record.attempts.get(hash);
    if (known !== undefined) return known;
    const state: AttemptState = {
      takenAtMs: null,
      failedAtMs: null,
      isUnderpriced: false,
      wasTaken: false,
      refusals: 0,
      obstacle: null,
      lacksFunds: false,
      isKnownAgain: false,
      isDead: false,
      waitingSinceBlock: null,
      waitingSinceMs: 0,
    };
    record.attempts.set(hash, state);
    return state;
  }

  const slotted = () => openOf(slots.walk());
  const inFlight = () => minedNowhere(slotted());

  return {
    get: (id) => records.get(id)?.open ?? undefined,
    tracked: (id) => records.get(id),
    ids: () => records.keys(),
    stateOf,
    put(open) {
      const { id, status } = open.transaction;
      if (isFinal(status)) {
        drop(id);
        return;
      }
      const before = records.get(id);
      if (before === undefined) {
        const record = {
          open: keptOf(open),
          transaction: waitingOf(open),
          notBeforeMs: 0,
          refusals: 0,
          isHeldBack: false,
          forbidden: null,
          drafting: null,
          rejected: null,
          lost: null,
          unexplained: null,
          looks: null,
          attempts: new Map(),
        };
        records.set(id, record);
        add(record, open, false);
        noteUntaken(record);
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
      noteUntaken(before);
    },
    drop,
    waiting: () => waiting.values(),
    waitingCount: () => waiting.size,
    atNonce: (nonce) => slots.at(nonce)?.open ?? undefined,
    slotted,
    slottedCount: slots.size,
    inFlight,
    inFlightCount: () => inFlightCount,
    inFlightBelow(nonce) {
      const known = countsBelow.get(nonce);
      if (known !== undefined) return known;
      let below = 0;
      for (const { transaction } of inFlight()) {
        if (transaction.nonce === null || transaction.nonce >= nonce) break;
        below += 1;
      }
      countsBelow.set(nonce, below);
      return below;
    },
    minable: (chainNonce) => fromNonce(inFlight(), chainNonce),
    unsequenced: () => openOf(unsequenced.values()),
    unsequencedCount: () => unsequenced.size,
    reserved: () => reserved,
    heldCharacters: () => held,
    untaken: () => openWith(untaken, records),
    noteTaken(attempt, nowMs) {
      const state = stateOf(attempt);
      const record = records.get(attempt.transactionId);
      if (state === undefined || record === undefined) return;
      state.takenAtMs = nowMs;
      state.failedAtMs = null;
      state.wasTaken = true;
      state.refusals = 0;
      state.obstacle = null;
      state.lacksFunds = false;
      // A newer attempt may have become the live one meanwhile.
      noteUntaken(record);
    },
    forgetTaken({ transaction }) {
      const record = records.get(transaction.id);
      if (record === undefined) return;
      for (const state of record.attempts.values()) state.takenAtMs = null;
      noteUntaken(record);
    },
    figures() {
      const open = new Map<TransactionStatus, number>();
      let oldestOpenMs: number | null = null;
      for (const { transaction } of records.values()) {
        open.set(transaction.status, (open.get(transaction.status) ?? 0) + 1);
        if (oldestOpenMs === null || transaction.createdAtMs < oldestOpenMs) oldestOpenMs = transaction.createdAtMs;
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

function* openWith(ids: Iterable<string>, records: ReadonlyMap<string, Tracked>): Generator<OpenTransaction> {
  for (const id of ids) {
    const open = records.get(id)?.open;
    if (open != null) yield open;
  }
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

/** Returns the number of characters in the texts of a value. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + textLength(part), 0);
}

/** An attempt's fields hold about as much as its signed bytes. */
function charactersOf({ transaction, attempts }: OpenTransaction): number {
  return attempts.reduce((sum, { raw }) => sum + 2 * raw.length, textLength(transaction.content));
}

/** The cost of the most expensive attempt: any of them may be mined. */
export function highestCost({ attempts }: OpenTransaction): bigint {
  let highest = 0n;
  for (const { fields } of attempts) {
    const cost = maxCost(fields);
    if (cost > highest) highest = cost;
  }
  return highest;
}
