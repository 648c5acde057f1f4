import { type Change, ConflictError, isConflict } from '../ports/store/change.js';
import type { EndedReservation, ReservedSpend, SpendingChanges, SpendingReads } from '../ports/store/spending.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Ids } from '../records/ids.js';
import type { SpendWindow } from '../records/spending-rule.js';
import type { FailureReason } from '../records/transaction.js';
import type { Clock } from '../work/clock.js';
import { decideAgain } from '../work/decide-again.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import { heldIn, spendsOf } from './reservation.js';
import { release, spend } from './spend-window.js';

/** How many reservations are looked at together. */
const together = 100;

/**
 * Reasons after which nothing but fees has been spent by a transaction. After others its outcome is not known, or its slot was used with
 * the same key.
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
  /** The time that all instances agree on. */
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Releases again and again. */
export function startSpendReleases({ log, ...deps }: ReleaseDeps & { readonly log: Log }): Repeating {
  const onError = (error: unknown) => log.warn({ err: error }, 'cannot count what ended transactions have spent; retrying');
  return repeat(() => releaseSpends(deps), intervalMs, { onError });
}

/**
 * Ends the reservations of transactions that have ended: what they have spent counts until it leaves its window, and what they have not is
 * free again. Safe on several instances at once. Until a transaction has ended, any of its attempts may still be mined.
 */
export async function releaseSpends(deps: ReleaseDeps): Promise<void> {
  for (;;) {
    const ended = await deps.store.read.endedReservations(together);
    for (const relayerId of new Set(ended.map((one) => one.relayerId)))
      await endTogether(
        deps,
        relayerId,
        ended.filter((one) => one.relayerId === relayerId),
      );
    if (ended.length < together) return;
  }
}

/** Ends these in one commit; one by one, if another instance or a replacement has changed one of them. */
async function endTogether(deps: ReleaseDeps, relayerId: string, ended: readonly EndedReservation[]): Promise<void> {
  try {
    await changeWindows(deps, relayerId, {
      ended,
      changes: ended.map(({ transactionId, reserved }) => deps.store.change.deleteReservation(transactionId, reserved)),
    });
  } catch (error) {
    if (!(error instanceof ConflictError && error.change === 'deleteReservation')) throw error;
    if (ended.length > 1) for (const one of ended) await endTogether(deps, relayerId, [one]);
  }
}

/** What of its reservation an ended transaction has spent, or may have. */
function spentBy({ status, failureReason, minedVersion, feePaid, reserved }: EndedReservation): readonly ReservedSpend[] {
  if (status === 'failed' && !spentNothing.has(failureReason)) return reserved.held;
  const isPaid = status === 'confirmed';
  // Without a mined attempt nothing has cost a fee.
  if (!isPaid && minedVersion === null) return [];
  const spends = spendsOf(reserved, minedVersion);
  // Its fees, too, are then among what is held.
  if (spends === null) return reserved.held;
  return spends.flatMap((spend) => {
    const { onSuccess } = spend;
    if (onSuccess === undefined) return isPaid ? spend : [];
    return feePaid === null ? spend : { ...spend, amount: feePaid + (isPaid ? onSuccess : 0n) };
  });
}

interface Ending {
  readonly ended: readonly EndedReservation[];
  readonly changes: readonly Change[];
}

/** Commits changes with the windows that follow from them. */
function changeWindows({ store, ids, clock }: ReleaseDeps, relayerId: string, { ended, changes }: Ending): Promise<void> {
  return decideAgain(
    async () => {
      const nowMs = clock.nowMs();
      const names = ended.flatMap(({ reserved }) => reserved.held.map(({ window }) => window));
      const windows = await store.read.spendWindows(relayerId, [...new Set(names)]);
      const counting = windows.map(({ name, ...stored }) => {
        const end = (window: SpendWindow, one: EndedReservation): SpendWindow =>
          endIn(window, { held: heldIn(one.reserved.held, name), spent: heldIn(spentBy(one), name) }, nowMs);
        return store.change.storeSpendWindow(
          { ...stored, name, window: ended.reduce(end, stored.window), version: ids.random() },
          stored.version,
        );
      });
      await store.commit([...counting, ...changes]);
    },
    (error) => isConflict(error) && error.change === 'storeSpendWindow',
  );
}

function endIn(window: SpendWindow, { held, spent }: { readonly held: bigint; readonly spent: bigint }, nowMs: number): SpendWindow {
  return spend(release(window, held - spent), spent, nowMs);
}
