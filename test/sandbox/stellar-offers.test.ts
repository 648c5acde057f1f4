import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Keypair, Operation, type xdr } from '@stellar/stellar-sdk';
import { liabilitiesOf } from '../../src/sandbox/stellar/operations/order-book.js';
import { emptyState, type LedgerState, lineFlag, newAccount, trustlineKey } from '../../src/sandbox/stellar/state.js';
import { createRandom } from '../support/seeded-random.js';
import { header, runOperation } from '../support/stellar-rules.js';

const [issuer, maker, taker, bare] = Array.from({ length: 4 }, () => Keypair.random().publicKey()) as [string, string, string, string];
const usd = new Asset('USD', issuer);
const eur = new Asset('EUR', issuer);
const native = Asset.native();
const lumens = 1_000_000_000n;
const units = 1_000_000n;

/** A ledger in which the maker and the taker have lumens, USD and EUR. */
function ledger(): LedgerState {
  const state = emptyState();
  for (const id of [issuer, maker, taker, bare]) state.accounts.set(id, newAccount(id, lumens, header));
  for (const account of [maker, taker])
    for (const asset of [usd, eur].map((one) => one.toXdrObject()))
      state.trustlines.set(trustlineKey(account, asset), {
        account,
        asset,
        balance: units,
        limit: 10n * units,
        selling: 0n,
        buying: 0n,
        flags: lineFlag.authorized,
        modifiedAt: 1,
      });
  return state;
}

const amount = (stroops: bigint): string => `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, '0')}`;
const sell = (selling: Asset, buying: Asset, stroops: bigint, price: number | string | { n: number; d: number }, offerId = '0') =>
  Operation.manageSellOffer({ selling, buying, amount: amount(stroops), price, offerId });
const buy = (selling: Asset, buying: Asset, stroops: bigint, price: number | string | { n: number; d: number }) =>
  Operation.manageBuyOffer({ selling, buying, buyAmount: amount(stroops), price });
const receive = (sendAsset: Asset, sendMax: bigint, destAsset: Asset, destAmount: bigint, destination = taker, path: Asset[] = []) =>
  Operation.pathPaymentStrictReceive({ sendAsset, sendMax: amount(sendMax), destination, destAsset, destAmount: amount(destAmount), path });
const pay = (sendAsset: Asset, sendAmount: bigint, destAsset: Asset, destMin: bigint, destination = taker, path: Asset[] = []) =>
  Operation.pathPaymentStrictSend({ sendAsset, sendAmount: amount(sendAmount), destination, destAsset, destMin: amount(destMin), path });

const lineOf = (state: LedgerState, account: string, asset: Asset) => {
  const line = state.trustlines.get(trustlineKey(account, asset.toXdrObject()));
  assert.ok(line !== undefined);
  return line;
};

