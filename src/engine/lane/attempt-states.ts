import { type Attempt, isSigned, type OpenTransaction } from '../../core/records/transaction.js';
import { shownAttempt } from '../../core/transaction/transaction-changes.js';
import type { Moment } from './moment.js';
import type { AttemptState, Tracked } from './tracked.js';

/** What a lane knows about its attempts, and which of them have to be broadcast. */
export interface AttemptStates {
  /** Returns the state of this attempt; undefined: its transaction is not open. */
  stateOf(attempt: Pick<Attempt, 'transactionId' | 'hash'>): AttemptState | undefined;
  /** The transactions whose live attempt has to be broadcast: no node has accepted it. */
  untaken(): Iterable<OpenTransaction>;
  /** A node has this attempt. */
  noteTaken(attempt: Attempt, nowMs: number): void;
  /** No node is known to have any attempt of this transaction any more. */
  forgetTaken(open: OpenTransaction): void;
  /**
   * This attempt waits for a block. Returns since when it has waited as the live one: the first call, which returns null. Null too: its
   * transaction is not open.
   */
  noteWaiting(attempt: Attempt, now: Moment): Moment | null;
  /** A transaction has changed. */
  noteChange(record: Tracked): void;
  /** A transaction is no longer open. */
  drop(id: string): void;
}

/** Creates the states of the attempts of these records, which change outside. */
export function createAttemptStates(records: ReadonlyMap<string, Tracked>): AttemptStates {
  const untaken = new Set<string>();

  function noteChange({ transaction: { id }, open, attempts }: Tracked): void {
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
      waitingSince: null,
    };
    record.attempts.set(hash, state);
    return state;
  }

  return {
    stateOf,
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
      noteChange(record);
    },
    forgetTaken({ transaction }) {
      const record = records.get(transaction.id);
      if (record === undefined) return;
      for (const state of record.attempts.values()) state.takenAtMs = null;
      noteChange(record);
    },
    noteWaiting(attempt, now) {
      const state = stateOf(attempt);
      const since = state?.waitingSince ?? null;
      if (state !== undefined) state.waitingSince ??= now;
      return since;
    },
    noteChange,
    drop: (id) => void untaken.delete(id),
  };
}

// Outside of the states, since V8 keeps a prototype and hidden classes for each generator function that was called.
function* openWith(ids: Iterable<string>, records: ReadonlyMap<string, Tracked>): Generator<OpenTransaction> {
  for (const id of ids) {
    const open = records.get(id)?.open;
    if (open != null) yield open;
  }
}
