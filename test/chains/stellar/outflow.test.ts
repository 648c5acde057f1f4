import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Asset, Claimant, Operation } from '@stellar/stellar-sdk';
import { nativeOutflowStroops } from '../../../src/chains/stellar/outflow.js';
import { stellarKey } from '../../support/stellar.js';

const own = stellarKey().address;
const other = stellarKey().address;
const [native, dollar] = [Asset.native(), new Asset('USD', other)];
const to = { destination: other };

it('outflow: counts the most that each operation of the account can pay in the native asset', () => {
  const one = (source?: string) => (source === undefined ? {} : { source });
  const operations = (source?: string) => ({
    createAccount: Operation.createAccount({ ...to, startingBalance: '0.0000003', ...one(source) }),
    payment: Operation.payment({ ...to, asset: native, amount: '0.0000005', ...one(source) }),
    'payment of another asset': Operation.payment({ ...to, asset: dollar, amount: '0.0000007', ...one(source) }),
    'path to receive': Operation.pathPaymentStrictReceive({
      ...{ ...to, sendAsset: native, sendMax: '0.0000011', destAsset: dollar, destAmount: '0.0000013', path: [] },
      ...one(source),
    }),
    'path to receive native': Operation.pathPaymentStrictReceive({
      ...{ ...to, sendAsset: dollar, sendMax: '0.0000017', destAsset: native, destAmount: '0.0000019', path: [] },
      ...one(source),
    }),
    'path to send': Operation.pathPaymentStrictSend({
      ...{ ...to, sendAsset: native, sendAmount: '0.0000023', destAsset: dollar, destMin: '0.0000029', path: [] },
      ...one(source),
    }),
    'path to send native': Operation.pathPaymentStrictSend({
      ...{ ...to, sendAsset: dollar, sendAmount: '0.0000031', destAsset: native, destMin: '0.0000037', path: [] },
      ...one(source),
    }),
    'sell offer': Operation.manageSellOffer({ selling: native, buying: dollar, amount: '0.0000041', price: 2, ...one(source) }),
    'sell offer of another asset': Operation.manageSellOffer({
      selling: dollar,
      buying: native,
      amount: '0.0000043',
      price: 2,
      ...one(source),
    }),
    'passive offer': Operation.createPassiveSellOffer({ selling: native, buying: dollar, amount: '0.0000047', price: 2, ...one(source) }),
    'buy offer': Operation.manageBuyOffer({ selling: native, buying: dollar, buyAmount: '0.0000053', price: '0.5', ...one(source) }),
    'claimable balance': Operation.createClaimableBalance({
      ...{ asset: native, amount: '0.0000059', claimants: [new Claimant(other)] },
      ...one(source),
    }),
    'pool deposit': Operation.liquidityPoolDeposit({
      ...{ liquidityPoolId: 'ab'.repeat(32), maxAmountA: '0.0000061', maxAmountB: '0.0000067', minPrice: '1', maxPrice: '2' },
      ...one(source),
    }),
    data: Operation.manageData({ name: 'a', value: 'b', ...one(source) }),
  });
  const outflows = (source?: string) =>
    Object.fromEntries(Object.entries(operations(source)).map(([name, one]) => [name, nativeOutflowStroops([one.toXDR('base64')], own)]));
  const expected = {
    createAccount: 3n,
    payment: 5n,
    'payment of another asset': 0n,
    'path to receive': 11n,
    'path to receive native': 0n,
    'path to send': 23n,
    'path to send native': 0n,
    'sell offer': 41n,
    'sell offer of another asset': 0n,
    'passive offer': 47n,
    'buy offer': 27n,
    'claimable balance': 59n,
    'pool deposit': 61n,
    data: 0n,
  };
  assert.deepEqual(outflows(), expected);
  assert.deepEqual(outflows(own), expected);
  assert.deepEqual(new Set(Object.values(outflows(other))), new Set([0n]));
  const all = Object.values(operations()).map((operation) => operation.toXDR('base64'));
  assert.equal(nativeOutflowStroops(all, own), 3n + 5n + 11n + 23n + 41n + 47n + 27n + 59n + 61n);
});
