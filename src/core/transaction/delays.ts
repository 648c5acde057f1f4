import type { Speed } from '../records/evm.js';
import { awaitsApproval, type Content, changed, isFinal, type Transaction } from '../records/transaction.js';
import { readyAtMs } from './approval.js';

/** How long a transaction may wait for its block, by speed, before it counts as delayed. */
export type DelayLimits = Readonly<Record<Speed, number>>;

/** A transaction whose obstacles change all the time is reported this often at most. */
const maxKinds = 8;
const maxKindLength = 160;

/** What differs between two texts about the same obstacle: hashes, addresses, ids, and everything with a digit, such as a time. */
const variable = /\b0x[0-9a-f]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[1-9A-HJ-NP-Za-km-z]{32,}\b|[0-9][0-9.,:TZ-]*/gi;

/** Returns the kind of an obstacle: its status reason without what changes while the obstacle stays the same. */
export function obstacleKind(statusReason: string): string {
  return statusReason.replace(variable, '#').slice(0, maxKindLength);
}

/** The speed of content; other prices, and other networks, wait as the default speed does. */
export function speedOf(content: Content): Speed {
  return content.network === 'evm' && content.pricing.kind === 'speed' ? content.pricing.speed : 'fast';
}

/** The facts that decide whether a transaction is delayed. */
export type Delayable = Pick<Transaction, 'status' | 'statusReason' | 'mined' | 'createdAtMs' | 'delays' | 'approval'> & {
  readonly speed: Speed;
};

/**
 * True if the transaction has waited for longer than its speed promises, for an obstacle that was not reported yet. People take their time
 * to approve it: that is no delay.
 */
export function isNewlyDelayed(transaction: Delayable, limitsMs: DelayLimits, nowMs: number) {
  const { status, statusReason, mined, delays, speed } = transaction;
  if (
    awaitsApproval(transaction) ||
    nowMs - readyAtMs(transaction) < limitsMs[speed] ||
    mined !== null ||
    statusReason === null ||
    isFinal(status)
  )
    return false;
  return delays === null || (delays.kinds.length < maxKinds && !delays.kinds.includes(obstacleKind(statusReason)));
}

/** Records that its present obstacle is reported. The commit that stores this also stores the event, so it is reported once. */
export function delayReported(transaction: Transaction, nowMs: number): Transaction {
  const kinds = [...(transaction.delays?.kinds ?? []), obstacleKind(transaction.statusReason ?? '')];
  return changed(transaction, { delays: { kinds, lastAtMs: nowMs } }, transaction.revision + 1);
}
