import { DomainError, type ErrorReason } from '../errors/errors.js';
import type { Directory } from '../ports/directory.js';
import type { Lanes, Room } from '../ports/lanes.js';
import type { TransactionReads } from '../ports/store/transactions.js';
import type { Asker } from '../records/judgement.js';
import { laneOf, type Relayer, requireActive } from '../records/relayer.js';
import type { SpendLedger } from '../rules/spend-ledger.js';
import type { Clock } from '../work/clock.js';
import { type Allowed, allowedContent } from './allowed-content.js';
import { requireFreeExternalId, type WantedTransaction } from './send-transaction.js';

/** Why a call would be refused. */
export interface CallRefusal {
  readonly reason: ErrorReason;
  readonly sentence: string;
  /** The rule that refuses it; null: none does. */
  readonly ruleId: string | null;
}

/** The dependencies of `sendRefusals`. */
export interface SendRefusalDeps {
  readonly store: { readonly read: Pick<TransactionReads, 'externalIdHolder'> };
  readonly directory: Directory;
  readonly lanes: Lanes;
  readonly ledger: Pick<SpendLedger, 'requireRoom'>;
  readonly clock: Clock;
}

/** Runs checks of a call, and collects why they would refuse it. */
export async function refusalsBy(checks: readonly (() => unknown)[]): Promise<readonly CallRefusal[]> {
  const refusals: CallRefusal[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusals.push({ reason: error.reason, sentence: error.message, ruleId: error.metadata.rule_id ?? null });
    }
  }
  return refusals;
}

/** The room that a transaction needs. */
function roomOf(approval: object | null): Room {
  return approval === null ? { toSign: 1, toApprove: 0 } : { toSign: 0, toApprove: 1 };
}

/**
 * Returns why sending would not accept a transaction, and what the rules say about it; null: they, or other policies, do not allow it.
 * Reserves and claims nothing.
 */
export async function sendRefusals(
  { directory, lanes, clock, store, ledger }: SendRefusalDeps,
  relayer: Relayer,
  { request, tags = null }: WantedTransaction,
  asker: Asker,
): Promise<{ readonly refusals: readonly CallRefusal[]; readonly allowed: Allowed | null }> {
  let allowed: Allowed | null = null;
  const refusals = await refusalsBy([
    () => requireActive(relayer),
    () => {
      const context = { relayer, nowMs: clock.nowMs(), earlier: null, asker };
      allowed = allowedContent(directory.chainOf(relayer), request, context);
      return ledger.requireRoom(relayer.id, allowed.spends);
    },
    () => requireFreeExternalId(store.read, relayer.id, tags),
    () => lanes.takeRoom(laneOf(relayer), roomOf(allowed?.approval ?? null))(),
  ]);
  return { refusals, allowed };
}
