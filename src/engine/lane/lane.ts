import { DomainError } from '../../core/errors.js';
import type { Chain, Head } from '../../core/ports/chain.js';
import type { Decide } from '../../core/ports/lanes.js';
import type { Log } from '../../core/ports/log.js';
import { ConflictError, type OpenTransaction } from '../../core/ports/store.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import { type Attempt, isFinal, isSigned, type LaneId, type Transaction } from '../../core/transaction/transaction.js';
import { shownAttempt, transactionChanges, viewOf } from '../../core/transaction/transaction-changes.js';
import { broadcast } from './broadcast.js';
import { escalate, type WaitingSince } from './bump-fee.js';
import { expire } from './expire.js';
import { fillGaps, type Gaps } from './fill-gaps.js';
import type { LaneContext, LaneWork } from './lane-context.js';
import { figuresOf, type LaneFigures } from './lane-figures.js';
import { createLoop } from './loop.js';
import { createOneAtATime } from './one-at-a-time.js';
import { createOpenTransactions } from './open-transactions.js';
import { prepare } from './prepare.js';
import { type Rebroadcast, rebroadcast } from './rebroadcast.js';
import { releaseSlot, type Stuck } from './release-slot.js';
import { settle, type Unexplained } from './settle-slots.js';
import { settleUnsequenced } from './settle-unsequenced.js';

/** After so many conflicts in a row what is in memory can no longer be trusted. */
const greatestConflicts = 3;

/** All that uses the nonces of one account. */
export interface Lane {
  readonly id: LaneId;
  /** Takes up the open transactions of the store. */
  load(): Promise<void>;
  accept(transaction: Transaction): void;
  move(transactionId: string, decide: Decide): Promise<OpenTransaction | null>;
  /** The newest head was looked at, be it new or not. Returns at once. */
  tick(head: Head): void;
  /** Signs nothing new, and resolves when what runs has ended. */
  stop(): Promise<void>;
  figures(): LaneFigures;
}

/** What a lane works with. */
export interface LaneDeps {
  readonly id: LaneId;
  readonly deps: LaneWork;
  readonly chain: Chain;
  readonly log: Log;
  readonly relayer: () => Relayer;
}

/**
 * Makes the lane of one account; nothing runs before the first tick.
 *
 * Three loops, which never wait for one another: settling (what the chain says, then expiry, escalation and gaps), preparing (pricing and signing) and
 * broadcasting. Each asks nodes as it likes and changes a transaction only through `move`, which takes one change at a time.
 */
