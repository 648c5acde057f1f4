import type { Random } from '../support/seeded-random.js';
import type { SimDatabase } from './database.js';
import type { EventLog } from './event-log.js';
import type { Fault } from './faults.js';
import type { Service } from './service.js';
import type { SkewedClock, VirtualTime } from './virtual-time.js';

/** What the parts of a run share on every network. */
export interface RunContext {
  readonly time: VirtualTime;
  readonly clock: SkewedClock;
  readonly random: Random;
  readonly log: EventLog;
  readonly database: SimDatabase;
  /** The faults of the run, healed or not. */
  readonly faults: ReadonlySet<Fault>;
  /** The number of instances of the service. */
  readonly instances: number;
  /** One that callers reach. */
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

/** The number of relayers of a run. With several instances there are enough that the instances share them. */
export function relayerCount({ random, instances }: Pick<RunContext, 'random' | 'instances'>): number {
  if (instances > 1) return random.between(1, instances + 1);
  return random.chance(0.3) ? 2 : 1;
}
