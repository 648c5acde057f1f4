import type { AppliedTransaction } from '../apply.js';
import type { ClosedLedger } from '../closed-ledger.js';
import type { StellarLedger } from '../ledger.js';

/** What a node knows of the ledger: all of it, or less when it is behind. */
export interface View {
  readonly latest: ClosedLedger;
  readonly oldest: ClosedLedger;
  at(sequence: number): ClosedLedger | undefined;
  find(hash: string): { readonly ledger: ClosedLedger; readonly transaction: AppliedTransaction } | undefined;
}

/** The ledger as a node sees it that is so many ledgers behind. */
export function viewOf(ledger: StellarLedger, ledgersBehind: number): View {
  const oldest = ledger.oldest();
  const latest = ledger.at(Math.max(oldest.sequence, ledger.latest().sequence - ledgersBehind)) ?? ledger.latest();
  return {
    latest,
    oldest,
    at: (sequence) => (sequence <= latest.sequence ? ledger.at(sequence) : undefined),
    find(hash) {
      const found = ledger.find(hash);
      return found === undefined || found.ledger.sequence > latest.sequence ? undefined : found;
    },
  };
}

/** The ledgers that a node has, as most answers tell them. */
export function rangeOf({ latest, oldest }: View) {
  return { oldest: oldest.sequence, latest: latest.sequence };
}
