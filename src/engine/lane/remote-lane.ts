import type { Decide, Room } from '../../core/ports/lanes.js';
import { isConflict } from '../../core/ports/store/change.js';
import type { Relayer } from '../../core/records/relayer.js';
import { awaitsApproval, isFinal, type LaneId, type OpenTransaction, type Transaction } from '../../core/records/transaction.js';
import { heldReason, notSignedYet } from '../../core/transaction/lifecycle.js';
import { viewOf } from '../../core/transaction/transaction-changes.js';
import { decideAgain } from '../../core/work/decide-again.js';
import { createOneAtATime } from '../../core/work/one-at-a-time.js';
import { createRoom, maxToApprove, maxToSign } from './capacity.js';
import { commitPlanned, waitsFor } from './commit-moves.js';
import type { LaneWork } from './lane-inputs.js';
import { whyRelayerSignsNone } from './why-unsigned.js';

/** The number of transactions that are read at once: each may be large. */
const readAtOnce = 32;
/** How old the number of waiting transactions may be that limits sends. */
const countForMs = 1_000;

/** How long an accepted transaction is kept in memory, and how many are at most: by then the instance with the lease has heard of it. */
const kept = { ms: 60_000, count: 1_000 };

/** The calls that callers make of a lane whose lease another instance has. */
export interface RemoteLane {
  takeRoom(wanted: Room): () => void;
  accept(transaction: Transaction): void;
  /** After a rewind, keeps what was accepted lately outside the database, once: the instance with the lease may not have heard of it. */
  keepAccepted(): void;
  noteUnanswered(): void;
  whyUnsigned(): string;
  move(transactionId: string, decide: Decide): Promise<OpenTransaction | null>;
  /** Writes into the records of all open transactions why nothing is signed, as long as that is so. */
  explainHold(): Promise<void>;
}

/**
 * Makes the lane of an account as an instance without its lease uses it: it takes no nonce and holds nothing in memory, and its changes are
 * guarded by revisions, as all are. The instance with the lease hears of each commit, and reads what has changed.
 */
export function createRemoteLane(id: LaneId, deps: LaneWork, relayer: () => Relayer): RemoteLane {
  const oneAtATime = createOneAtATime();
  let waiting: Room = { toSign: 0, toApprove: 0 };
  let countedAtMs = Number.NEGATIVE_INFINITY;
  const accepted: { readonly id: string; readonly atMs: number }[] = [];

  const room = createRoom(relayer, () => waiting);

  /** Counts in the background: a send does not wait for it. */
  function countWaiting(): void {
    if (deps.clock.elapsedMs() - countedAtMs < countForMs) return;
    countedAtMs = deps.clock.elapsedMs();
    const limit = maxToSign + maxToApprove;
    Promise.all([deps.store.read.waitingCount(id, limit), deps.store.read.waitingApprovals(id, limit)]).then(
      ([count, approvals]) => {
        const toApprove = approvals.filter((approval) => awaitsApproval({ approval })).length;
        waiting = { toSign: count - toApprove, toApprove };
      },
      // The send finds out whether the database works.
      () => undefined,
    );
  }

  const move: RemoteLane['move'] = (transactionId, decide) =>
    // Otherwise all callers of this instance but one would meet a conflict.
    oneAtATime.run([transactionId], () => {
      let revision = 0;
      const decideOnce = async (): Promise<OpenTransaction | null> => {
        const [current] = await deps.store.read.transactionsById([transactionId]);
        if (current === undefined || isFinal(current.transaction.status)) return null;
        const decided = await decide(current);
        if (decided === null) return null;
        revision = current.transaction.revision;
        const [after] = await commitPlanned(deps, relayer(), [{ before: current, move: decided }]);
        if (after !== undefined) deps.feed.publish(viewOf(after));
        return after ?? null;
      };
      return decideAgain(decideOnce, isConflict, () => revision);
    });

  return {
    takeRoom(wanted) {
      countWaiting();
      return room(wanted);
    },
    accept(transaction) {
      const atMs = deps.clock.elapsedMs();
      accepted.push({ id: transaction.id, atMs });
      while (accepted.length > kept.count || (accepted[0]?.atMs ?? atMs) < atMs - kept.ms) accepted.shift();
      deps.feed.publish({ transaction, shown: null });
    },
    keepAccepted() {
      if (deps.database.rewind() === null) return;
      deps.database.keepHeld?.(accepted.splice(0).map((one) => ({ relayer: relayer().id, transaction: one.id, nonce: null, hashes: [] })));
    },
    // The instance with the lease finds it when this one has reached the database again.
    noteUnanswered: () => undefined,
    whyUnsigned() {
      const obstacle = deps.database.hold() ?? whyRelayerSignsNone(relayer());
      return obstacle === null ? notSignedYet : `${notSignedYet}: ${obstacle}`;
    },
    move,
    async explainHold() {
      for (let after: string | undefined; ; ) {
        const page = await deps.store.read.openTransactions(id, { limit: readAtOnce, ...(after === undefined ? {} : { after }) });
        const hold = deps.database.hold();
        if (hold === null) return;
        const explain: Decide = ({ transaction }) =>
          awaitsApproval(transaction) ? null : waitsFor(transaction, heldReason(transaction, hold));
        await Promise.all(page.map(({ transaction }) => move(transaction.id, explain)));
        after = page.at(-1)?.transaction.id;
        if (page.length < readAtOnce) return;
      }
    },
  };
}
