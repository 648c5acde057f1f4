import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Account, Asset, Keypair, MuxedAccount, Operation, type Transaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { StellarAccountChangeSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import { changeBy, forbidden, requireAllowed } from '../../../src/chains/stellar/account-changes.js';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import { enumTextsOf } from '../../../src/codec/enum-codec.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Relayer, StellarAccountChange } from '../../../src/core/records/relayer.js';
import type { StellarRequest } from '../../../src/core/records/stellar.js';
import { stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { change, v1Of } from '../../support/stellar-xdr.js';
import { silentLog } from '../../support/stored-samples.js';

const own = Keypair.random();
const user = Keypair.random();
const to = Keypair.random().publicKey();
const network = stellarNetwork({ rpcUrls: [{ url: 'http://127.0.0.1:9', weight: 100 }] });
const muxed = new MuxedAccount(new Account(own.publicKey(), '0'), '7').accountId();

/** Every operation that takes something away. */
const samples: readonly (readonly [StellarAccountChange, (source?: { source: string }) => xdr.Operation])[] = [
  ['signers', (source) => Operation.setOptions({ masterWeight: 0, ...source })],
  ['signers', (source) => Operation.setOptions({ lowThreshold: 255, ...source })],
  ['signers', (source) => Operation.setOptions({ medThreshold: 0, ...source })],
  ['signers', (source) => Operation.setOptions({ highThreshold: 1, homeDomain: 'a', ...source })],
  ['signers', (source) => Operation.setOptions({ signer: { ed25519PublicKey: to, weight: 255 }, ...source })],
  ['signers', (source) => Operation.setOptions({ signer: { preAuthTx: Buffer.alloc(32, 1), weight: 1 }, ...source })],
  ['immutable', (source) => Operation.setOptions({ setFlags: 4, ...source })],
  ['account_merge', (source) => Operation.accountMerge({ destination: to, ...source })],
  ['bump_sequence', (source) => Operation.bumpSequence({ bumpTo: '9223372036854775807', ...source })],
  ['revoke_sponsorship', (source) => Operation.revokeAccountSponsorship({ account: to, ...source })],
];

interface Built {
  readonly by?: Keypair;
  readonly minSequence?: string;
  readonly signed?: boolean;
}

function built(operations: readonly xdr.Operation[], { by = own, minSequence, signed = false }: Built = {}): Transaction {
  const builder = new TransactionBuilder(new Account(by.publicKey(), '6'), {
    fee: '100',
    networkPassphrase: network.passphrase,
    ...(minSequence === undefined ? {} : { minAccountSequence: minSequence }),
  });
  for (const operation of operations) builder.addOperation(operation);
  const transaction = builder.setTimeout(0).build();
  if (signed) transaction.sign(by);
  return transaction;
}

/** An envelope of a muxed address of the relayer's account. */
function fromMuxed(operations: readonly xdr.Operation[]): string {
  const envelope = built(operations).toEnvelope();
  const med25519 = new xdr.MuxedAccountMed25519({ id: 7n, ed25519: own.rawPublicKey() });
  change(v1Of(envelope).tx, { sourceAccount: xdr.MuxedAccount.keyTypeMuxedEd25519(med25519) });
  return envelope.toXdr('base64');
}

const bumped = (inner: Transaction): string => TransactionBuilder.buildFeeBumpTransaction(own, '200', inner, network.passphrase).toXdr();

describe('account changes', () => {
  it('account changes: the samples and the definitions have the same names', () => {
    assert.deepEqual([...new Set(samples.map(([change]) => change))].sort(), [...enumTextsOf(StellarAccountChangeSchema).values()].sort());
  });

  it('account changes: each operation of the protocol is judged, and the others take nothing away', () => {
    // A new kind of operation in the SDK fails this test: decide what it takes away.
    const harmless = [
      'createAccount pathPaymentStrictReceive payment manageSellOffer createPassiveSellOffer changeTrust allowTrust inflation manageData',
      'manageBuyOffer pathPaymentStrictSend createClaimableBalance claimClaimableBalance beginSponsoringFutureReserves',
      'endSponsoringFutureReserves clawback clawbackClaimableBalance setTrustLineFlags liquidityPoolDeposit liquidityPoolWithdraw',
      'invokeHostFunction extendFootprintTtl restoreFootprint',
    ].flatMap((names) => names.split(' '));
    const taking = new Set(samples.map(([, operation]) => operation().body.type));
    const all = [...xdr.OperationType.schema.nameByValue.values()];
    assert.deepEqual(all.sort(), [...harmless, ...taking].sort());
    assert.equal(changeBy(Operation.bumpSequence({ bumpTo: '0' })), null);
    assert.equal(changeBy(Operation.setOptions({ homeDomain: 'example.com', setFlags: 1, inflationDest: to })), null);
  });

  it('account changes: each is refused in every way of sending and signing, unless a policy names it', async (test) => {
    const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 1_000, log: silentLog });
    test.after(() => chain.close());
    const names = [...enumTextsOf(StellarAccountChangeSchema).values()] as StellarAccountChange[];
    const content = (relayer: Relayer, request: Partial<StellarRequest>) =>
      chain.contentOf(stellarRequest(request), { relayer, nowMs: Date.now(), earlier: null });
    const pay = Operation.payment({ destination: to, asset: Asset.native(), amount: '1' });
    for (const [change, operation] of samples) {
      const name = `${change}: ${operation().toXdr('base64')}`;
      const strict = stellarRelayer(own.publicKey());
      const lenient = stellarRelayer(own.publicKey(), { allowAccountChanges: [change] });
      const otherwise = stellarRelayer(own.publicKey(), { allowAccountChanges: names.filter((one) => one !== change) });
      const own1 = operation({ source: own.publicKey() });
      const ofMuxed = operation({ source: muxed });
      const foreign = built([pay, own1], { by: user, signed: true });
      const ways: Readonly<Record<string, (relayer: Relayer) => unknown>> = {
        'an envelope': (relayer) => content(relayer, { transactionXdr: built([pay, operation()]).toXdr() }),
        'an envelope with a source in the operation': (relayer) => content(relayer, { transactionXdr: built([pay, own1]).toXdr() }),
        'an envelope of a muxed address': (relayer) => content(relayer, { transactionXdr: fromMuxed([operation()]) }),
        'an operation of a muxed address': (relayer) => content(relayer, { transactionXdr: built([ofMuxed]).toXdr() }),
        'a fee bump of a foreign envelope': (relayer) => content(relayer, { transactionXdr: foreign.toXdr(), feeBump: true }),
        'signing an own envelope': (relayer) => chain.signForeign?.check(built([operation()]).toXdr(), relayer),
        'signing an own muxed envelope': (relayer) => chain.signForeign?.check(fromMuxed([operation()]), relayer),
        'signing a foreign envelope': (relayer) => chain.signForeign?.check(foreign.toXdr(), relayer),
        'signing a foreign envelope, muxed': (relayer) =>
          chain.signForeign?.check(built([pay, ofMuxed], { by: user, signed: true }).toXdr(), relayer),
        'signing a fee bump': (relayer) => chain.signForeign?.check(bumped(foreign), relayer),
        'signing a fee bump of an own envelope': (relayer) =>
          chain.signForeign?.check(bumped(built([operation()], { signed: true })), relayer),
      };
      for (const [way, run] of Object.entries(ways)) {
        const expected = (error: unknown): boolean => error instanceof DomainError && error.reason === 'RECEIVER_NOT_ALLOWED';
        assert.throws(() => run(strict), expected, `${name}: ${way}`);
        assert.throws(() => run(otherwise), expected, `${name}: ${way}, another name`);
        assert.doesNotThrow(() => run(lenient), `${name}: ${way}, allowed`);
      }
      // Stored before the policies changed: a restart, and a replacement.
      for (const request of [{ transactionXdr: built([operation()]).toXdr() }, { transactionXdr: foreign.toXdr(), feeBump: true }]) {
        const stored = content(lenient, request).content;
        const draft = await chain.draft({ relayer: strict, content: stored, outbids: [], validUntilMs: null });
        assert.ok('refused' in draft && draft.refused === 'not_allowed' && draft.lasting, `${name}: drafted`);
      }
    }
  });

  it('account changes: a refusal names the account, whose it is, and the policy', () => {
    const rest = "can do (account_merge), which the relayer's allow_account_changes does not name";
    assert.equal(forbidden('account_merge', 'GA', 'GA'), `takes away what GA, the relayer's account, ${rest}`);
    assert.equal(forbidden('account_merge', 'GB', 'GA'), `takes away what GB, an account of its operation_source_accounts, ${rest}`);
    requireAllowed('operations[0]', null);
    assert.throws(
      () => requireAllowed('operations[0]', 'is not allowed'),
      (error: unknown) => {
        assert.ok(error instanceof DomainError);
        const fields = [{ field: 'operations[0]', description: 'is not allowed' }];
        assert.deepEqual([error.reason, error.message, error.fields], ['RECEIVER_NOT_ALLOWED', 'operations[0] is not allowed', fields]);
        return true;
      },
    );
  });

  it('account changes: operations of other accounts are none of the relayer', async (test) => {
    const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 1_000, log: silentLog });
    test.after(() => chain.close());
    const relayer = stellarRelayer(own.publicKey());
    for (const [, operation] of samples) {
      const inner = built([operation()], { by: user, signed: true });
      const request = stellarRequest({ transactionXdr: inner.toXdr(), feeBump: true });
      assert.doesNotThrow(() => chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null }));
      assert.doesNotThrow(() => chain.signForeign?.check(bumped(inner), relayer));
    }
  });

  it('account changes: a minimum sequence number of an own transaction skips numbers', async (test) => {
    const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 1_000, log: silentLog });
    test.after(() => chain.close());
    const pay = Operation.payment({ destination: to, asset: Asset.native(), amount: '1' });
    const skipping = built([pay], { minSequence: '0' });
    const sign = (envelope: string, allowAccountChanges: readonly StellarAccountChange[] = []) =>
      chain.signForeign?.check(envelope, stellarRelayer(own.publicKey(), { allowAccountChanges }));
    for (const envelope of [skipping.toXdr(), bumped(built([pay], { minSequence: '0', signed: true }))]) {
      assert.throws(() => sign(envelope), /minimum sequence number .* \(bump_sequence\)/);
      assert.doesNotThrow(() => sign(envelope, ['bump_sequence']));
    }
    const ofUser = Operation.payment({ destination: to, asset: Asset.native(), amount: '1', source: own.publicKey() });
    assert.doesNotThrow(() => sign(built([ofUser], { by: user, minSequence: '0' }).toXdr()));
  });
});
