import { startStoredResponseCleaner } from '../core/access/idempotency.js';
import type { Store } from '../core/ports/store/store.js';
import { startTransactionCleaner } from '../core/transaction/transaction-cleaner.js';
import { type AgeClock, openAgeClock } from '../core/work/age-clock.js';
import { monotonicMs } from '../core/work/clock.js';
import { createCleaners } from '../engine/leases/cleaners.js';
import { startRetention } from '../webhooks/retention.js';
import type { AppContext } from './app-context.js';
import type { OpenedInstance } from './open-instance.js';

/** The parts that housekeeping needs. */
export interface HousekeepingDeps extends Pick<OpenedInstance, 'leases' | 'sharing'> {
  readonly store: Store;
  /** The times of the networks' newest blocks. */
  readonly headTimesMs: () => readonly number[];
}

/** Deletes what is old, on the instance that holds the lease for it. Returns the clock that tells ages. */
export async function startHousekeeping(
  { settings, clock, log }: Pick<AppContext, 'settings' | 'clock' | 'log'>,
  { store, leases, sharing, headTimesMs }: HousekeepingDeps,
): Promise<AgeClock> {
  const storedTime = {
    read: () => store.read.confirmedTimeMs(),
    write: (timeMs: number) => store.commit([store.change.confirmTime(timeMs)]),
  };
  const ageClock = await openAgeClock({
    stored: storedTime,
    clock: { nowMs: () => clock.nowMs(), elapsedMs: monotonicMs },
    // The times of blocks, and the database's.
    witnessesMs: () => [...headTimesMs(), ...[sharing.timeMs() ?? []].flat()],
    log,
  });
  const cleaners = createCleaners([
    () => ageClock.startStoring(),
    () => startStoredResponseCleaner({ store, clock: ageClock, log }),
    () => startRetention({ store, clock: ageClock, log, retentionDays: settings.webhookRetentionDays }),
    ...(settings.transactionExpirationHours === null
      ? []
      : [() => startTransactionCleaner({ store, clock: ageClock, log, expirationHours: settings.transactionExpirationHours ?? 0 })]),
  ]);
  await leases.add('housekeeping', new Map([['', cleaners]]));
  return ageClock;
}
