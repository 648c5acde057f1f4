import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Account,
  Asset,
  type FeeBumpTransaction,
  Keypair,
  Memo,
  MuxedAccount,
  Operation,
  type Transaction,
  xdr,
} from '@stellar/stellar-sdk';
import { createLedger, type StellarLedger } from '../../src/sandbox/stellar/ledger.js';
import { createWallet, type Wallet } from '../support/stellar-wallet.js';
import { change, hashOf, v1Of } from '../support/stellar-xdr.js';

const lumens = 10_000_000n;

function pay(to: string, amount = '1', asset = Asset.native()): xdr.Operation {
  return Operation.payment({ destination: to, asset, amount });
}

/** Returns the current Unix seconds of the ledger clock. */
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

type Sent = Transaction | FeeBumpTransaction;

/** Returns the status of a submission; for an error its code, the inner code in brackets, and the fee. */
function send(ledger: StellarLedger, transaction: Sent): string {
  const { submission } = ledger.submit(transaction.toXdr());
  return submission.status === 'ERROR' ? wordsOf(submission.result) : submission.status;
}

function wordsOf(result: xdr.TransactionResult): string {
  const outer = result.result;
  const code = outer.type;
  if (!('innerResultPair' in outer)) return `${code} ${result.feeCharged}${operationsOf(outer)}`;
  const inner = outer.innerResultPair.result.result;
  return `${code} ${result.feeCharged} (${inner.type}${operationsOf(inner)})`;
}

function operationsOf(result: xdr.TransactionResultResult | xdr.InnerTransactionResultResult): string {
  if (result.type !== 'txFailed' && result.type !== 'txSuccess') return '';
  return result.results
    .map((operation) => {
      const name = operation.type;
      if (name !== 'opInner') return ` ${name}`;
      return ` ${operation.tr.value.type}`;
    })
    .join('');
}

/** Returns the result of a transaction in the latest ledger. */
function ended(ledger: StellarLedger, transaction: Sent): string {
  const found = ledger.find(hashOf(transaction));
  return found === undefined ? 'not there' : wordsOf(found.transaction.result);
}

function rig(): { readonly ledger: StellarLedger; readonly alice: Wallet; readonly bob: Wallet } {
  const ledger = createLedger();
  return { ledger, alice: createWallet(ledger), bob: createWallet(ledger) };
}