/** What an offer, the second of two, or a path payment does to an order book with one offer of the maker: 1,000 USD at 2 stroops each. */
const outcomes: readonly (readonly [name: string, source: string, operation: xdr.Operation, code: string, rest: readonly bigint[]])[] = [
  ['an offer at a price that is too low stays', taker, sell(native, usd, 100n, '0.6'), 'manageSellOfferSuccess', [1_000n, 100n]],
  ['a sale takes a part', taker, sell(native, usd, 100n, '0.5'), 'manageSellOfferSuccess', [950n]],
  ['a sale takes all, and the rest stays', taker, sell(native, usd, 2_100n, '0.5'), 'manageSellOfferSuccess', [100n]],
  ['a purchase takes a part', taker, buy(native, usd, 100n, '2'), 'manageBuyOfferSuccess', [900n]],
  ['a purchase takes all, and the rest stays', taker, buy(native, usd, 1_010n, '2'), 'manageBuyOfferSuccess', [20n]],
  [
    'a passive offer takes none of the same price',
    taker,
    Operation.createPassiveSellOffer({ selling: native, buying: usd, amount: amount(100n), price: '0.5' }),
    'manageSellOfferSuccess',
    [1_000n, 100n],
  ],
  ['an offer of its own', maker, sell(native, usd, 100n, '0.5'), 'manageSellOfferCrossSelf', [1_000n]],
  ['an offer that does not exist', maker, sell(native, usd, 0n, '1', '77'), 'manageSellOfferNotFound', [1_000n]],
  ["another one's offer", taker, sell(usd, native, 0n, '1', '1'), 'manageSellOfferNotFound', [1_000n]],
  ['a change of price', maker, sell(usd, native, 500n, '3', '1'), 'manageSellOfferSuccess', [500n]],
  ['a deletion', maker, sell(usd, native, 0n, '3', '1'), 'manageSellOfferSuccess', []],
  ['equal assets', taker, sell(usd, usd, 1n, '1'), 'manageSellOfferMalformed', [1_000n]],
  ['a deletion without an offer', taker, sell(usd, native, 0n, '1'), 'manageSellOfferMalformed', [1_000n]],
  ['no line of the sold asset', bare, sell(usd, native, 1n, '1'), 'manageSellOfferSellNoTrust', [1_000n]],
  ['no line of the bought asset', bare, buy(native, usd, 1n, '1'), 'manageBuyOfferBuyNoTrust', [1_000n]],
  ['more than it has', taker, sell(usd, native, units + 1n, '9'), 'manageSellOfferUnderfunded', [1_000n]],
  ['more than other offers leave', maker, sell(usd, eur, units - 999n, '9'), 'manageSellOfferUnderfunded', [1_000n]],
  ['more than its line can hold', taker, buy(native, usd, 9n * units + 1n, '1'), 'manageBuyOfferLineFull', [1_000n]],
  ['a payment of an exact amount', taker, receive(native, 200n, usd, 100n), 'pathPaymentStrictReceiveSuccess', [900n]],
  ['a payment with an exact amount', taker, pay(native, 200n, usd, 100n), 'pathPaymentStrictSendSuccess', [900n]],
  ['a payment of one asset', taker, receive(usd, 5n, usd, 5n, maker), 'pathPaymentStrictReceiveSuccess', [1_000n]],
  ['a payment that costs too much', taker, receive(native, 199n, usd, 100n), 'pathPaymentStrictReceiveOverSendmax', [1_000n]],
  ['a payment that brings too little', taker, pay(native, 200n, usd, 101n), 'pathPaymentStrictSendUnderDestmin', [1_000n]],
  ['a payment that the book cannot give', taker, receive(native, lumens, usd, 1_001n), 'pathPaymentStrictReceiveTooFewOffers', [1_000n]],
  ['a payment that the book cannot take', taker, pay(native, 3_000n, usd, 1n), 'pathPaymentStrictSendTooFewOffers', [1_000n]],
  ['a path without offers', taker, receive(native, 200n, usd, 100n, taker, [eur]), 'pathPaymentStrictReceiveTooFewOffers', [1_000n]],
  ['a payment by its own offer', maker, receive(native, 200n, usd, 100n), 'pathPaymentStrictReceiveOfferCrossSelf', [1_000n]],
  ['a receiver without a line', taker, receive(native, 200n, usd, 100n, bare), 'pathPaymentStrictReceiveNoTrust', [1_000n]],
  [
    'a receiver that does not exist',
    taker,
    pay(native, 200n, usd, 100n, Keypair.random().publicKey()),
    'pathPaymentStrictSendNoDestination',
    [1_000n],
  ],
  ['a payer without a line', bare, pay(usd, 5n, usd, 5n), 'pathPaymentStrictSendSrcNoTrust', [1_000n]],
  ['more lumens than it can spend', taker, pay(native, lumens, usd, 5n), 'pathPaymentStrictSendUnderfunded', [1_000n]],
  ['more lumens than are left', taker, receive(native, lumens, native, lumens, maker), 'pathPaymentStrictReceiveUnderfunded', [1_000n]],
];

