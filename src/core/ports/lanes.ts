import type { LaneId } from '../transaction/transaction.js';

/** One queue per account: whatever uses its nonces happens in here, one thing after another. */
export interface Lanes {
  /** Says that the lane has something new; returns at once. */
  wake(lane: LaneId): void;
  /** Runs a caller's command alone in the lane, before the lane's own work. */
  run<T>(lane: LaneId, command: () => Promise<T>): Promise<T>;
}
