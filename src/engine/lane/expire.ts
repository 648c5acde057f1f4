import { DomainError } from '../../core/errors.js';
import { endedUnsigned, givenUp } from '../../core/transaction/lifecycle.js';
import { outbid } from '../../core/transaction/outbid.js';
import { isSigned, type Transaction } from '../../core/transaction/transaction.js';
import { isUnavailable, type LaneContext } from './lane-context.js';

/** A failed expiry is tried again after this time. */
const retryAfterMs = 1_000;

/**
 * Ends transactions whose `valid_until` has passed: unsigned ones at once, those with a nonce by a self-transfer in their slot, unsequenced ones when
 * their attempts are dead.
 */
export async function expire(lane: LaneContext): Promise<void> {
  const nowMs = lane.deps.clock.nowMs();
  const elapsedMs = lane.deps.clock.elapsedMs();
  const { transactions } = lane;
  for (const open of [...transactions.waiting(), ...transactions.slotted(), ...transactions.unsequenced()]) {
    if (isExpired(open, nowMs) && elapsedMs >= (transactions.tracked(open.transaction.id)?.notBeforeMs ?? 0))
      await expireOne(lane, open, nowMs);
  }
}

/** True if `valid_until` has passed and the lane has not acted on it yet: the content must not be broadcast or bumped any more. */
export function isExpired({ transaction: { validUntilMs, intent, mined } }: Expiring, nowMs: number): boolean {
  return validUntilMs !== null && validUntilMs <= nowMs && intent === 'content' && mined === null;
}

interface Expiring {
  readonly transaction: Pick<Transaction, 'id' | 'validUntilMs' | 'intent' | 'mined'>;
}

async function expireOne(lane: LaneContext, { transaction: { id } }: Expiring, nowMs: number): Promise<void> {
  const open = lane.transactions.get(id);
  if (open === undefined || open.transaction.nonce === null) {
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
    await outbid(lane.deps, lane.relayer(), open, {
      purpose: 'expire',
      replacement: null,
      require: (current) => {
        if (!isExpired(current, nowMs)) throw new Overtaken();
      },
    });
    lane.wakeBroadcast();
  } catch (error) {
    if (error instanceof Overtaken) return;
    if (!(error instanceof DomainError)) throw error;
    const record = lane.transactions.tracked(id);
    if (record !== undefined) record.notBeforeMs = lane.deps.clock.elapsedMs() + retryAfterMs;
    if (!isUnavailable(error))
      lane.log.warn(
        { transaction: id, reason: error.reason, detail: error.message },
        'an expired transaction cannot be replaced by a self-transfer yet; retrying',
      );
  }
}

/** It was mined, canceled or given more time meanwhile. */
class Overtaken extends Error {}
