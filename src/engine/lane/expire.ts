import { DomainError } from '../../core/errors.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { endedUnsigned, givenUp } from '../../core/transaction/lifecycle.js';
import { outbid } from '../../core/transaction/outbid.js';
import { isSigned } from '../../core/transaction/transaction.js';
import type { LaneContext } from './lane-context.js';

/** After this long an expiry that could not be carried out is tried again. */
const retryAfterMs = 1_000;

/**
 * Ends transactions whose `valid_until` has passed: at once when nothing is signed, else by a version that does nothing and outbids them in their slots;
 * those that stand alone are not sent again, and end once what is out is dead.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function expire(lane: LaneContext): Promise<void> {
  if (lane.settled === null) return;
  const nowMs = lane.deps.clock.nowMs();
  for (const open of [...lane.transactions.waiting(), ...lane.transactions.slotted(), ...lane.transactions.unsequenced()]) {
    if (!isExpired(open, nowMs) || nowMs < (lane.notBeforeMs.get(open.transaction.id) ?? 0)) continue;
    await expireOne(lane, open, nowMs);
  }
}

/** True when the transaction is not wanted any more, and nothing was done about it yet. */
function isExpired({ transaction }: OpenTransaction, nowMs: number): boolean {
  return (
    transaction.validUntilMs !== null && transaction.validUntilMs <= nowMs && transaction.intent === 'content' && transaction.mined === null
  );
}

async function expireOne(lane: LaneContext, open: OpenTransaction, nowMs: number): Promise<void> {
  const { id, nonce } = open.transaction;
  if (nonce === null) {
    await lane.move(id, (current) => {
      const { transaction } = current;
      if (!isExpired(current, nowMs) || transaction.nonce !== null) return null;
      return {
        steps: [isSigned(transaction) ? givenUp(transaction, 'expire') : endedUnsigned(transaction, 'expired', 'valid_until passed')],
      };
    });
    return;
  }
  try {
    await outbid(lane.deps, lane.relayer(), open, 'expire', null, (current) => {
      if (!isExpired(current, nowMs)) throw new Overtaken();
    });
    lane.wakeBroadcast();
  } catch (error) {
    if (error instanceof Overtaken) return;
    if (!(error instanceof DomainError) || error.reason === 'NODE_UNAVAILABLE') throw error;
    lane.notBeforeMs.set(id, nowMs + retryAfterMs);
    lane.log.warn({ transaction: id, reason: error.reason, detail: error.message }, 'an expired transaction cannot be taken back yet');
  }
}

/** It is mined, cancelled or given more time: nothing is left to do. */
class Overtaken extends Error {}
