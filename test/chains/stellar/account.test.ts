import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Asset, Claimant, Keypair, Operation, type xdr } from '@stellar/stellar-sdk';
import { whyPowerless } from '../../../src/chains/stellar/account.js';
import type { Account } from '../../../src/chains/stellar/read-entries.js';

const other = Keypair.random().publicKey();
const asset = new Asset('USD', other);

function needed(...operations: readonly xdr.Operation[]): number {
  const account: Account = {
    sequence: 1n,
    sequenceLedger: null,
    balanceStroops: 1n,
    reservedEntries: 2n,
    sellingLiabilitiesStroops: 0n,
    keyWeight: 0,
    signers: [],
    thresholds: { low: 3, medium: 5, high: 7 },
    ledger: 1n,
  };
  const sufficient = [3, 5, 7].find((keyWeight) => whyPowerless({ ...account, keyWeight }, operations) === null);
  assert.ok(sufficient !== undefined);
  assert.match(whyPowerless({ ...account, keyWeight: sufficient - 1 }, operations) ?? '', new RegExp(` ${sufficient};`));
  return sufficient;
}

it('account: each operation needs the threshold that the ledger demands of it', () => {
  const pay = Operation.payment({ destination: other, asset: Asset.native(), amount: '1' });
  assert.equal(needed(), 3);
  for (const low of [
    Operation.bumpSequence({ bumpTo: '0' }),
    Operation.claimClaimableBalance({ balanceId: `00000000${'ab'.repeat(32)}` }),
    Operation.setTrustLineFlags({ trustor: other, asset, flags: { authorized: true } }),
    Operation.allowTrust({ trustor: other, assetCode: 'USD', authorize: 1 }),
    Operation.inflation({}),
    Operation.extendFootprintTtl({ extendTo: 100 }),
    Operation.restoreFootprint({}),
  ]) {
    assert.equal(needed(low), 3, low.body.type);
    assert.equal(needed(low, pay), 5);
  }
  for (const medium of [
    pay,
    Operation.createClaimableBalance({ asset, amount: '1', claimants: [new Claimant(other)] }),
    Operation.setOptions({ homeDomain: 'example.com' }),
  ])
    assert.equal(needed(medium), 5, medium.body.type);
  for (const high of [Operation.setOptions({ masterWeight: 1 }), Operation.accountMerge({ destination: other })])
    assert.equal(needed(pay, high), 7, high.body.type);
});
