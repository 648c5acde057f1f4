import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Account, Asset, Claimant, Keypair, Operation, SorobanDataBuilder, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { contentFromRequest } from '../../../src/chains/stellar/content.js';
import { feeLimitOf } from '../../../src/chains/stellar/price-attempt.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { defaultPolicies } from '../../../src/core/records/relayer.js';
import type { StellarRequest } from '../../../src/core/records/stellar.js';
import { stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { v1Of } from '../../support/stellar-xdr.js';

const own = Keypair.random();
const user = Keypair.random();
const other = Keypair.random().publicKey();
const dollar = new Asset('USD', other);
const network = stellarNetwork();

/** The 400 for a request; null: it is accepted. */
function refusalOf(request: Partial<StellarRequest>): string | null {
  const { policies } = stellarRelayer(own.publicKey());
  assert.ok(policies.network === 'stellar');
  try {
    contentFromRequest(stellarRequest(request), { network, account: own.publicKey(), policies, nowMs: Date.now(), earlier: null });
    return null;
  } catch (error) {
    assert.ok(error instanceof DomainError && error.kind === 'invalid', String(error));
    return error.message;
  }
}

/** A transaction with this operation, which `alter` may make invalid: the SDK builds no invalid ones. */
function envelopeOf(keys: Keypair, operation: xdr.Operation, alter: (body: xdr.OperationBody) => void = () => undefined): string {
  const built = new TransactionBuilder(new Account(keys.publicKey(), '6'), { fee: '100', networkPassphrase: network.passphrase })
    .addOperation(operation)
    .setTimeout(0)
    .build()
    .toEnvelope();
  const [first] = v1Of(built).tx.operations;
  assert.ok(first !== undefined);
  alter(first.body);
  return built.toXdr('base64');
}

function changing(kind: xdr.OperationBody['type'], fields: object): (body: xdr.OperationBody) => void {
  return (body) => void Object.assign(xdr.expectUnionVariant(body, kind).value ?? {}, fields);
}

function signedBy(keys: Keypair, envelope: string): string {
  const transaction = TransactionBuilder.fromXdr(envelope, network.passphrase);
  transaction.sign(keys);
  return transaction.toXdr();
}

const pay = Operation.payment({ destination: other, asset: Asset.native(), amount: '1' });
const offer = { selling: Asset.native(), buying: dollar, price: '1' };
const sending = { sendAsset: Asset.native(), destAsset: dollar, destination: other };
const invalid: readonly (readonly [name: string, operation: xdr.Operation, change: (body: xdr.OperationBody) => void, reason: RegExp])[] = [
  [
    'payment',
    pay,
    changing('payment', { amount: 0n }),
    /^transaction_xdr has an invalid payment operation at position 1: its amounts must be positive$/,
  ],
  ['payment of an asset without a code', pay, changing('payment', { asset: blankAsset() }), /its asset is not valid$/],
  [
    'create_account',
    Operation.createAccount({ destination: other, startingBalance: '1' }),
    changing('createAccount', { startingBalance: -1n }),
    /invalid create_account .*positive/,
  ],
  [
    'create_account of itself',
    Operation.createAccount({ destination: own.publicKey(), startingBalance: '1' }),
    () => undefined,
    /source account$/,
  ],
  [
    'path_payment_strict_send',
    Operation.pathPaymentStrictSend({ ...sending, sendAmount: '1', destMin: '1' }),
    changing('pathPaymentStrictSend', { destMin: 0n }),
    /positive$/,
  ],
  [
    'path_payment_strict_receive',
    Operation.pathPaymentStrictReceive({ ...sending, sendMax: '1', destAmount: '1' }),
    changing('pathPaymentStrictReceive', { sendMax: 0n }),
    /positive$/,
  ],
  ['manage_sell_offer of nothing', Operation.manageSellOffer({ ...offer, amount: '0' }), () => undefined, /positive$/],
  [
    'manage_buy_offer without a price',
    Operation.manageBuyOffer({ ...offer, buyAmount: '1' }),
    changing('manageBuyOffer', { price: new xdr.Price({ n: 0, d: 1 }) }),
    /price/,
  ],
  [
    'create_passive_sell_offer of an asset for itself',
    Operation.createPassiveSellOffer({ ...offer, amount: '1', buying: Asset.native() }),
    () => undefined,
    /asset/,
  ],
  ['set_options with one flag both ways', Operation.setOptions({ setFlags: 1, clearFlags: 1 }), () => undefined, /flags/],
  [
    'set_options with a large threshold',
    Operation.setOptions({ lowThreshold: 1 }),
    changing('setOptions', { lowThreshold: 256 }),
    /at most 255/,
  ],
  [
    'set_options with itself as signer',
    Operation.setOptions({ signer: { ed25519PublicKey: own.publicKey(), weight: 1 } }),
    () => undefined,
    /source account/,
  ],
  [
    'change_trust of the native asset',
    Operation.changeTrust({ asset: dollar }),
    changing('changeTrust', { line: xdr.ChangeTrustAsset.assetTypeNative() }),
    /asset/,
  ],
  ['change_trust of an own asset', Operation.changeTrust({ asset: new Asset('USD', own.publicKey()) }), () => undefined, /source account/],
  [
    'create_claimable_balance for nobody',
    Operation.createClaimableBalance({ asset: Asset.native(), amount: '1', claimants: [new Claimant(other)] }),
    changing('createClaimableBalance', { claimants: [] }),
    /claimants/,
  ],
  ['clawback of a foreign asset', Operation.clawback({ asset: dollar, from: user.publicKey(), amount: '1' }), () => undefined, /asset/],
  [
    'set_trust_line_flags of a foreign asset',
    Operation.setTrustLineFlags({ trustor: user.publicKey(), asset: dollar, flags: { authorized: true } }),
    () => undefined,
    /asset/,
  ],
  [
    'begin_sponsoring of itself',
    Operation.beginSponsoringFutureReserves({ sponsoredId: own.publicKey() }),
    () => undefined,
    /source account/,
  ],
];

function blankAsset(): xdr.Asset {
  const issuer = Keypair.fromPublicKey(other).xdrAccountId();
  return xdr.Asset.assetTypeCreditAlphanum4(new xdr.AlphaNum4({ assetCode: Buffer.alloc(4), issuer }));
}

describe('the content of transaction_xdr', () => {
  for (const [name, operation, change, reason] of invalid) {
    it(`is refused with an operation that no ledger accepts: ${name}`, () => {
      assert.match(refusalOf({ transactionXdr: envelopeOf(own, operation, change) }) ?? 'accepted', reason);
    });
  }

  it('is accepted with valid operations', () => {
    const valid = [
      pay,
      Operation.createAccount({ destination: other, startingBalance: '0' }),
      Operation.pathPaymentStrictSend({ ...sending, sendAmount: '1', destMin: '1', path: [new Asset('LONGCODE', other)] }),
      Operation.manageSellOffer({ ...offer, amount: '0', offerId: '7' }),
      Operation.setOptions({ homeDomain: 'example.com' }),
      Operation.changeTrust({ asset: dollar, limit: '0' }),
      Operation.clawback({ asset: new Asset('USD', own.publicKey()), from: user.publicKey(), amount: '1' }),
      Operation.setTrustLineFlags({ trustor: user.publicKey(), asset: new Asset('USD', own.publicKey()), flags: { authorized: true } }),
      Operation.bumpSequence({ bumpTo: '0' }),
      Operation.inflation({}),
      Operation.endSponsoringFutureReserves({}),
      Operation.manageData({ name: 'a', value: null }),
    ];
    for (const operation of valid) assert.equal(refusalOf({ transactionXdr: envelopeOf(own, operation) }), null, operation.body.type);
  });

  it('is refused for a fee bump if it is bound to ledgers or to a range of sequence numbers', () => {
    const conditions = [{ ledgerbounds: { minLedger: 0, maxLedger: 9 } }, { minAccountSequence: '5' }];
    for (const condition of conditions) {
      const built = new TransactionBuilder(new Account(user.publicKey(), '6'), {
        fee: '100',
        networkPassphrase: network.passphrase,
        ...condition,
      })
        .addOperation(pay)
        .setTimeout(0)
        .build();
      built.sign(user);
      assert.equal(
        refusalOf({ transactionXdr: built.toXdr(), feeBump: true }),
        'transaction_xdr must have no ledger bounds and no minimum sequence number; use time bounds',
      );
    }
  });

  it('may have any max_fee if the relayer has no policy; the default maximum bounds what is paid', () => {
    const transactionXdr = envelopeOf(own, pay);
    assert.equal(refusalOf({ transactionXdr, maxFeeStroops: 2n ** 63n - 1n }), null);
    const { maxFeeStroops: policy } = defaultPolicies.stellar;
    assert.equal(policy, null);
    assert.equal(feeLimitOf({ policies: defaultPolicies.stellar, maxFeeStroops: 2n ** 63n - 1n }), 1_000_000_000n);
    assert.equal(feeLimitOf({ policies: { ...defaultPolicies.stellar, maxFeeStroops: 2n ** 62n }, maxFeeStroops: 2n ** 61n }), 2n ** 61n);
  });

  it('is refused for a fee bump whose resource fee the default max_fee does not cover', () => {
    const upload = Operation.uploadContractWasm({ wasm: Buffer.from('0061736d01000000', 'hex') });
    const built = new TransactionBuilder(new Account(user.publicKey(), '6'), { fee: '100', networkPassphrase: network.passphrase })
      .addOperation(upload)
      .setSorobanData(new SorobanDataBuilder().setResourceFee('2300000').build())
      .setTimeout(0)
      .build();
    const request = { transactionXdr: signedBy(user, built.toXdr()), feeBump: true };
    assert.equal(refusalOf(request), 'max_fee is 1000000 stroops, the default; this transaction needs at least 2300200');
    assert.equal(refusalOf({ ...request, maxFeeStroops: 2_300_200n }), null);
  });
});