describe('offers and path payments on the local Stellar ledger', () => {
  for (const [name, source, operation, code, rest] of outcomes)
    it(`${name}: ${code}`, () => {
      const state = ledger();
      assert.equal(runOperation(state, maker, sell(usd, native, 1_000n, '2')), 'manageSellOfferSuccess');
      // The ledger keeps nothing of an operation that fails.
      const before = { ...state, offers: new Map(state.offers) };
      assert.equal(runOperation(state, source, operation), code);
      const offers = code.endsWith('Success') ? state.offers : before.offers;
      assert.deepEqual(
        [...offers.values()].map((offer) => offer.amount),
        rest,
      );
    });

  it('an account without a reserve for the entry makes no offer', () => {
    const state = ledger();
    state.accounts.set(taker, newAccount(taker, 2n * header.baseReserveStroops, header));
    assert.equal(runOperation(state, taker, sell(usd, native, 1n, '1')), 'manageSellOfferLowReserve');
  });

  it('an issuer that revokes an authorization ends the offers of the line', () => {
    const state = ledger();
    runOperation(state, maker, sell(usd, native, 1_000n, '2'));
    state.accounts.set(issuer, { ...newAccount(issuer, lumens, header), flags: 2 });
    const revoke = Operation.setTrustLineFlags({ trustor: maker, asset: usd, flags: { authorized: false } });
    assert.equal(runOperation(state, issuer, revoke), 'setTrustLineFlagsSuccess');
    const { subEntries, buying } = state.accounts.get(maker) ?? assert.fail();
    assert.deepEqual([state.offers.size, lineOf(state, maker, usd).selling, buying, subEntries], [0, 0n, 0n, 0]);
  });

  it('random offers: nothing is made or lost, and what offers bind is what they can take', () => {
    const random = createRandom(7);
    for (let round = 0; round < 40; round += 1) {
      const state = ledger();
      for (let step = 0; step < 30; step += 1) {
        const [selling, buying] = random.chance(0.5) ? [usd, native] : [native, usd];
        const price = { n: random.between(1, 9), d: random.between(1, 9) };
        const stroops = BigInt(random.between(1, 5_000));
        const source = random.chance(0.5) ? maker : taker;
        const kept = { ...state, accounts: new Map(state.accounts), trustlines: new Map(state.trustlines), offers: new Map(state.offers) };
        const operation = random.chance(0.7)
          ? sell(selling, buying, stroops, price)
          : random.chance(0.5)
            ? buy(selling, buying, stroops, price)
            : receive(selling, 9_999n, buying, stroops, source);
        if (!runOperation(state, source, operation).endsWith('Success'))
          for (const name of ['accounts', 'trustlines', 'offers'] as const) {
            state[name].clear();
            for (const [key, value] of kept[name]) (state[name] as Map<string, unknown>).set(key, value);
          }
        const lines = [lineOf(state, maker, usd), lineOf(state, taker, usd)];
        const accounts = [maker, taker].map((id) => state.accounts.get(id) ?? assert.fail());
        assert.equal(
          lines.reduce((sum, { balance }) => sum + balance, 0n),
          2n * units,
        );
        assert.equal(
          accounts.reduce((sum, { balanceStroops }) => sum + balanceStroops, 0n),
          2n * lumens,
        );
        for (const [index, id] of [maker, taker].entries()) {
          const own = [...state.offers.values()].filter(({ seller }) => seller === id);
          const bound = (asset: Asset) =>
            own
              .filter((offer) => Asset.fromOperation(offer.selling).equals(asset))
              .reduce((sum, offer) => sum + liabilitiesOf(offer).selling, 0n);
          assert.deepEqual([lines[index]?.selling, accounts[index]?.selling], [bound(usd), bound(native)]);
          assert.equal(accounts[index]?.subEntries, own.length);
        }
      }
    }
  });
});
