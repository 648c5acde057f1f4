import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import { stellarKey, stellarNetwork, stellarRelayer } from '../../support/stellar.js';
import { silentLog } from '../../support/stored-samples.js';

const own = stellarKey();
const user = stellarKey();
const network = stellarNetwork({ rpcUrls: [{ url: 'http://127.0.0.1:9', weight: 100 }] });

/** A payment by the relayer's account that this account numbers and pays the fee of. */
function envelope(payer: string, fee: string) {
  return new TransactionBuilder(new Account(payer, '6'), { fee, networkPassphrase: network.passphrase })
    .addOperation(Operation.payment({ destination: user.address, asset: Asset.native(), amount: '1', source: own.address }))
    .setTimeout(0)
    .build();
}

it('signing an envelope: a fee that the relayer pays is within its max_fee, and the fee of another is its own', (test) => {
  const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 1_000, log: silentLog });
  test.after(() => chain.close());
  const relayer = stellarRelayer(own.address, { maxFeeStroops: 500n });
  const check = (transaction: string): string | null => {
    try {
      chain.signForeign?.check(transaction, relayer);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const inner = envelope(user.address, '100');
  inner.sign(user.keys);
  const bumped = (fee: string) => TransactionBuilder.buildFeeBumpTransaction(own.keys, fee, inner, network.passphrase).toXDR();
  assert.deepEqual(
    {
      'a plain envelope at the limit': check(envelope(own.address, '500').toXDR()),
      'a plain envelope above it': check(envelope(own.address, '501').toXDR()),
      "another's envelope": check(envelope(user.address, '501').toXDR()),
      'a fee bump at the limit': check(bumped('250')),
      'a fee bump above it': check(bumped('251')),
    },
    {
      'a plain envelope at the limit': null,
      'a plain envelope above it': "unsigned_xdr has a fee of 501 stroops; the relayer's policy max_fee allows at most 500",
      "another's envelope": null,
      'a fee bump at the limit': null,
      'a fee bump above it': "unsigned_xdr has a fee of 502 stroops; the relayer's policy max_fee allows at most 500",
    },
  );
});