export function createLane({ id, deps, chain, log, relayer }: LaneDeps): Lane {
  const transactions = createOpenTransactions();
  const oneAtATime = createOneAtATime();
  const unexplained: Unexplained = new Map();
  const waitingSince: WaitingSince = new Map();
  const gaps: Gaps = new Map();
  const stuck: Stuck = { askedAt: null, since: null };
  const rebroadcasted: Rebroadcast = { atMs: 0, headHash: '' };
  let head: Head | null = null;
  let stopped = false;
  let isWaitingForNodes = false;
  /** What had expired before the start is not broadcast again, so nothing is until that was looked at. */
  let isExpiryChecked = false;

  const lane: LaneContext = {
    id,
    deps,
    chain,
    log,
    transactions,
    relayer,
    put,
    move,
    reload,
    hold: (ids, task) => oneAtATime.run(ids, task),
    settled: null,
    chainNonce: 0n,
    nextNonce: 0n,
    storedNonce: null,
    isBalanceLow: false,
    balanceSeenAtHash: null,
    broadcastPausedUntilMs: 0,
    notBeforeMs: new Map(),
    taken: new Map(),
    underpriced: new Set(),
    hopeless: new Set(),
    dead: new Set(),
    untaken: new Set(),
    noteTaken,
    forgetTaken,
    isStopped: () => stopped,
    wakePrepare: () => preparing.wake(),
    wakeBroadcast: () => broadcasting.wake(),
  };

  const settling = createLoop(async () => {
    if (head === null || stopped) return;
    const newest = head;
    if (newest.hash !== lane.settled?.hash) {
      if (chain.unsequenced !== null) await settleUnsequenced(lane, chain.unsequenced, newest);
      if (chain.sequence !== null) await settle(lane, chain.sequence, newest, unexplained);
      else lane.settled = newest;
    }
    nodesAnswer();
    await expire(lane);
    isExpiryChecked = true;
    await escalate(lane, newest, waitingSince);
    await releaseSlot(lane, newest, stuck);
    await fillGaps(lane, newest, gaps);
    await rebroadcast(lane, newest, rebroadcasted);
    preparing.wake();
    broadcasting.wake();
  }, tell);
  const preparing = createLoop(async () => {
    if (stopped || !isExpiryChecked) return;
    await prepare(lane);
  }, tell);
  const broadcasting = createLoop(async () => {
    if (stopped || !isExpiryChecked) return;
    await broadcast(lane);
  }, tell);

  function move(transactionId: string, decide: Decide): Promise<OpenTransaction | null> {
    return oneAtATime.run([transactionId], async () => {
      for (let conflicts = 0; ; conflicts += 1) {
        // What the store has open, the book must have: it may have been missed in a commit whose answer was lost.
        if (transactions.get(transactionId) === undefined) await reload([transactionId]);
        const current = transactions.get(transactionId);
        if (current === undefined) return null;
        const decided = await decide(current);
        if (decided === null) return null;
        const { after, changes } = transactionChanges(deps, relayer(), current, decided);
        const step = decided.newAttempt === undefined ? null : deps.journal.step('transaction stored', current.transaction);
        try {
          await deps.store.commit(changes);
          step?.end();
        } catch (error) {
          if (!(error instanceof ConflictError) || conflicts >= greatestConflicts) throw error;
          await reload([transactionId]);
          continue;
        }
        deps.journal.moved(current.transaction, decided, after);
        // Readers see every step, as webhooks do.
        for (const step of decided.steps.slice(0, -1)) deps.feed.publish(viewOf({ ...after, transaction: step }));
        put(after);
        if (decided.newAttempt !== undefined) broadcasting.wake();
        if (!isSigned(after.transaction)) preparing.wake();
        return after;
      }
    });
  }

  function put(open: OpenTransaction): void {
    transactions.put(open);
    noteFlight(open);
    deps.feed.publish(viewOf(open));
  }

  /** Keeps the set of those that are to be broadcast in step with the transactions. */
  function noteFlight({ transaction, attempts }: OpenTransaction): void {
    const live = shownAttempt(transaction, attempts);
    if (isFinal(transaction.status)) {
      lane.notBeforeMs.delete(transaction.id);
      for (const { hash } of attempts) {
        lane.taken.delete(hash);
        lane.dead.delete(hash);
        lane.notBeforeMs.delete(hash);
      }
    }
    const isInFlight = isSigned(transaction) && transaction.mined === null && !isFinal(transaction.status);
    // What stands alone is sent only while it is what is wanted: nothing could take its place in time.
    const isSent = transaction.nonce !== null || (transaction.intent === 'content' && transaction.queued === null);
    if (isInFlight && isSent && live !== null && !lane.taken.has(live.hash)) lane.untaken.add(transaction.id);
    else lane.untaken.delete(transaction.id);
  }

  function noteTaken({ hash, transactionId }: Attempt): void {
    const current = transactions.get(transactionId);
    if (current === undefined) return;
    lane.taken.set(hash, deps.clock.nowMs());
    // The version may have been superseded while it was on its way.
    noteFlight(current);
  }

  function forgetTaken(open: OpenTransaction): void {
    for (const { hash } of open.attempts) lane.taken.delete(hash);
    noteFlight(open);
  }

  async function reload(transactionIds: readonly string[]): Promise<void> {
    for (const transactionId of transactionIds) {
      const view = await deps.store.read.transaction(transactionId);
      if (view === undefined) transactions.forget(transactionId);
      else put({ transaction: view.transaction, attempts: await deps.store.read.attemptsOf(transactionId) });
    }
    await loadNonce();
  }

  async function loadNonce(): Promise<void> {
    lane.storedNonce = (await deps.store.read.nextNonce(id)) ?? null;
    if (lane.storedNonce !== null && lane.storedNonce > lane.nextNonce) lane.nextNonce = lane.storedNonce;
  }

  function nodesAnswer(): void {
    if (isWaitingForNodes) log.info({ relayer: relayer().id }, "a lane's nodes answer again");
    isWaitingForNodes = false;
  }

  function tell(error: unknown): void {
    if (error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE') {
      if (!isWaitingForNodes) log.warn({ relayer: relayer().id, detail: error.message }, 'a lane waits for its nodes');
      isWaitingForNodes = true;
    } else if (!(error instanceof ConflictError)) {
      log.error({ relayer: relayer().id, err: error }, 'the work of a lane failed; it is tried again');
    }
  }

  return {
    id,
    async load() {
      for (const open of await deps.store.read.openTransactions(id)) {
        transactions.put(open);
        noteFlight(open);
        // A gap may have been filled above the stored nonce.
        const { nonce } = open.transaction;
        if (nonce !== null && nonce >= lane.nextNonce) lane.nextNonce = nonce + 1n;
      }
      await loadNonce();
    },
    accept(transaction) {
      if (transactions.get(transaction.id) === undefined) put({ transaction, attempts: [] });
      preparing.wake();
    },
    move,
    tick(newest) {
      head = newest;
      settling.wake();
    },
    async stop() {
      stopped = true;
      await Promise.all([settling.stop(), preparing.stop(), broadcasting.stop()]);
    },
    figures: () => ({ relayerId: relayer().id, ...figuresOf(transactions) }),
  };
}
