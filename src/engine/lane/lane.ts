import type { Head } from '../../core/ports/chain/head.js';
import type { HeldTransaction } from '../../core/ports/database-state.js';
import type { Decide, Room } from '../../core/ports/lanes.js';
import { maxInFlightOf } from '../../core/records/relayer.js';
import { type Content, isSigned, type LaneId, type OpenTransaction, type Transaction } from '../../core/records/transaction.js';
import { createPause } from '../../core/work/abort.js';
import { createLoop } from '../../core/work/loop.js';
import { createAccountDoubts } from './account-doubts.js';
import { createAccountNumbers } from './account-numbers.js';
import { createRoom } from './capacity.js';
import { createSlowTasks } from './detach-slow-task.js';
import { createFunds } from './funds.js';
import { createHeads } from './heads.js';
import { createInFlightLimit } from './in-flight-limit.js';
import type { LaneContext } from './lane-context.js';
import type { LaneInputs } from './lane-inputs.js';
import { createOpenTransactions, type LaneFigures, type OpenTransactions } from './open-transactions.js';
import { createRecords } from './records.js';
import { createRest } from './rest.js';
import { createSigningPace } from './signing-pace.js';
import { createStillness } from './stillness.js';
import { createTaskMaker } from './task.js';
import { createBroadcaster } from './tasks/broadcast.js';
import { createWaitingExplainer } from './tasks/explain-waiting.js';
import { createStoredFinder } from './tasks/find-stored.js';
import { createPreparer } from './tasks/prepare.js';
import { createUpkeep } from './upkeep.js';
import { whyUnsigned } from './why-unsigned.js';

/** Changes of other instances that come closer to one another than this are read together. */
const followGapMs = 20;

/** The queue of one account: everything that uses its nonces. */
export interface Lane {
  readonly id: LaneId;
  /** Reads the open transactions from the store. */
  load(): Promise<void>;
  /** See `Lanes`. */
  takeRoom(wanted: Room): () => void;
  accept(transaction: Transaction): void;
  noteUnanswered(): void;
  /** See `Engine.storeReturned`. */
  storeReturned(): void;
  /**
   * Another instance may have changed transactions of the lane. Returns at once. `last`: the position of the last change, if it is known.
   */
  changedElsewhere(last?: number): void;
  /** See `Lanes.whyUnsigned`. */
  whyUnsigned(content: Content): string;
  move(transactionId: string, decide: Decide, leastRevision?: number): Promise<OpenTransaction | null>;
  /** Takes note of the newest head, new or not. Returns at once. */
  tick(head: Head): void;
  /** Takes note that no RPC node could be used. Returns at once. */
  unreachable(): void;
  /** See `HeadListener`. */
  isResting(): boolean;
  /** See `Lanes.maxInFlight`. */
  maxInFlight(): number | null;
  /** Every open transaction in memory, with the hashes of its attempts. */
  held(): readonly HeldTransaction[];
  /** Signs nothing new, and resolves when all running work has ended. */
  stop(): Promise<void>;
  figures(): LaneFigures;
}

/** The parts that make a lane. */
export interface LaneDeps extends LaneInputs {
  /** See `Watcher.wake`. */
  readonly wakeWatcher: () => boolean;
}

/**
 * Makes the lane of one account; nothing runs before the first tick.
 *
 * Three loops never wait for one another: upkeep (settling, then expiry, fee bumps, gaps), preparing (pricing and signing, then explaining
 * why the rest waits) and broadcasting. Their work is split into tasks, of which each fails alone. A task asks nodes without a lock, and
 * changes a transaction only through `move` or `commitMoves`, which assert that it is still as it was seen.
 */
