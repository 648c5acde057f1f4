import { DomainError, type ErrorReason } from '../../core/errors/errors.js';
import type { Head } from '../../core/ports/chain.js';
import { isSigned, type Transaction } from '../../core/records/transaction.js';
import { endedUnsigned, givenUp } from '../../core/transaction/lifecycle.js';
import { outbid } from '../../core/transaction/outbid.js';
import type { LaneContext } from './lane-context.js';

/** A failed expiry is tried again after this time. */
const retryAfterMs = 1_000;

/** Errors that apply to every self-transfer. After one of them, the chore signs none until the next head, or for this time if no head comes. */
const sharedObstacles: readonly ErrorReason[] = ['INSUFFICIENT_FUNDS', 'GAS_PRICE_CAP_EXCEEDED', 'NODE_UNAVAILABLE', 'SIGNER_UNAVAILABLE'];
const sharedForMs = 3_000;

/**
 * Makes the chore that ends transactions whose `valid_until` has passed: unsigned ones at once, those with a nonce by a self-transfer in their slot,
 * unsequenced ones when their attempts are dead.
 */
export function createExpirer(lane: LaneContext): (head: Head) => Promise<void> {
  let blocked = { atHash: '', untilMs: 0 };
  /** The obstacle in the log; null: none since the last self-transfer. */
  let reported: ErrorReason | null = null;

  /** Replaces an expired transaction by a self-transfer in its slot. */
  async function outbidOne(head: Head, id: string, nowMs: number): Promise<void> {
    const open = lane.transactions.get(id);
    const elapsedMs = lane.deps.clock.elapsedMs();
    if (open === undefined || (blocked.atHash === head.hash && elapsedMs < blocked.untilMs)) return;
    try {
      await outbid(lane.deps, lane.relayer(), open, {
        purpose: 'expire',
        replacement: null,
        require: (current) => {
          if (!isExpired(current, nowMs)) throw new Overtaken();
        },
      });
      reported = null;
      lane.wakeBroadcast();
    } catch (error) {
      if (error instanceof Overtaken) return;
      if (!(error instanceof DomainError)) throw error;
      const { reason } = error;
      if (sharedObstacles.includes(reason)) blocked = { atHash: head.hash, untilMs: elapsedMs + sharedForMs };
      const record = lane.transactions.tracked(id);
      if (record !== undefined) record.notBeforeMs = elapsedMs + retryAfterMs;
      if (reason === 'NODE_UNAVAILABLE' || reason === reported) return;
      reported = reason;
      const facts = { relayer: lane.relayer().id, transaction: id, reason, detail: error.message };
      lane.log.warn(facts, 'an expired transaction cannot be replaced by a self-transfer yet; retrying');
    }
  }

  return async (head) => {
    const nowMs = lane.deps.clock.nowMs();
    const elapsedMs = lane.deps.clock.elapsedMs();
    const { transactions } = lane;
    // While the account may be gone, or the chain reset, no self-transfer is signed.
    const slotted = lane.doubts.size > 0 ? [] : transactions.slotted();
    for (const expiring of [...transactions.waiting(), ...slotted, ...transactions.unsequenced()]) {
      const { id } = expiring.transaction;
      if (!isExpired(expiring, nowMs) || elapsedMs < (transactions.tracked(id)?.notBeforeMs ?? 0)) continue;
      const nonce = transactions.get(id)?.transaction.nonce ?? null;
      if (nonce === null) await endOne(lane, id, nowMs);
      else await outbidOne(head, id, nowMs);
    }
  };
}

/** True if `valid_until` has passed and the lane has not acted on it yet: the content must not be broadcast or bumped any more. */
export function isExpired(
  { transaction: { validUntilMs, intent, mined } }: { readonly transaction: Pick<Transaction, 'validUntilMs' | 'intent' | 'mined'> },
  nowMs: number,
): boolean {
  return validUntilMs !== null && validUntilMs <= nowMs && intent === 'content' && mined === null;
}

/** Ends a transaction without a nonce, or gives up its attempts. */
async function endOne(lane: LaneContext, id: string, nowMs: number): Promise<void> {
  await lane.move(id, (current) => {
    const { transaction } = current;
    if (!isExpired(current, nowMs) || transaction.nonce !== null) return null;
    return {
      steps: [isSigned(transaction) ? givenUp(transaction, 'expire') : endedUnsigned(transaction, 'expired', 'valid_until passed')],
    };
  });
}

/** It was mined, canceled or given more time meanwhile. */
class Overtaken extends Error {}