describe('local Stellar: the ledger', () => {
  describe('accepts', () => {
    it('local Stellar: the ledger accepts a payment, which lands in the next ledger, costs 100 stroops and uses one sequence number', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)], { feeStroops: 5_000n, memo: Memo.text('for lunch') });
      const before = { alice: alice.balance(), bob: bob.balance(), sequence: alice.sequence() };
      assert.equal(send(ledger, payment), 'PENDING');
      assert.equal(ended(ledger, payment), 'not there');
      const closed = ledger.close();
      assert.equal(ended(ledger, payment), 'txSuccess 100 paymentSuccess');
      assert.equal(alice.balance(), before.alice - lumens - 100n);
      assert.equal(bob.balance(), before.bob + lumens);
      assert.equal(alice.sequence(), before.sequence + 1n);
      assert.deepEqual(
        closed.transactions.map(({ frame, order }) => [frame.hash, order]),
        [[hashOf(payment), 1]],
      );
    });

    it('local Stellar: the ledger accepts an envelope of version 0 like one of version 1', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)]);
      const { v1 } = { v1: v1Of(payment.toEnvelope()) };
      const old = new xdr.TransactionV0({
        sourceAccountEd25519: alice.keys.rawPublicKey(),
        fee: 100,
        seqNum: v1.tx.seqNum,
        timeBounds: xdr.expectUnionVariant(v1.tx.cond, 'precondTime').timeBounds,
        memo: v1.tx.memo,
        operations: v1.tx.operations,
        ext: xdr.TransactionV0Ext.v0(),
      });
      const envelope = xdr.TransactionEnvelope.envelopeTypeTxV0(new xdr.TransactionV0Envelope({ tx: old, signatures: v1.signatures }));
      assert.equal(ledger.submit(envelope.toXdr('base64')).submission.status, 'PENDING');
      ledger.close();
      assert.equal(ended(ledger, payment), 'txSuccess 100 paymentSuccess');
    });

    it('local Stellar: the ledger accepts muxed addresses as their accounts', () => {
      const { ledger, alice, bob } = rig();
      const muxed = new MuxedAccount(new Account(bob.address, '0'), '7').accountId();
      assert.equal(send(ledger, alice.build([pay(muxed)])), 'PENDING');
      const before = bob.balance();
      ledger.close();
      assert.equal(bob.balance(), before + lumens);
    });

    it('local Stellar: the ledger accepts a new account, whose sequence number starts at the ledger number times 2^32', () => {
      const { ledger, alice } = rig();
      const carol = createWallet(ledger, 0n);
      send(ledger, alice.build([Operation.createAccount({ destination: carol.address, startingBalance: '1' })]));
      const { sequence } = ledger.close();
      assert.equal(carol.sequence(), BigInt(sequence) << 32n);
      assert.equal(carol.balance(), lumens);
    });
  });

  describe('rejects at once', () => {
    it('local Stellar: the ledger rejects at once missing, wrong, foreign-network and extra signatures', () => {
      const { ledger, alice, bob } = rig();
      const payment = [pay(bob.address)];
      assert.equal(send(ledger, alice.build(payment, { signers: [] })), 'txBadAuth 100');
      assert.equal(send(ledger, alice.build(payment, { signers: [bob.keys] })), 'txBadAuth 100');
      assert.equal(send(ledger, alice.build(payment, { signers: [alice.keys, bob.keys] })), 'txBadAuthExtra 100');
      const elsewhere = createWallet(createLedger({ passphrase: 'another network' }));
      ledger.fund(elsewhere.address, 100n * lumens);
      const { sequence } = ledger.latest().state.accounts.get(elsewhere.address) ?? { sequence: 0n };
      assert.equal(send(ledger, elsewhere.build(payment, { sequence: sequence + 1n })), 'txBadAuth 100');
    });

    it('local Stellar: the ledger rejects at once any sequence number except the next', () => {
      const { ledger, alice, bob } = rig();
      const at = alice.sequence();
      for (const sequence of [at, at + 2n, 1n]) assert.equal(send(ledger, alice.build([pay(bob.address)], { sequence })), 'txBadSeq 100');
    });

    it('local Stellar: the ledger rejects at once a source account that does not exist', () => {
      const { ledger, bob } = rig();
      assert.equal(send(ledger, createWallet(ledger, 0n).build([pay(bob.address)])), 'txNoAccount 100');
    });

    it('local Stellar: the ledger rejects at once less than 100 stroops per operation, and reports the minimum', () => {
      const { ledger, alice, bob } = rig();
      assert.equal(send(ledger, alice.build([pay(bob.address), pay(bob.address)], { feeStroops: 199n })), 'txInsufficientFee 200');
    });

    it('local Stellar: the ledger rejects at once time bounds that have passed, pass within two ledgers, or have not begun', () => {
      const { ledger, alice, bob } = rig();
      const payment = [pay(bob.address)];
      assert.equal(send(ledger, alice.build(payment, { maxTimeSeconds: nowSeconds() - 1 })), 'txTooLate 100');
      assert.equal(send(ledger, alice.build(payment, { maxTimeSeconds: nowSeconds() + 5 })), 'txTooLate 100');
      assert.equal(send(ledger, alice.build(payment, { minTimeSeconds: nowSeconds() + 60 })), 'txTooEarly 100');
      assert.equal(send(ledger, alice.build(payment, { maxTimeSeconds: nowSeconds() + 60 })), 'PENDING');
    });

    it('local Stellar: the ledger rejects at once a fee above the spendable balance', () => {
      const { ledger, bob } = rig();
      const poor = createWallet(ledger, 2n * 5_000_000n + 150n);
      assert.equal(send(ledger, poor.build([pay(bob.address)], { feeStroops: 151n })), 'txInsufficientBalance 100');
      assert.equal(send(ledger, poor.build([pay(bob.address)], { feeStroops: 150n })), 'PENDING');
    });

    it('local Stellar: the ledger rejects at once invalid operations', () => {
      const { ledger, alice, bob } = rig();
      assert.equal(send(ledger, alice.build([])), 'txMissingOperation 100');
      const bad = xdr.Operation.fromXdr(pay(bob.address).toXdr());
      change(xdr.expectUnionVariant(bad.body, 'payment').paymentOp, { amount: -1n });
      assert.equal(send(ledger, alice.build([bad])), 'txFailed 100 paymentMalformed');
    });
  });

  describe('queues one transaction per account', () => {
    it('a repeat is a duplicate, another must try again later, an older one is rejected', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)]);
      assert.equal(send(ledger, payment), 'PENDING');
      assert.equal(send(ledger, payment), 'DUPLICATE');
      const sequence = alice.sequence();
      assert.equal(send(ledger, alice.build([pay(bob.address, '2')], { feeStroops: 100_000n })), 'TRY_AGAIN_LATER');
      assert.equal(send(ledger, alice.build([pay(bob.address, '2')], { sequence: sequence + 2n })), 'TRY_AGAIN_LATER');
      assert.equal(send(ledger, alice.build([pay(bob.address, '2')], { sequence })), 'txBadSeq 100');
      assert.equal(send(ledger, bob.build([pay(alice.address)])), 'PENDING');
    });

    it('a landed transaction is banned for nine ledgers, and its sequence number stays used', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)]);
      send(ledger, payment);
      for (let ledgers = 0; ledgers < 9; ledgers += 1) {
        ledger.close();
        assert.equal(send(ledger, payment), 'TRY_AGAIN_LATER');
      }
      ledger.close();
      assert.equal(send(ledger, payment), 'txBadSeq 100');
    });

    it('a transaction that waits four ledgers is dropped and banned for ten; a fee-bump envelope around it is not', () => {
      const { ledger, alice, bob } = rig();
      ledger.setSurge(1_000n);
      const payment = alice.build([pay(bob.address)]);
      assert.equal(send(ledger, payment), 'PENDING');
      for (let ledgers = 0; ledgers < 3; ledgers += 1) ledger.close();
      assert.equal(send(ledger, payment), 'DUPLICATE');
      ledger.close();
      assert.deepEqual(ledger.waiting(), []);
      assert.equal(send(ledger, payment), 'TRY_AGAIN_LATER');
      assert.equal(send(ledger, alice.bump(payment, 2_000n)), 'PENDING');
      ledger.close();
      assert.equal(ended(ledger, payment), 'txFeeBumpInnerSuccess 2000 (txSuccess paymentSuccess)');
    });

    it('a transaction that expires in the queue is dropped and frees its sequence number', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)], { maxTimeSeconds: nowSeconds() + 30 });
      const sequence = alice.sequence();
      assert.equal(send(ledger, payment), 'PENDING');
      ledger.pass(31);
      ledger.close();
      assert.equal(ended(ledger, payment), 'not there');
      assert.equal(alice.sequence(), sequence);
      assert.equal(send(ledger, alice.build([pay(bob.address, '2')])), 'PENDING');
    });

    it('the full bids of all transactions that an account pays count against its balance', () => {
      const { ledger, alice, bob } = rig();
      const payer = createWallet(ledger, 2n * 5_000_000n + 1_000n);
      assert.equal(send(ledger, payer.bump(alice.build([pay(bob.address)]), 600n)), 'PENDING');
      assert.equal(send(ledger, payer.bump(bob.build([pay(alice.address)]), 401n)), 'txInsufficientBalance 200');
      assert.equal(send(ledger, payer.bump(bob.build([pay(alice.address)]), 400n)), 'PENDING');
    });

    it('a full queue reports the minimum bid and remembers rejected transactions', () => {
      const { ledger, alice, bob } = rig();
      ledger.setQueueFullBelow(500n);
      const payment = alice.build([pay(bob.address)], { feeStroops: 499n });
      assert.equal(send(ledger, payment), 'txInsufficientFee 500');
      assert.equal(send(ledger, payment), 'TRY_AGAIN_LATER');
      assert.equal(send(ledger, alice.build([pay(bob.address)], { feeStroops: 500n })), 'PENDING');
    });
  });

  describe('replaces only by a fee-bump envelope', () => {
    it('local Stellar: the ledger replaces only by a fee-bump envelope that bids ten times as much per operation, counting one more', () => {
      const { ledger, alice, bob } = rig();
      const first = alice.build([pay(bob.address)], { feeStroops: 200n });
      assert.equal(send(ledger, first), 'PENDING');
      const next = alice.build([pay(bob.address, '2'), pay(bob.address, '3')], { feeStroops: 200n });
      assert.equal(send(ledger, alice.bump(next, 5_999n)), 'txInsufficientFee 6000');
      const winner = alice.bump(next, 6_000n);
      assert.equal(send(ledger, winner), 'PENDING');
      assert.equal(send(ledger, winner), 'DUPLICATE');
      assert.equal(send(ledger, next), 'DUPLICATE');
      // 6,000 for three operations is 2,000 each; ten times that for two.
      const last = alice.build([Operation.bumpSequence({ bumpTo: '0' })]);
      assert.equal(send(ledger, alice.bump(last, 39_999n)), 'txInsufficientFee 40000');
      assert.equal(send(ledger, alice.bump(last, 40_000n)), 'PENDING');
      const before = bob.balance();
      ledger.close();
      assert.equal(ended(ledger, last), 'txFeeBumpInnerSuccess 200 (txSuccess bumpSequenceSuccess)');
      assert.equal(ended(ledger, first), 'not there');
      assert.equal(bob.balance(), before);
    });

    it('local Stellar: the ledger replaces only by a fee-bump envelope whose minimum is rounded up', () => {
      const { ledger, alice, bob } = rig();
      send(ledger, alice.build([pay(bob.address), pay(bob.address), pay(bob.address)], { feeStroops: 301n }));
      const next = alice.build([pay(bob.address)]);
      assert.equal(send(ledger, alice.bump(next, 2_006n)), 'txInsufficientFee 2007');
      assert.equal(send(ledger, alice.bump(next, 2_007n)), 'PENDING');
    });

    it('local Stellar: the ledger replaces only by a fee-bump envelope that another payer may pay', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)]);
      send(ledger, payment);
      assert.equal(send(ledger, bob.bump(payment, 2_000n)), 'PENDING');
      const before = { alice: alice.balance(), bob: bob.balance() };
      ledger.close();
      assert.equal(alice.balance(), before.alice - lumens);
      assert.equal(bob.balance(), before.bob + lumens - 200n);
    });

    it('local Stellar: the ledger replaces only by a fee-bump envelope with the same sequence number; others must try again later', () => {
      const { ledger, alice, bob } = rig();
      send(ledger, alice.build([pay(bob.address)]));
      const later = alice.build([pay(bob.address)], { sequence: alice.sequence() + 2n });
      assert.equal(send(ledger, alice.bump(later, 100_000n)), 'TRY_AGAIN_LATER');
    });
  });

  describe('checks fee-bump envelopes', () => {
    it('local Stellar: the ledger checks fee-bump envelopes for the minimum, the inner bid, and the payer, its signatures and its balance', () => {
      const { ledger, alice, bob } = rig();
      const inner = alice.build([pay(bob.address)], { feeStroops: 500n });
      assert.equal(send(ledger, bob.bump(inner, 199n)), 'txInsufficientFee 200');
      assert.equal(send(ledger, bob.bump(inner, 999n)), 'txInsufficientFee 1000');
      assert.equal(send(ledger, bob.bump(inner, 1_000n, [alice.keys])), 'txBadAuth 200');
      assert.equal(send(ledger, bob.bump(inner, 1_000n, [bob.keys, alice.keys])), 'txBadAuthExtra 200');
      assert.equal(send(ledger, createWallet(ledger, 0n).bump(inner, 1_000n)), 'txNoAccount 200');
      assert.equal(send(ledger, createWallet(ledger, 10_000_500n).bump(inner, 1_000n)), 'txInsufficientBalance 200');
      assert.equal(send(ledger, bob.bump(inner, 1_000n)), 'PENDING');
    });

    it('local Stellar: the ledger checks fee-bump envelopes for a valid inner transaction, which need not pay', () => {
      const { ledger, alice, bob } = rig();
      const free = alice.build([pay(bob.address)], { feeStroops: 0n });
      const unsigned = alice.build([pay(bob.address)], { signers: [] });
      const later = alice.build([pay(bob.address)], { sequence: alice.sequence() + 2n });
      assert.equal(send(ledger, bob.bump(unsigned, 200n)), 'txFeeBumpInnerFailed 200 (txBadAuth)');
      assert.equal(send(ledger, bob.bump(later, 200n)), 'txFeeBumpInnerFailed 200 (txBadSeq)');
      assert.equal(send(ledger, bob.bump(free, 200n)), 'PENDING');
    });

    it('local Stellar: the ledger checks fee-bump envelopes and finds them by both hashes', () => {
      const { ledger, alice, bob } = rig();
      const inner = alice.build([pay(bob.address)]);
      const outer = bob.bump(inner, 200n);
      send(ledger, outer);
      ledger.close();
      assert.equal(ended(ledger, inner), ended(ledger, outer));
      assert.equal(ended(ledger, outer), 'txFeeBumpInnerSuccess 200 (txSuccess paymentSuccess)');
    });
  });

  describe('applies', () => {
    it('local Stellar: the ledger applies all operations or none; a failed transaction pays and uses its sequence number', () => {
      const { ledger, alice, bob } = rig();
      const before = { alice: alice.balance(), bob: bob.balance(), sequence: alice.sequence() };
      const nobody = Keypair.random().publicKey();
      const failing = alice.build([pay(bob.address), pay(nobody)]);
      assert.equal(send(ledger, failing), 'PENDING');
      ledger.close();
      assert.equal(ended(ledger, failing), 'txFailed 200 paymentSuccess paymentNoDestination');
      assert.deepEqual([alice.balance(), bob.balance()], [before.alice - 200n, before.bob]);
      assert.equal(alice.sequence(), before.sequence + 1n);
    });

    it('local Stellar: the ledger applies only payments that leave the reserve', () => {
      const { ledger, bob } = rig();
      const poor = createWallet(ledger, 30_000_000n);
      const tooMuch = poor.build([pay(bob.address, '2')]);
      send(ledger, tooMuch);
      ledger.close();
      assert.equal(ended(ledger, tooMuch), 'txFailed 100 paymentUnderfunded');
      const enough = poor.build([pay(bob.address, '1.99998')]);
      send(ledger, enough);
      ledger.close();
      assert.equal(ended(ledger, enough), 'txSuccess 100 paymentSuccess');
      assert.equal(poor.balance(), 10_000_000n);
    });

    it('local Stellar: the ledger applies payments of issued assets within the limits of trustlines', () => {
      const { ledger, alice, bob } = rig();
      const issuer = createWallet(ledger);
      const gold = new Asset('GOLD', issuer.address);
      const step = (wallet: Wallet, operation: xdr.Operation): string => {
        const transaction = wallet.build([operation]);
        assert.equal(send(ledger, transaction), 'PENDING');
        ledger.close();
        return ended(ledger, transaction).replace(/^tx\w+ 100 /, '');
      };
      assert.equal(step(issuer, pay(alice.address, '10', gold)), 'paymentNoTrust');
      assert.equal(step(alice, Operation.changeTrust({ asset: gold, limit: '15' })), 'changeTrustSuccess');
      assert.equal(step(issuer, pay(alice.address, '10', gold)), 'paymentSuccess');
      assert.equal(step(issuer, pay(alice.address, '10', gold)), 'paymentLineFull');
      assert.equal(step(alice, pay(bob.address, '1', gold)), 'paymentNoTrust');
      assert.equal(step(bob, pay(alice.address, '1', gold)), 'paymentSrcNoTrust');
      assert.equal(step(bob, Operation.changeTrust({ asset: gold })), 'changeTrustSuccess');
      assert.equal(step(alice, pay(bob.address, '11', gold)), 'paymentUnderfunded');
      assert.equal(step(alice, pay(bob.address, '4', gold)), 'paymentSuccess');
      assert.equal(step(alice, pay(issuer.address, '6', gold)), 'paymentSuccess');
      assert.equal(step(bob, Operation.changeTrust({ asset: gold, limit: '0' })), 'changeTrustInvalidLimit');
      assert.equal(step(alice, Operation.changeTrust({ asset: gold, limit: '0' })), 'changeTrustSuccess');
      const nobody = new Asset('GOLD', Keypair.random().publicKey());
      assert.equal(step(alice, Operation.changeTrust({ asset: nobody })), 'changeTrustNoIssuer');
    });

    it('local Stellar: the ledger keeps named values of accounts, each with a reserve', () => {
      const { ledger, alice } = rig();
      const poor = createWallet(ledger, 14_999_000n);
      const step = (wallet: Wallet, operation: xdr.Operation): string => {
        const transaction = wallet.build([operation]);
        assert.equal(send(ledger, transaction), 'PENDING');
        ledger.close();
        return ended(ledger, transaction).replace(/^tx\w+ 100 /, '');
      };
      const set = (value: string | null) => Operation.manageData({ name: 'config.memo_required', value });
      const values = () => [...ledger.latest().state.data.values()].map(({ value }) => Buffer.from(value).toString());
      assert.equal(step(alice, set(null)), 'manageDataNameNotFound');
      assert.equal(step(alice, set('0')), 'manageDataSuccess');
      assert.equal(step(alice, set('1')), 'manageDataSuccess');
      assert.deepEqual(values(), ['1']);
      assert.equal(step(poor, set('1')), 'manageDataLowReserve');
      assert.equal(step(alice, set(null)), 'manageDataSuccess');
      assert.deepEqual(values(), []);
      assert.equal(ledger.latest().state.accounts.get(alice.address)?.subEntries, 0);
    });

    it('local Stellar: the ledger applies a bump of the sequence number, after which the old next one is invalid', () => {
      const { ledger, alice, bob } = rig();
      const target = alice.sequence() + 1_000n;
      send(ledger, alice.build([Operation.bumpSequence({ bumpTo: String(target) })]));
      ledger.close();
      assert.equal(alice.sequence(), target);
      assert.equal(send(ledger, alice.build([pay(bob.address)], { sequence: target - 998n })), 'txBadSeq 100');
    });

    it('thresholds: a weak master key needs a second signer', () => {
      const { ledger, alice, bob } = rig();
      const other = Keypair.random();
      const options = { signer: { ed25519PublicKey: other.publicKey(), weight: 1 }, lowThreshold: 1, medThreshold: 2, highThreshold: 2 };
      send(ledger, alice.build([Operation.setOptions(options)]));
      ledger.close();
      const payment = [pay(bob.address)];
      assert.equal(send(ledger, alice.build(payment)), 'txFailed 100 opBadAuth');
      assert.equal(send(ledger, alice.build([Operation.bumpSequence({ bumpTo: '0' })])), 'PENDING');
      ledger.forget();
      const signed = alice.build(payment, { signers: [alice.keys, other] });
      assert.equal(send(ledger, signed), 'PENDING');
      ledger.close();
      assert.equal(ended(ledger, signed), 'txSuccess 100 paymentSuccess');
    });

    it('local Stellar: the ledger applies operations of another account only with its signature', () => {
      const { ledger, alice, bob } = rig();
      const others = Operation.payment({ destination: alice.address, asset: Asset.native(), amount: '5', source: bob.address });
      assert.equal(send(ledger, alice.build([others])), 'txFailed 100 opBadAuth');
      const before = bob.balance();
      assert.equal(send(ledger, alice.build([others], { signers: [alice.keys, bob.keys] })), 'PENDING');
      ledger.close();
      assert.equal(bob.balance(), before - 5n * lumens);
    });

    it('local Stellar: the ledger merges an account: its balance moves, and it is gone', () => {
      const { ledger, alice, bob } = rig();
      const before = alice.balance() + bob.balance();
      const merge = alice.build([Operation.accountMerge({ destination: bob.address })]);
      assert.equal(send(ledger, merge), 'PENDING');
      ledger.close();
      assert.equal(ended(ledger, merge), 'txSuccess 100 accountMergeSuccess');
      assert.equal(bob.balance(), before - 100n);
      assert.equal(send(ledger, alice.build([pay(bob.address)], { sequence: 9n })), 'txNoAccount 100');
    });

    it('local Stellar: the ledger applies only sufficient bids in a surge, all at the same price', () => {
      const { ledger, alice, bob } = rig();
      ledger.setSurge(1_000n);
      const low = alice.build([pay(bob.address)], { feeStroops: 999n });
      const high = bob.build([pay(alice.address)], { feeStroops: 7_000n });
      assert.deepEqual([send(ledger, low), send(ledger, high)], ['PENDING', 'PENDING']);
      ledger.close();
      assert.deepEqual([ended(ledger, low), ended(ledger, high)], ['not there', 'txSuccess 1000 paymentSuccess']);
      ledger.setSurge(100n);
      ledger.close();
      assert.equal(ended(ledger, low), 'txSuccess 100 paymentSuccess');
    });

    it('local Stellar: the ledger applies dropped transactions that are sent again', () => {
      const { ledger, alice, bob } = rig();
      const payment = alice.build([pay(bob.address)]);
      send(ledger, payment);
      ledger.forget();
      ledger.close();
      assert.equal(ended(ledger, payment), 'not there');
      assert.equal(send(ledger, payment), 'PENDING');
    });

    it('local Stellar: the ledger applies ledgers as a chain of hashes', () => {
      const { ledger } = rig();
      const { hash, sequence } = ledger.latest();
      const next = ledger.close();
      assert.equal(next.sequence, sequence + 1);
      assert.equal(next.header.previousLedgerHash.toString(), hash);
    });
  });
});
