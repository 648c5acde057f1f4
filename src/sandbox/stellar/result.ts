import { xdr } from '@stellar/stellar-sdk';
import type { Frame } from './frame.js';

/** The result codes without operation results that this ledger uses. */
export type RefusalCode =
  | 'txTooEarly'
  | 'txTooLate'
  | 'txMissingOperation'
  | 'txBadSeq'
  | 'txBadAuth'
  | 'txInsufficientBalance'
  | 'txNoAccount'
  | 'txInsufficientFee'
  | 'txBadAuthExtra'
  | 'txNotSupported'
  | 'txBadSponsorship'
  | 'txBadMinSeqAgeOrGap'
  | 'txMalformed'
  | 'txSorobanInvalid';

/** The result of a transaction, applied or predicted. */
export interface Outcome {
  /** The owner of the code: the fee-bump envelope or the (inner) transaction. */
  readonly of: 'fee bump' | 'transaction';
  readonly code: RefusalCode | 'txSuccess' | 'txFailed';
  /** One result per operation, for `txSuccess` and `txFailed`. */
  readonly operations: readonly xdr.OperationResult[];
  /** For `txInsufficientFee` the full fee that would be accepted; otherwise the fee that the caller sets. */
  readonly feeStroops?: bigint;
}

/** Builds a refusal of a transaction or its fee-bump envelope. */
export function refusal(code: RefusalCode, of: Outcome['of'] = 'transaction', feeStroops?: bigint): Outcome {
  return { of, code, operations: [], ...(feeStroops === undefined ? {} : { feeStroops }) };
}

/** The result of one operation. */
export interface OperationOutcome {
  readonly isSuccess: boolean;
  readonly result: xdr.OperationResult;
  /** For a successful host function: its value and the used part of the refundable fee. */
  readonly host?: { readonly returnValue: xdr.ScVal | null; readonly refundableStroops: bigint };
}

/** Encodes an outcome as a transaction result. */
export function transactionResult(frame: Frame, outcome: Outcome, feeChargedStroops: bigint): xdr.TransactionResult {
  return new xdr.TransactionResult({
    feeCharged: outcome.feeStroops ?? feeChargedStroops,
    result: frame.isFeeBump ? feeBumpResult(frame, outcome) : plainResult(outcome),
    ext: xdr.TransactionResultExt.v0(),
  });
}

function plainResult({ code, operations }: Outcome): xdr.TransactionResultResult {
  if (code === 'txSuccess') return xdr.TransactionResultResult.txSuccess([...operations]);
  if (code === 'txFailed') return xdr.TransactionResultResult.txFailed([...operations]);
  return xdr.TransactionResultResult[code]();
}

function feeBumpResult(frame: Frame, outcome: Outcome): xdr.TransactionResultResult {
  if (outcome.of === 'fee bump') return plainResult(outcome);
  const pair = new xdr.InnerTransactionResultPair({
    transactionHash: Buffer.from(frame.innerHash, 'hex'),
    result: new xdr.InnerTransactionResult({
      // Since protocol 25 only the fee-bump envelope reports the fee (`FeeBumpTransactionFrame::processFeeSeqNum`).
      feeCharged: 0n,
      result: innerResult(outcome),
      ext: xdr.InnerTransactionResultExt.v0(),
    }),
  });
  return outcome.code === 'txSuccess'
    ? xdr.TransactionResultResult.txFeeBumpInnerSuccess(pair)
    : xdr.TransactionResultResult.txFeeBumpInnerFailed(pair);
}

function innerResult({ code, operations }: Outcome): xdr.InnerTransactionResultResult {
  if (code === 'txSuccess') return xdr.InnerTransactionResultResult.txSuccess([...operations]);
  if (code === 'txFailed') return xdr.InnerTransactionResultResult.txFailed([...operations]);
  return xdr.InnerTransactionResultResult[code]();
}
