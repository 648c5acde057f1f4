import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { broadcastTable } from '../../../src/chains/stellar/broadcast-table.js';
import { resultCodesOf, sentenceOf } from '../../../src/chains/stellar/result-codes.js';

/** Builds a result that consists of a code alone. */
function resultOf(code: number): xdr.TransactionResult {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32BE(code, 8);
  return xdr.TransactionResult.fromXdr(bytes);
}

describe('broadcast table', () => {
  it('broadcast table: contains every code of the protocol, spelled as in the protocol', () => {
    // A new code in the SDK fails this test: decide what it means.
    const refusals = [...xdr.TransactionResultCode.schema.nameByValue].filter(([code]) => code < -1 && code !== -13);
    const codes = refusals.map(([code]) => resultCodesOf(resultOf(code)).transaction);
    assert.deepEqual([...codes, 'txFAILED'].sort(), Object.keys(broadcastTable).sort());
  });

  it('broadcast table: reports the code of the first failed operation', () => {
    const inner = (result: xdr.OperationResult[]): xdr.TransactionResult =>
      new xdr.TransactionResult({
        feeCharged: 100n,
        result: xdr.TransactionResultResult.txFailed(result),
        ext: xdr.TransactionResultExt.v0(),
      });
    const paid = xdr.OperationResult.opInner(xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess()));
    const refused = xdr.OperationResult.opInner(xdr.OperationResultTr.payment(xdr.PaymentResult.paymentNoTrust()));
    assert.equal(sentenceOf(resultCodesOf(inner([paid, refused]))), 'txFAILED: operation 2: PAYMENT_NO_TRUST');
    assert.equal(sentenceOf(resultCodesOf(inner([xdr.OperationResult.opBadAuth()]))), 'txFAILED: operation 1: opBAD_AUTH');
  });
});
