import { Memo, xdr } from '@stellar/stellar-sdk';
import type { StellarOperationsContent } from '../../core/transaction/stellar.js';

/** Content that uses a sequence number and changes nothing: BumpSequence to a number that is never ahead. It is valid for ever. */
export function fillerOf(account: string): StellarOperationsContent {
  const body = xdr.OperationBody.bumpSequence(new xdr.BumpSequenceOp({ bumpTo: new xdr.Int64(0n) }));
  return {
    network: 'stellar',
    kind: 'operations',
    sourceAccount: account,
    operations: [new xdr.Operation({ sourceAccount: null, body }).toXDR('base64')],
    memo: Memo.none().toXDRObject().toXDR('base64'),
    auth: 'given',
    sorobanData: null,
    minTimeS: 0n,
    maxTimeS: null,
    maxFeeStroops: null,
  };
}
