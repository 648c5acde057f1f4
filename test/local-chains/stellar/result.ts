import { xdr } from '@stellar/stellar-sdk';
import type { Frame } from './frame.js';

/** Result codes without operations' results that this ledger gives. */
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
  | 'txBadMinSeqAgeOrGap'
  | 'txMalformed'
  | 'txSorobanInvalid';

/** What became of a transaction, or would. */
export interface Outcome {
  /** Whose code it is: the fee bump's own, or the transaction's (that within, of a fee bump). */
  readonly of: 'fee bump' | 'transaction';
  readonly code: RefusalCode | 'txSuccess' | 'txFailed';
  /** With `txSuccess` and `txFailed`: one for each operation. */
  readonly operations: readonly xdr.OperationResult[];
  /** On `txInsufficientFee`: the full fee that works. Otherwise what the outcome's holder decides. */
  readonly feeStroops?: bigint;
}

/** A refusal by the transaction itself, or by what bumps it. */
export function refusal(code: RefusalCode, of: Outcome['of'] = 'transaction', feeStroops?: bigint): Outcome {
  return { of, code, operations: [], ...(feeStroops === undefined ? {} : { feeStroops }) };
}

/** What one operation came to. */
export interface OperationOutcome {
  readonly isSuccess: boolean;
  readonly result: xdr.OperationResult;
  /** Of a host function that succeeded: what it gave, and what it used of the refundable part of its fee. */
  readonly host?: { readonly returnValue: xdr.ScVal; readonly refundableStroops: bigint };
}

/** An outcome as the network tells it. */
export function transactionResult(frame: Frame, outcome: Outcome, feeChargedStroops: bigint): xdr.TransactionResult {
  return new xdr.TransactionResult({
    feeCharged: new xdr.Int64(outcome.feeStroops ?? feeChargedStroops),
    result: frame.isFeeBump ? feeBumpResult(frame, outcome) : plainResult(outcome),
    ext: new xdr.TransactionResultExt(0),
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
      // Since protocol 25 the fee is told by the fee bump alone (`FeeBumpTransactionFrame::processFeeSeqNum`).
      feeCharged: new xdr.Int64(0),
      result: innerResult(outcome),
      ext: new xdr.InnerTransactionResultExt(0),
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
