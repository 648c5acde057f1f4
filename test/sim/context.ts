import type { Random } from '../support/seeded-random.js';
import type { Auditor } from './auditor.js';
import type { EventLog } from './event-log.js';
import type { Ledger } from './evm/ledger.js';
import type { SimNode } from './evm/node.js';
import type { Pool } from './evm/pool.js';
import type { Fault } from './faults.js';
import type { Service, SimRelayer } from './service.js';
import type { SkewedClock, VirtualTime } from './virtual-time.js';

/** What the parts of a run share. */
export interface RunContext {
  readonly time: VirtualTime;
  readonly clock: SkewedClock;
  readonly random: Random;
  readonly log: EventLog;
  readonly ledger: Ledger;
  readonly nodes: readonly SimNode[];
  /** What those who build blocks know. */
  readonly builder: Pool;
  readonly relayers: readonly SimRelayer[];
  readonly blockMs: number;
  readonly confirmations: number;
  readonly chainId: bigint;
  auditor(): Auditor;
  service(): Service;
  /** True if the run has this fault and is not healed yet. */
  has(fault: Fault): boolean;
  isHealed(): boolean;
  /** Reports an error that nothing of the run expects. */
  fail(error: unknown): void;
}

/** Runs a task again and again, after random times around `everyMs`, until the run is healed. */
export function recurring({ time, random, isHealed, fail }: RunContext, everyMs: number, task: () => void): void {
  const next = (): void =>
    void time.after(everyMs * (0.3 + 1.4 * random.next()), () => {
      if (isHealed()) return;
      try {
        task();
      } catch (error) {
        fail(error);
      }
      next();
    });
  next();
}
