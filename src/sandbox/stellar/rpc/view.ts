import type { AppliedTransaction } from '../apply.js';
import type { ClosedLedger } from '../closed-ledger.js';
import type { StellarLedger } from '../ledger.js';

/** A node's view of the ledger, which may lag. */
export interface View {
  readonly latest: ClosedLedger;
  readonly oldest: ClosedLedger;
  at(sequence: number): ClosedLedger | undefined;
  find(hash: string): { readonly ledger: ClosedLedger; readonly transaction: AppliedTransaction } | undefined;
}

/** Returns the view of a node that lags by some ledgers and has none before `oldestLedger`. */
export function viewOf(ledger: StellarLedger, ledgersBehind: number, oldestLedger = 0): View {
  const oldest = ledger.at(oldestLedger) ?? ledger.oldest();
  const latest = ledger.at(Math.max(oldest.sequence, ledger.latest().sequence - ledgersBehind)) ?? ledger.latest();
  return {
    latest,
    oldest,
    at: (sequence) => (sequence >= oldest.sequence && sequence <= latest.sequence ? ledger.at(sequence) : undefined),
    find(hash) {
      const found = ledger.find(hash);
      const sequence = found?.ledger.sequence ?? 0;
      return sequence < oldest.sequence || sequence > latest.sequence ? undefined : found;
    },
  };
}

/** The ledger range of a node, a part of most answers. */
export function rangeOf({ latest, oldest }: View) {
  return { oldest: oldest.sequence, latest: latest.sequence };
}