export function createLane({ id, deps, chain, relayer, wakeWatcher }: LaneDeps): Lane {
  const transactions = createOpenTransactions(
    (content) => chain.isUnsequenced(content),
    (content) => chain.unsequenced?.soleUseOf(content) ?? null,
  );
  const pause = createPause(deps.timers);
  const heads = createHeads(createStillness(deps.clock, chain.network), deps.clock, chain.network);
  let stopped = false;

  const inFlightLimit = createInFlightLimit({
    id,
    sequence: chain.sequence,
    heads,
    inFlight: () => transactions.inFlightCount(),
    allowed: () => maxInFlightOf(relayer().policies),
  });
  const numbers = createAccountNumbers(id, deps.store.change);
  const parts: Omit<LaneContext, 'records'> = {
    id,
    deps,
    chain,
    relayer,
    transactions,
    numbers,
    inFlightLimit,
    heads,
    funds: createFunds({ id, deps, chain, relayer }, transactions),
    doubts: createAccountDoubts({ deps, relayer }),
    loops: {
      isStopped: () => stopped,
      wakePrepare: () => preparing.wake(),
      wakeBroadcast: () => broadcasting.wake(),
      noteUnanswered: () => storedFinder.noteUnanswered(),
    },
  };
  const records = createRecords(parts, ({ transaction }) => {
    // The obstacle has changed while the transaction was stored, or another instance stored it, which does not know the obstacle.
    if (!isSigned(transaction) && transaction.statusReason !== whyUnsignedNow(chain.isUnsequenced(transaction.content))) explainer.look();
  });
  const lane: LaneContext = { ...parts, records };
  const pace = createSigningPace({ deps, relayer }, () => preparing.wake());
  const whyUnsignedNow = (isUnsequenced: boolean) => whyUnsigned(lane, pace.whyAway(), isUnsequenced);

  let returns = 0;
  const task = createTaskMaker({ log: deps.log, clock: deps.clock, relayerId: () => relayer().id, returns: () => returns });
  const isHosted = () => deps.directory.signerOf(relayer()).isHosted === true;
  const slowTasks = createSlowTasks({ task, timers: deps.timers, isHosted });
  const prepareTask = task('prepare', createPreparer(lane, pace));
  const broadcastTask = task('broadcast', createBroadcaster(lane));

  const explainer = createWaitingExplainer(lane, whyUnsignedNow);
  const explainTask = task('explain waiting', explainer.explain);

  const storedFinder = createStoredFinder({ ...lane, ...records, onChange: endRest });
  const rest = createRest(lane, storedFinder.isLooking);
  const findStoredTask = task('find stored', storedFinder.find);

  const keepUp = createUpkeep(lane, rest, { task, signingTask: slowTasks.task });
  const maintaining = createLoop(async () => {
    await findStoredTask();
    await keepUp();
  });
  // In one loop, since a draft is used only if its record has not changed.
  const preparing = createLoop(async () => {
    await prepareTask();
    await explainTask();
  });
  const broadcasting = createLoop(broadcastTask);
  const followTask = task('follow changes of other instances', storedFinder.follow);
  const followingElsewhere = createLoop(async () => {
    await followTask();
    preparing.wake();
    broadcasting.wake();
    await pause(followGapMs);
  });

  /**
   * Ends the rest of the lane, if it rests. Its account is read at the newest head before anything is signed; that head may still have to
   * be read.
   */
  function endRest(): void {
    if (!rest.end()) return;
    const comesHead = wakeWatcher();
    if (!comesHead && heads.newest?.hash === heads.settled?.hash) return;
    heads.noteRested(comesHead);
    if (!comesHead) maintaining.wake();
  }

  const maxInFlight = () => (chain.sequence === null ? null : inFlightLimit.current());

  return {
    id,
    async load() {
      storedFinder.notePosition(await records.load());
      followingElsewhere.wake();
    },
    takeRoom: createRoom(relayer, transactions.waitingByNeed),
    accept(transaction) {
      if (transactions.tracked(transaction.id) === undefined) records.put({ transaction, attempts: [] });
      endRest();
      preparing.wake();
    },
    noteUnanswered() {
      endRest();
      storedFinder.noteUnanswered();
    },
    storeReturned() {
      returns += 1;
      endRest();
      storedFinder.noteReturn();
      maintaining.wake();
      preparing.wake();
      broadcasting.wake();
    },
    changedElsewhere(last) {
      if (last === storedFinder.position()) return;
      storedFinder.noteReport();
      followingElsewhere.wake();
    },
    whyUnsigned: (content) => whyUnsignedNow(chain.isUnsequenced(content)),
    move: records.move,
    tick(newest) {
      // Before anything is settled at it: what is mined there is no longer reserved.
      if (newest.hash !== heads.newest?.hash) lane.funds.forget();
      heads.see(newest);
      // The last look has failed.
      if (storedFinder.isBehind()) followingElsewhere.wake();
      if (rest.includes(newest)) return;
      maintaining.wake();
      if (heads.standing() !== 'settled') preparing.wake();
    },
    unreachable() {
      heads.noteUnreachable();
      maintaining.wake();
      preparing.wake();
    },
    isResting: () => heads.newest !== null && rest.includes(heads.newest) && !storedFinder.isBehind(),
    held: () => heldIn(relayer().id, transactions),
    async stop() {
      stopped = true;
      await Promise.all([maintaining.stop(), preparing.stop(), broadcasting.stop(), followingElsewhere.stop()]);
      await slowTasks.ended();
      pace.stop();
    },
    maxInFlight,
    figures: () => ({ relayerId: relayer().id, inFlightLimit: maxInFlight(), ...transactions.figures() }),
  };
}

function heldIn(relayer: string, { waiting, slotted, unsequenced }: OpenTransactions): readonly HeldTransaction[] {
  const signed = [...slotted(), ...unsequenced()].map(({ transaction: { id, nonce }, attempts }) => ({
    relayer,
    transaction: id,
    nonce: nonce === null ? null : String(nonce),
    hashes: attempts.map(({ hash }) => hash),
  }));
  return [...signed, ...[...waiting()].map(({ transaction: { id } }) => ({ relayer, transaction: id, nonce: null, hashes: [] }))];
}
