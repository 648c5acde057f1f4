import { DomainError, type ErrorReason } from '../../../core/errors/errors.js';
import { blockTimeMsOf, type Head } from '../../../core/ports/chain/head.js';
import { isSigned, type Transaction } from '../../../core/records/transaction.js';
import { unapprovedReason } from '../../../core/transaction/approval.js';
import { endedUnsigned, givenUp, slotTerms } from '../../../core/transaction/lifecycle.js';
import { outbid } from '../../../core/transaction/outbid.js';
import { timeOfTwo } from '../../../core/work/clock.js';
import { waitsFor } from '../commit-moves.js';
import { type Expirable, isExpired, latestMs } from '../is-expired.js';
import type { LaneContext } from '../lane-context.js';

/** A failed expiry is tried again after this time. */
const retryAfterMs = 1_000;

/**
 * Errors that apply to every self-transfer. After one of them, the task signs none until the next head, or for this time if no head comes.
 */
const sharedObstacles: readonly ErrorReason[] = ['INSUFFICIENT_FUNDS', 'GAS_PRICE_CAP_EXCEEDED', 'NODE_UNAVAILABLE', 'SIGNER_UNAVAILABLE'];
const sharedForMs = 3_000;

/** The maximum number of records changed at once; the store writes them in one commit. */
const explainedAtOnce = 50;
const endedAtOnce = 50;

/** Clocks that differ by less are not worth a sentence in a record. */
const usualSkewMs = 1_000;

const endsWhen = 'waiting: valid_until has passed; ends when';
const endsWithNode = `${endsWhen} an RPC node is reachable`;
const endsWithClock = 'ends when two of the clocks of the service, the database and the network show it';

/** What the task needs of a transaction. */
interface Expiring {
  readonly transaction: Expirable & Pick<Transaction, 'id' | 'statusReason'>;
}

/** The tasks that end transactions whose `valid_until` has passed, or that were not approved in time. */
export interface Expirer {
  /**
   * Ends the unsigned ones. Needs no node; while none is reachable, the records of the signed ones say so. `head`: the newest known; null:
   * none yet.
   */
  expireUnsigned(head: Head | null): Promise<void>;
  /** Ends those with a nonce by a self-transfer in their slot, and unsequenced ones when their attempts are dead. */
  expireSigned(head: Head): Promise<void>;
}

/**
 * Makes the tasks. A transaction ends only if two of three clocks show that its `valid_until`, or its time for approvals, has passed: the
 * own one, the database's, and the newest block's. A wrong clock alone ends nothing.
 */
