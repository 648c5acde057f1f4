import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Claimant, Keypair, Operation, xdr } from '@stellar/stellar-sdk';
import { whyInvalid } from '../../../src/chains/stellar/operation-validity.js';

const keyOf = (seed: number) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, seed)).publicKey();
const [own, other, third] = [keyOf(1), keyOf(2), keyOf(3)];
const [dollar, mine] = [new Asset('USD', other), new Asset('OWN', own)];
const offer = { selling: Asset.native(), buying: dollar, price: '1' };
const sending = { sendAsset: Asset.native(), destAsset: dollar, destination: third };
const poolId = 'ab'.repeat(32);

/** Valid operations of the account `own`, each number of which is a different one. */
const valid: readonly xdr.Operation[] = [
  Operation.payment({ destination: third, asset: Asset.native(), amount: '5' }),
  Operation.createAccount({ destination: third, startingBalance: '6' }),
  Operation.pathPaymentStrictReceive({ ...sending, sendMax: '7', destAmount: '8' }),
  Operation.pathPaymentStrictSend({ ...sending, sendAmount: '9', destMin: '10' }),
  Operation.manageSellOffer({ ...offer, amount: '11', offerId: '12' }),
  Operation.manageBuyOffer({ ...offer, buyAmount: '13', offerId: '14' }),
  Operation.createPassiveSellOffer({ ...offer, amount: '15' }),
  Operation.createClaimableBalance({ asset: Asset.native(), amount: '16', claimants: [new Claimant(third)] }),
  Operation.clawback({ asset: mine, from: third, amount: '17' }),
  Operation.liquidityPoolDeposit({ liquidityPoolId: poolId, maxAmountA: '18', maxAmountB: '19', minPrice: '1', maxPrice: '2' }),
  Operation.liquidityPoolWithdraw({ liquidityPoolId: poolId, amount: '20', minAmountA: '21', minAmountB: '22' }),
  Operation.bumpSequence({ bumpTo: '23' }),
];

/** The lowest amount of each field that a ledger accepts. */
const lowest: readonly (readonly [kind: xdr.OperationBody['type'], field: string, least: bigint])[] = [
  ['payment', 'amount', 1n],
  ['createAccount', 'startingBalance', 0n],
  ['pathPaymentStrictReceive', 'sendMax', 1n],
  ['pathPaymentStrictReceive', 'destAmount', 1n],
  ['pathPaymentStrictSend', 'sendAmount', 1n],
  ['pathPaymentStrictSend', 'destMin', 1n],
  ['manageSellOffer', 'amount', 0n],
  ['manageBuyOffer', 'buyAmount', 0n],
  ['createPassiveSellOffer', 'amount', 1n],
  ['createClaimableBalance', 'amount', 1n],
  ['clawback', 'amount', 1n],
  ['liquidityPoolDeposit', 'maxAmountA', 1n],
  ['liquidityPoolDeposit', 'maxAmountB', 1n],
  ['liquidityPoolWithdraw', 'amount', 1n],
  ['liquidityPoolWithdraw', 'minAmountA', 0n],
  ['liquidityPoolWithdraw', 'minAmountB', 0n],
  ['bumpSequence', 'bumpTo', 0n],
];

/** A copy of the valid operation of this kind with another value of the field. */
function changed(kind: xdr.OperationBody['type'], field: string, value: unknown): xdr.Operation {
  const sample = valid.find(({ body }) => body.type === kind) ?? assert.fail(kind);
  const copy = xdr.Operation.fromXdr(sample.toXdr());
  const body = xdr.expectUnionVariant(copy.body, kind).value as unknown as Record<string, unknown>;
  assert.ok(field in body, `${kind} has ${Object.keys(body)}`);
  body[field] = value;
  return copy;
}

describe('the validity of operations', () => {
  it('validity of operations: each sample is valid, and has every field with a lowest amount', () => {
    for (const operation of valid) assert.equal(whyInvalid(operation, own), null, operation.body.type);
    assert.deepEqual([...new Set(lowest.map(([kind]) => kind))].sort(), valid.map(({ body }) => body.type).sort());
  });

  for (const [kind, field, least] of lowest)
    it(`validity of operations: ${field} of ${kind} is at least ${least}`, () => {
      assert.equal(whyInvalid(changed(kind, field, least), own), null);
      assert.notEqual(whyInvalid(changed(kind, field, least - 1n), own), null);
    });

  it('validity of operations: an asset in a path counts as well', () => {
    const blank = xdr.Asset.assetTypeCreditAlphanum4(
      new xdr.AlphaNum4({ assetCode: Buffer.alloc(4), issuer: Keypair.fromPublicKey(other).xdrAccountId() }),
    );
    for (const kind of ['pathPaymentStrictReceive', 'pathPaymentStrictSend'] as const)
      for (const [field, value] of [
        ['path', [blank]],
        ['sendAsset', blank],
        ['destAsset', blank],
      ] as const)
        assert.deepEqual(whyInvalid(changed(kind, field, value), own)?.reason, 'its asset is not valid', `${kind} ${field}`);
  });
});
