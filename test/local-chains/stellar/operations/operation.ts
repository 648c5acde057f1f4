import { xdr } from '@stellar/stellar-sdk';
import type { OperationOutcome } from '../result.js';
import type { Header, LedgerState, Thresholds } from '../state.js';

/** Where an operation is applied. */
export interface OperationContext {
  /** Changed by the operation; thrown away when any operation of its transaction fails. */
  readonly state: LedgerState;
  readonly header: Header;
  /** The account, G..., that the operation acts for. It is there. */
  readonly source: string;
  /** Hash of the passphrase. */
  readonly networkId: Buffer;
  /** What the transaction declares of itself, when it is a Soroban one, and the least fee for that. */
  readonly soroban: { readonly data: xdr.SorobanTransactionData; readonly nonRefundableStroops: bigint } | null;
}

/** One kind of operation. */
export interface OperationRules {
  /** What its source's signatures must weigh. */
  readonly level: keyof Thresholds;
  /** What is wrong with it whatever the ledger holds (`doCheckValid`); null: nothing. */
  check(body: xdr.OperationBody, source: string): OperationOutcome | null;
  /** Does it (`doApply`). */
  apply(body: xdr.OperationBody, context: OperationContext): OperationOutcome;
}

/** An operation that was done. */
export function done(result: xdr.OperationResultTr): OperationOutcome {
  return { isSuccess: true, result: xdr.OperationResult.opInner(result) };
}

/** An operation that failed by a rule of its own. */
export function failed(result: xdr.OperationResultTr): OperationOutcome {
  return { isSuccess: false, result: xdr.OperationResult.opInner(result) };
}