export function createExpirer(lane: LaneContext): Expirer {
  let blocked = { atHash: '', untilMs: 0, reason: '' };
  /** The obstacle in the log; null: none since the last self-transfer. */
  let reported: ErrorReason | null = null;

  /**
   * Passes the time that two of the clocks have reached, and the transactions that have expired by then, to `end`, `atOnce` at a time. Asks
   * the database only if there may be one.
   */
  async function expire(
    all: Iterable<Expiring>,
    head: Head | null,
    atOnce: number,
    end: (id: string, agreedMs: number) => Promise<void>,
  ): Promise<void> {
    const knownMs = latestMs(lane, head);
    const passed = [...all].filter((one) => isExpired(one, knownMs));
    if (passed.length === 0) return;
    const databaseMs = await lane.deps.store.read.timeMs();
    const ownMs = lane.deps.clock.nowMs();
    const chainMs = blockTimeMsOf(head);
    const agreedMs = timeOfTwo(ownMs, chainMs, databaseMs);
    const ending = passed.filter((one) => isExpired(one, agreedMs));
    for (let at = 0; at < ending.length && !lane.loops.isStopped(); at += atOnce)
      await Promise.all(ending.slice(at, at + atOnce).map(({ transaction: { id } }) => end(id, agreedMs)));
    const shownMs = Math.max(ownMs - usualSkewMs, databaseMs - usualSkewMs, chainMs ?? Number.NEGATIVE_INFINITY);
    const doubted = passed.filter((one) => !isExpired(one, agreedMs) && isExpired(one, shownMs));
    const outdated = doubted.filter(({ transaction }) => isPast(transaction, shownMs));
    const unapproved = doubted.filter(({ transaction }) => !isPast(transaction, shownMs));
    await explain(unapproved, `waiting: the time for approvals has passed; ${endsWithClock}`, shownMs);
    await explain(outdated, `waiting: valid_until has passed; ${endsWithClock}`, shownMs);
  }

  /** Writes into the records of transactions that have expired by then what they wait for. */
  async function explain(all: readonly Expiring[], reason: string, untilMs: number): Promise<void> {
    const outdated = all.filter(({ transaction }) => transaction.statusReason !== reason);
    for (let at = 0; at < outdated.length; at += explainedAtOnce) {
      await Promise.all(
        outdated
          .slice(at, at + explainedAtOnce)
          .map(({ transaction: { id } }) =>
            lane.records.move(id, (current) => (isExpired(current, untilMs) ? waitsFor(current.transaction, reason) : null)),
          ),
      );
    }
  }

  /** Replaces an expired transaction by a self-transfer in its slot. */
  async function outbidOne(head: Head, id: string, agreedMs: number): Promise<void> {
    const open = lane.transactions.get(id);
    const elapsedMs = lane.deps.clock.elapsedMs();
    if (open === undefined) return;
    if (blocked.atHash === head.hash && elapsedMs < blocked.untilMs) {
      // Once: the amounts in the reason change with each head, and many transactions can share the obstacle.
      if (open.transaction.statusReason?.startsWith(endsWhen) !== true) await explain([open], blocked.reason, agreedMs);
      return;
    }
    try {
      await outbid(lane.deps, lane.relayer(), open, {
        purpose: 'expire',
        replacement: null,
        require: (current) => {
          if (!isExpired(current, agreedMs)) throw new Overtaken();
        },
      });
      reported = null;
      lane.loops.wakeBroadcast();
    } catch (error) {
      if (error instanceof Overtaken) return;
      if (!(error instanceof DomainError)) throw error;
      const { reason } = error;
      const { filler } = slotTerms(open.transaction);
      const sentence = reason === 'NODE_UNAVAILABLE' ? endsWithNode : `${endsWhen} ${filler} can replace it: ${error.message}`;
      if (sharedObstacles.includes(reason)) blocked = { atHash: head.hash, untilMs: elapsedMs + sharedForMs, reason: sentence };
      const record = lane.transactions.tracked(id);
      if (record !== undefined) record.notBeforeMs = elapsedMs + retryAfterMs;
      await explain([open], sentence, agreedMs);
      if (reason === 'NODE_UNAVAILABLE' || reason === reported) return;
      reported = reason;
      const facts = { relayer: lane.relayer().id, transaction: id, reason, detail: error.message };
      lane.deps.log.warn(facts, 'an expired transaction cannot be replaced by a self-transfer yet; retrying');
    }
  }

  /** Transactions that may still be mined. */
  function* signedOnes(): Iterable<Expiring> {
    // While the account may be gone, or the chain reset, no self-transfer is signed.
    if (lane.doubts.sentence() === null) yield* lane.transactions.slotted();
    yield* lane.transactions.unsequenced();
  }

  return {
    async expireUnsigned(head) {
      await expire(lane.transactions.waiting(), head, endedAtOnce, (id, agreedMs) =>
        endOne(lane, id, agreedMs, (transaction) => !isSigned(transaction)),
      );
      if (!lane.heads.isUnreachable) return;
      const nowMs = lane.deps.clock.nowMs();
      const signed = [...signedOnes()].filter((one) => isExpired(one, nowMs));
      await explain(signed, endsWithNode, nowMs);
    },
    async expireSigned(head) {
      const elapsedMs = lane.deps.clock.elapsedMs();
      const { transactions } = lane;
      const due = [...signedOnes()].filter(({ transaction: { id } }) => elapsedMs >= (transactions.tracked(id)?.notBeforeMs ?? 0));
      // One after the other: an obstacle of the first may be one of all.
      await expire(due, head, 1, (id, agreedMs) =>
        transactions.get(id)?.transaction.nonce == null ? endOne(lane, id, agreedMs, isSigned) : outbidOne(head, id, agreedMs),
      );
    },
  };
}

/** Ends a transaction without a nonce, or gives up its attempts. */
async function endOne(lane: LaneContext, id: string, agreedMs: number, isMeant: (transaction: Transaction) => boolean): Promise<void> {
  await lane.records.move(id, (current) => {
    const { transaction } = current;
    if (!isExpired(current, agreedMs) || transaction.nonce !== null || !isMeant(transaction)) return null;
    if (isSigned(transaction)) return { steps: [givenUp(transaction, 'expire')] };
    const { approval } = transaction;
    const reason = approval === null || isPast(transaction, agreedMs) ? 'valid_until passed' : unapprovedReason(approval);
    return { steps: [endedUnsigned(transaction, 'expired', reason)] };
  });
}

function isPast({ validUntilMs }: Pick<Transaction, 'validUntilMs'>, nowMs: number): boolean {
  return validUntilMs !== null && validUntilMs <= nowMs;
}

/** It was mined, canceled or given more time meanwhile. */
class Overtaken extends Error {}
