import { accountOf } from '../../src/sandbox/stellar/frame.js';
import type { StellarLedger } from '../../src/sandbox/stellar/ledger.js';

/** A transaction in a ledger. */
export interface LandedTransaction {
  /** Lower-case hex; of a fee bump its own. */
  readonly hash: string;
  readonly sequence: bigint;
  /** Stroops that its only operation pays; 0 when that pays nothing. */
  readonly value: bigint;
  /** The receiver, G...; null: none. */
  readonly receiver: string | null;
  readonly succeeded: boolean;
  readonly ledger: number;
}

/** The transactions of one account in the ledgers. */
export interface StellarBooks {
  /** Number of the newest ledger. */
  readonly height: number;
  /** All transactions with its own sequence numbers, in ledger order. */
  readonly transactions: readonly LandedTransaction[];
  readonly byHash: ReadonlyMap<string, LandedTransaction>;
}

/** Reads an account's transactions. The node must still have every ledger. */
export function readStellarBooks(ledger: StellarLedger, account: string): StellarBooks {
  const transactions: LandedTransaction[] = [];
  for (let number = ledger.oldest().sequence; number <= ledger.latest().sequence; number++) {
    for (const { frame, isSuccess } of ledger.at(number)?.transactions ?? []) {
      if (frame.source !== account) continue;
      const body = frame.transaction.operations[0]?.body;
      const payment = body?.type === 'payment' ? body.paymentOp : null;
      transactions.push({
        hash: frame.hash,
        sequence: frame.sequence,
        value: payment?.amount ?? 0n,
        receiver: payment === null ? null : accountOf(payment.destination),
        succeeded: isSuccess,
        ledger: number,
      });
    }
  }
  return { height: ledger.latest().sequence, transactions, byHash: new Map(transactions.map((landed) => [landed.hash, landed])) };
}
