import { ConflictError, isConflict } from '../ports/store/change.js';
import type { EndedReservation, SpendingChanges, SpendingReads } from '../ports/store/spending.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Ids } from '../records/ids.js';
import type { FailureReason } from '../records/transaction.js';
import { decideAgain } from '../work/decide-again.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import { release } from './spend-window.js';

/** How many reservations are looked at together. */
const together = 100;

/**
 * Reasons after which nothing of a transaction has been spent. After others its outcome is not known, or its slot was used with the same
 * key.
 */
const spentNothing: ReadonlySet<FailureReason | null> = new Set([
  'reverted',
  'would_revert',
  'insufficient_funds',
  'never_accepted',
  'fee_limit',
  'gas_limit',
  'not_allowed',
  'outdated',
]);

/** How often it is looked for transactions that have ended. */
const intervalMs = 1_000;

/** The dependencies of a release. */
export interface ReleaseDeps {
  readonly store: StoreFor<SpendingReads, SpendingChanges>;
  readonly ids: Pick<Ids, 'random'>;
}

/** Releases again and again. */
export function startSpendReleases({ log, ...deps }: ReleaseDeps & { readonly log: Log }): Repeating {
  const onError = (error: unknown) => log.warn({ err: error }, 'cannot release what ended transactions have not spent; retrying');
  return repeat(() => releaseSpends(deps), intervalMs, { onError });
}

/**
 * Ends the reservations of transactions that have ended: what they have spent goes on counting until it leaves its window, and what they
 * have not is free again. Safe on several instances at once. Until a transaction has ended, any of its attempts may still be mined.
 */
export async function releaseSpends(deps: ReleaseDeps): Promise<void> {
  for (;;) {
    const ended = await deps.store.read.endedReservations(together);
    for (const one of ended) await releaseOne(deps, one);
    if (ended.length < together) return;
  }
}

async function releaseOne(
  { store, ids }: ReleaseDeps,
  { transactionId, relayerId, status, failureReason, reserved }: EndedReservation,
): Promise<void> {
  const isSpent = status === 'confirmed' || (status === 'failed' && !spentNothing.has(failureReason));
  try {
    await decideAgain(
      async () => {
        const windows = isSpent ? [] : await store.read.spendWindows(relayerId, [...new Set(reserved.map(({ window }) => window))]);
        const counting = windows.map((stored) => {
          const window = reserved.filter((one) => one.window === stored.name).reduce((kept, one) => release(kept, one), stored.window);
          return store.change.storeSpendWindow({ ...stored, window, version: ids.random() }, stored.version);
        });
        await store.commit([...counting, store.change.deleteReservation(transactionId)]);
      },
      (error) => isConflict(error) && error.change === 'storeSpendWindow',
    );
  } catch (error) {
    // Another instance has ended it.
    if (!(error instanceof ConflictError && error.change === 'deleteReservation')) throw error;
  }
}
