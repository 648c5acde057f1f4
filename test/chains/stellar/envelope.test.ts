import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Account, Asset, Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { envelopeFromXdr } from '../../../src/chains/stellar/envelope.js';
import { hashOfTransaction, networkIdOf } from '../../../src/chains/stellar/transaction.js';
import { stellarKey, stellarNetwork } from '../../support/stellar.js';
import { v1Of } from '../../support/stellar-xdr.js';

const { passphrase } = stellarNetwork();
const { keys } = stellarKey();

describe('envelope of version 0', () => {
  it('envelope of version 0: becomes the equivalent version 1 envelope with its signatures', () => {
    const transaction = new TransactionBuilder(new Account(keys.publicKey(), '6'), { fee: '300', networkPassphrase: passphrase })
      .addOperation(Operation.payment({ destination: keys.publicKey(), asset: Asset.native(), amount: '1' }))
      .setTimebounds(5, 4_102_444_800)
      .build();
    transaction.sign(keys);
    const v1 = v1Of(transaction.toEnvelope()).tx;
    const v0 = new xdr.TransactionV0({
      sourceAccountEd25519: keys.rawPublicKey(),
      fee: v1.fee,
      seqNum: v1.seqNum,
      timeBounds: xdr.expectUnionVariant(v1.cond, 'precondTime').timeBounds,
      memo: v1.memo,
      operations: v1.operations,
      ext: xdr.TransactionV0Ext.v0(),
    });
    const envelope = xdr.TransactionEnvelope.envelopeTypeTxV0(
      new xdr.TransactionV0Envelope({ tx: v0, signatures: transaction.signatures }),
    ).toXdr('base64');
    const read = envelopeFromXdr(envelope);
    const { sourceAccount, sequence, feeStroops, minTimeS, maxTimeS, hasOtherConditions } = read;
    assert.deepEqual(
      [sourceAccount, sequence, feeStroops, minTimeS, maxTimeS, hasOtherConditions],
      [keys.publicKey(), 7n, 300n, 5n, 4_102_444_800n, false],
    );
    const hash = hashOfTransaction(networkIdOf(passphrase), read.envelope.tx);
    assert.deepEqual(new Uint8Array(hash), new Uint8Array(transaction.hash()));
    const [signature] = read.envelope.signatures;
    assert.ok(signature !== undefined && keys.verify(hash, signature.signature.value));
  });
});
