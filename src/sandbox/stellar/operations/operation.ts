import { xdr } from '@stellar/stellar-sdk';
import type { OperationOutcome } from '../result.js';
import type { Header, LedgerState, Thresholds } from '../state.js';

/** The environment of an operation. */
export interface OperationContext {
  /** The state that the operation changes; discarded if any operation of its transaction fails. */
  readonly state: LedgerState;
  readonly header: Header;
  /** The existing account (G...) that the operation acts for. */
  readonly source: string;
  /** Hash of the passphrase. */
  readonly networkId: Uint8Array;
  /** Returns the id of what the operation makes. */
  operationId(): Uint8Array;
  /** The declared resources of a Soroban transaction and their minimum fee. */
  readonly soroban: { readonly data: xdr.SorobanTransactionData; readonly nonRefundableStroops: bigint } | null;
}

/** One kind of operation. */
export interface OperationRules {
  /** The threshold level of its source. */
  level: keyof Thresholds | ((body: xdr.OperationBody) => keyof Thresholds);
  /** Returns the error that does not depend on the ledger (`doCheckValid`); null if valid. */
  check(body: xdr.OperationBody, source: string): OperationOutcome | null;
  /** Applies the operation (`doApply`). */
  apply(body: xdr.OperationBody, context: OperationContext): OperationOutcome;
}

/** Builds a successful result. */
export function done(result: xdr.OperationResultTr): OperationOutcome {
  return { isSuccess: true, result: xdr.OperationResult.opInner(result) };
}

/** Builds a failure of the operation's own rules. */
export function failed(result: xdr.OperationResultTr): OperationOutcome {
  return { isSuccess: false, result: xdr.OperationResult.opInner(result) };
}
