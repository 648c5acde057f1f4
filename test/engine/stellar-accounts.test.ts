import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Account, Keypair, MuxedAccount, Operation, StrKey, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { NonceAnswer } from '../../src/core/ports/chain/outcomes.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { type StellarRig, type StellarRigOptions, startStellarRig } from '../support/engine-rig.js';
import { payment, stellarKey } from '../support/stellar.js';
import { closeLedgers, sponsoredPayment, untilReason } from '../support/stellar-calls.js';
import { createWallet, walletOf } from '../support/stellar-wallet.js';
import { change } from '../support/stellar-xdr.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

async function start(test: TestContext, options: Partial<StellarRigOptions> = {}) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts, ...options });
  test.after(() => rig.stop());
  return rig;
}

const receiver = stellarKey().address;
const laterMs = (): number => Date.now() + 3_600_000;
const accounts = { [receiver]: 10_000_000n };

/** Moves everything that the relayer has to another account, with the relayer's own key. */
function merge({ node, key }: StellarRig): void {
  const wallet = walletOf(node.ledger, key.keys);
  const { submission } = node.ledger.submit(wallet.build([Operation.accountMerge({ destination: receiver })]).toXdr());
  assert.equal(submission.status, 'PENDING');
  node.ledger.close();
  assert.equal(node.ledger.latest().state.accounts.has(key.address), false);
}

/** Closes ledgers, with the time between those of a public network, until the relayer is disabled. */
function untilDisabled(rig: StellarRig): Promise<string> {
  return waitFor('the relayer to be disabled', () => {
    rig.clock.moveOn(5_000);
    rig.node.ledger.close();
    return disabledReasonOf(rig) ?? undefined;
  });
}

function disabledReasonOf(rig: StellarRig): string | null {
  return rig.directory.relayer(rig.relayer.id)?.disabledReason ?? null;
}

/** An unsigned transaction of the relayer's account. */
function unsigned({ node, key }: StellarRig, operation: xdr.Operation): string {
  const account = new Account(key.address, '0');
  const builder = new TransactionBuilder(account, { fee: '100', networkPassphrase: node.ledger.passphrase });
  return builder.addOperation(operation).setTimeout(0).build().toXdr();
}

type NextAt = NonceAnswer['next'];

/** Answers of the node that reports the head and of any other one about the account; absent: the true one. */
interface Claims {
  first?: NextAt;
  another?: 'unavailable';
}

/** A change of the chain after which nodes make these claims. */
function claiming(claims: Claims): (chain: Chain) => Chain {
  return (chain) => {
    const { sequence } = chain;
    if (sequence === null) throw new Error('Stellar has sequence numbers');
    return {
      ...chain,
      sequence: {
        ...sequence,
        async nextAt(account, ledger, otherThan) {
          if (otherThan === undefined && claims.first !== undefined) return { next: claims.first };
          if (otherThan !== undefined && claims.another !== undefined)
            throw new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no other node answers');
          return sequence.nextAt(account, ledger, otherThan);
        },
      },
    };
  };
}

const isGone = /^account G\w+ no longer exists on local/;
const isGoneWhileWaiting = /^waiting: queued for signing: an RPC node reports a problem that is not confirmed yet: account G/;
const isResetWhileWaiting =
  /^waiting: queued for signing: an RPC node reports a problem that is not confirmed yet: the chain was reset, or an RPC node is wrong: /;

describe('an account that disappears', { concurrency: 4 }, () => {
  it('has its landed transaction confirmed, and the relayer is disabled with the reason', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.untilWaiting(transaction.id);
    rig.node.ledger.close();
    merge(rig);
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.match(await untilDisabled(rig), isGone);
    assert.deepEqual(rig.toldStates.slice(-1), ['relayer_disabled']);
    rig.node.ledger.fund(rig.key.address, 1_000_000_000n);
    await waitFor('the relayer to be enabled', () => {
      rig.node.ledger.close();
      return rig.directory.relayer(rig.relayer.id)?.disabledReason === null || undefined;
    });
    assert.deepEqual(rig.toldStates.slice(-1), ['relayer_enabled']);
    assert.deepEqual([rig.notes.length, rig.notes.at(-1)], [2, null]);
    assert.match(rig.notes[0] ?? '', isGone);
  });

  it('costs a few calls for each ledger, however many transactions wait', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    rig.node.ledger.setSurge(1_000_000n);
    const stuck = await rig.send({ operations: [payment(receiver, 2n)] });
    await rig.untilWaiting(stuck.transaction.id);
    rig.node.ledger.forget();
    rig.node.ledger.setSurge(100n);
    merge(rig);
    for (let count = 0; count < 20; count += 1) await rig.send({ operations: [payment(receiver, 1n)] });
    await untilDisabled(rig);
    const before = rig.node.asked.length;
    await closeLedgers(rig, 4);
    const asked = rig.node.asked.slice(before).filter((method) => method !== 'getLatestLedger');
    assert.ok(asked.length <= 4 * 12, `${asked.length}: ${asked.join(' ')}`);
    assert.equal((await rig.view(stuck.transaction.id)).transaction.status, 'submitted');
  });

  it('disables the relayer if it comes back with a number far below ours, and nothing is signed', async (test) => {
    const rig = await start(test, { fundsStroops: 0n });
    const { ledger } = rig.node;
    for (let closed = 0; closed < 3; closed += 1) ledger.close();
    ledger.fund(rig.key.address, 1_000_000_000n);
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    const account = ledger.latest().state.accounts.get(rig.key.address);
    assert.ok(account !== undefined);
    ledger.latest().state.accounts.set(account.id, { ...account, sequence: 1n << 32n });
    assert.match(
      await untilDisabled(rig),
      /^the chain was reset, or an RPC node is wrong: its sequence number for the account is \d+, but the service has signed transactions up to \d+/,
    );
    const late = await rig.send({ operations: [payment(receiver, 2n)] });
    await closeLedgers(rig, 3);
    assert.deepEqual(await rig.attempts(late.transaction.id), []);
    assert.deepEqual(ledger.waiting(), []);
  });

  it('signs no self-transfer for what expires while its number is far below ours', async (test) => {
    const rig = await start(test, { fundsStroops: 0n });
    const { ledger } = rig.node;
    for (let closed = 0; closed < 3; closed += 1) ledger.close();
    ledger.fund(rig.key.address, 1_000_000_000n);
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.until(transaction.id, 'submitted');
    const account = ledger.latest().state.accounts.get(rig.key.address);
    assert.ok(account !== undefined);
    ledger.latest().state.accounts.set(account.id, { ...account, sequence: 1n << 32n });
    await untilDisabled(rig);
    rig.clock.moveOn(121_000);
    await closeLedgers(rig, 3);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });
});

describe('the word of one RPC node about an account', { concurrency: 4 }, () => {
  it('makes no gap of a sequence number that a foreign transaction has used', async (test) => {
    const claims: Claims = {};
    const rig = await start(test, { changed: claiming(claims) });
    const { ledger } = rig.node;
    rig.node.setQueueFullBelow(50_000n);
    const canceled = await rig.send({ operations: [payment(receiver, 1n)], maxFeeStroops: 200n });
    await untilReason(rig, canceled.transaction.id, /50000/);
    await cancelTransaction(rig.deps, rig.relayer, canceled.transaction.id);
    ledger.submit(
      walletOf(ledger, rig.key.keys)
        .build([Operation.bumpSequence({ bumpTo: '0' })])
        .toXdr(),
    );
    const { nonce } = (await rig.untilWithBlocks(canceled.transaction.id, 'canceled')).transaction;
    assert.ok(nonce !== null);
    const waiting = await rig.send({ operations: [payment(receiver, 2n)], maxFeeStroops: 200n });
    await rig.until(waiting.transaction.id, 'sent');
    // A node behind the same URL lags.
    claims.first = nonce;
    await closeLedgers(rig, 4);
    const { items } = await rig.store.read.transactionsOf(rig.relayer.id, [], { offset: 0, limit: 10 });
    assert.deepEqual(items.map(({ transaction }) => transaction.id).sort(), [canceled.transaction.id, waiting.transaction.id].sort());
  });

  it('fills nothing far below ours, even if final transactions are among the numbers', async (test) => {
    const claims: Claims = {};
    const rig = await start(test, { changed: claiming(claims) });
    const { ledger } = rig.node;
    const first = await rig.send({ operations: [payment(receiver, 1n)] });
    const { nonce } = (await rig.untilWithBlocks(first.transaction.id, 'confirmed')).transaction;
    assert.ok(nonce !== null);
    merge(rig);
    for (let closed = 0; closed < 3; closed += 1) ledger.close();
    ledger.fund(rig.key.address, 1_000_000_000n);
    const second = await rig.send({ operations: [payment(receiver, 2n)] });
    assert.ok(((await rig.untilWithBlocks(second.transaction.id, 'confirmed')).transaction.nonce ?? 0n) > nonce + 1_000n);
    // A node that lags shows the account as it was before.
    claims.first = nonce;
    await rig.send({ operations: [payment(receiver, 3n)] });
    await closeLedgers(rig, 4);
    assert.equal((await rig.store.read.transactionsOf(rig.relayer.id, [], { offset: 0, limit: 1 })).total, 3);
  });

  it('disables nothing before eight ledgers and a minute, though it is the only node', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    // The engine sees the newest ledger: the doubt must not count those before the merge.
    await closeLedgers(rig, 1);
    merge(rig);
    await closeLedgers(rig, 1);
    const next = await rig.send({ operations: [payment(receiver, 2n)], validUntilMs: laterMs() });
    rig.clock.moveOn(60_000);
    await closeLedgers(rig, 5);
    assert.equal(disabledReasonOf(rig), null);
    assert.deepEqual(
      rig.toldStates.filter((state) => state === 'relayer_disabled'),
      [],
    );
    assert.match(
      (await rig.view(next.transaction.id)).transaction.statusReason ?? '',
      /^waiting: queued for signing: an RPC node reports a problem that is not confirmed yet: account G\w+ no longer exists on local/,
    );
    await closeLedgers(rig, 4);
    assert.match(disabledReasonOf(rig) ?? '', isGone);
  });

  it('holds nothing up that another node contradicts: the account exists', async (test) => {
    const claims: Claims = {};
    const rig = await start(test, { changed: claiming(claims) });
    const first = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWithBlocks(first.transaction.id, 'confirmed');
    claims.first = 'absent';
    const second = await rig.send({ operations: [payment(receiver, 2n)] });
    await rig.untilWithBlocks(second.transaction.id, 'confirmed');
    rig.clock.moveOn(60_000);
    await closeLedgers(rig, 10);
    assert.deepEqual([disabledReasonOf(rig), rig.toldStates], [null, []]);
  });

  for (const [name, { claim, another, reason }] of Object.entries({
    'that it is gone, while no other node answers': { claim: 'absent', another: 'unavailable', reason: isGoneWhileWaiting },
    'that its number is far below ours, while no other node answers': {
      claim: 1n << 32n,
      another: 'unavailable',
      reason: isResetWhileWaiting,
    },
    'that its number is far below ours, which another node contradicts': { claim: 1n << 32n, another: null, reason: isResetWhileWaiting },
  } as const)) {
    it(`makes the relayer wait, fills nothing and never disables: ${name}`, async (test) => {
      const claims: Claims = {};
      const rig = await start(test, { fundsStroops: 0n, changed: claiming(claims) });
      const { ledger } = rig.node;
      for (let closed = 0; closed < 3; closed += 1) ledger.close();
      ledger.fund(rig.key.address, 1_000_000_000n);
      const { transaction } = await rig.send({ operations: [payment(receiver, 1n)] });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
      claims.first = claim;
      if (another !== null) claims.another = another;
      await closeLedgers(rig, 3);
      const late = await rig.send({ operations: [payment(receiver, 2n)], validUntilMs: laterMs() });
      rig.clock.moveOn(60_000);
      await closeLedgers(rig, 10);
      assert.deepEqual([disabledReasonOf(rig), rig.toldStates], [null, []]);
      assert.match((await rig.view(late.transaction.id)).transaction.statusReason ?? '', reason);
      assert.deepEqual([await rig.attempts(late.transaction.id), ledger.waiting()], [[], []]);
      delete claims.first;
      await rig.untilWithBlocks(late.transaction.id, 'confirmed');
    });
  }
});

describe('a node that was started from a recent state', { concurrency: 4 }, () => {
  async function landedUnseen(rig: StellarRig): Promise<string> {
    const { transaction } = await rig.send(sponsoredPayment(createWallet(rig.node.ledger), receiver));
    await rig.untilWaiting(transaction.id);
    // At once, so that the service sees none of these ledgers before the node has dropped them.
    for (let closed = 0; closed < 4; closed += 1) rig.node.ledger.close();
    rig.node.setOldest(rig.node.ledger.latest().sequence);
    return transaction.id;
  }

  it('is not believed about a fee bump that another node shows as landed', async (test) => {
    const rig = await start(test, { nodeCount: 3 });
    await rig.untilWithBlocks(await landedUnseen(rig), 'confirmed');
  });

  it('fails no landed fee bump, which is confirmed when the node has its ledgers', async (test) => {
    const rig = await start(test);
    const id = await landedUnseen(rig);
    await closeLedgers(rig, 5);
    assert.equal((await rig.view(id)).transaction.status, 'submitted');
    rig.node.setOldest(0);
    await rig.untilWithBlocks(id, 'confirmed');
  });

  it('fails a fee bump after ten minutes in which no node could say what became of it', async (test) => {
    const rig = await start(test);
    const id = await landedUnseen(rig);
    await closeLedgers(rig, 1);
    rig.clock.moveOn(600_000);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.equal(transaction.failureReason, 'unresolvable');
  });
});

describe('a fee bump that no node takes', { concurrency: 4 }, () => {
  const badly = { signers: [stellarKey().keys] };

  it('costs a few calls, and fails after a minute in which every node calls it invalid', async (test) => {
    const rig = await start(test);
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push((await rig.send(sponsoredPayment(createWallet(rig.node.ledger), receiver, badly))).transaction.id);
    for (const id of ids) await untilReason(rig, id, /txBAD_AUTH/);
    const before = rig.node.asked.length;
    await closeLedgers(rig, 8);
    const asked = rig.node.asked.slice(before);
    const count = (name: string) => asked.filter((method) => method === name).length;
    assert.ok(count('sendTransaction') <= 20 * 5, `sends: ${count('sendTransaction')}`);
    assert.equal(count('getTransaction'), 0);
    assert.ok(count('getLedgerEntries') <= 8 * 4, `accounts: ${count('getLedgerEntries')}`);
    await closeLedgers(rig, 16);
    for (const id of ids) {
      const { transaction } = await rig.untilWithBlocks(id, 'failed');
      assert.deepEqual([transaction.failureReason, /txBAD_AUTH/.test(transaction.statusReason ?? '')], ['never_accepted', true]);
    }
  });

  it('is not failed by the words of nodes while its time bounds let it land', async (test) => {
    const rig = await start(test);
    const maxTimeSeconds = Math.floor(Date.now() / 1000) + 3_600;
    const request = sponsoredPayment(createWallet(rig.node.ledger), receiver, { ...badly, maxTimeSeconds });
    const { id } = (await rig.send(request)).transaction;
    await untilReason(rig, id, /txBAD_AUTH/);
    await closeLedgers(rig, 24);
    assert.equal((await rig.view(id)).transaction.status, 'sent');
  });

  it('leaves room for other accounts: one account has one fee bump signed at a time', async (test) => {
    const rig = await start(test);
    const wallet = createWallet(rig.node.ledger);
    rig.node.ledger.setSurge(100_000n);
    const first = await rig.send(sponsoredPayment(wallet, receiver));
    await rig.untilWaiting(first.transaction.id);
    const second = await rig.send(sponsoredPayment(wallet, receiver, { feeStroops: 101n }));
    const other = await rig.send(sponsoredPayment(createWallet(rig.node.ledger), receiver));
    await rig.untilWaiting(other.transaction.id);
    await untilReason(rig, second.transaction.id, /^waiting: another transaction of its source account is in flight/);
    assert.deepEqual(await rig.attempts(second.transaction.id), []);
    rig.node.ledger.setSurge(100n);
    await rig.untilWithBlocks(first.transaction.id, 'confirmed');
    const { transaction } = await rig.until(second.transaction.id, 'failed');
    assert.equal(transaction.failureReason, 'outdated');
  });
});

describe('a transaction whose time is nearly over', { concurrency: 4 }, () => {
  it('expires unsigned, without a fee', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)], validUntilMs: Date.now() + 3_000 });
    await untilReason(rig, transaction.id, /^waiting: RPC nodes reject a transaction in the last 4 seconds of its validity/);
    rig.clock.moveOn(3_000);
    await rig.untilWithBlocks(transaction.id, 'expired');
    assert.deepEqual(await rig.attempts(transaction.id), []);
    assert.equal(await rig.chain.balanceOf(rig.key.address), 1_000_000_000n);
  });
});

describe('an account that requires a memo', { concurrency: 4 }, () => {
  it('is not paid without one, and is paid with a memo or at a muxed address', async (test) => {
    const rig = await start(test);
    const exchange = createWallet(rig.node.ledger);
    const asks = Operation.manageData({ name: 'config.memo_required', value: '1' });
    assert.equal(rig.node.ledger.submit(exchange.build([asks]).toXdr()).submission.status, 'PENDING');
    rig.node.ledger.close();
    const to = [payment(exchange.address, 5_000_000n)];
    const { transaction } = await rig.send({ operations: to });
    const { transaction: ended } = await rig.untilWithBlocks(transaction.id, 'failed');
    assert.equal(ended.failureReason, 'not_allowed');
    assert.equal(ended.statusReason, `account ${exchange.address} requires a memo (SEP-29), and the transaction has none`);
    assert.equal(exchange.balance(), 100_000_000_000n - 100n);

    const named = await rig.send({ operations: to, memo: { kind: 'text', text: 'customer 7' } });
    await rig.untilWithBlocks(named.transaction.id, 'confirmed');
    const muxed = new MuxedAccount(new Account(exchange.address, '0'), '7').accountId();
    const numbered = await rig.send({ operations: [payment(muxed, 5_000_000n)] });
    await rig.untilWithBlocks(numbered.transaction.id, 'confirmed');
    assert.equal(exchange.balance(), 100_010_000_000n - 100n);
  });
});

describe('the reserve of the account', { concurrency: 4 }, () => {
  it('is not spent by several transactions together that it allows one by one', async (test) => {
    const rig = await start(test, { fundsStroops: 30_000_000n });
    const own = await rig.send({ operations: [payment(receiver, 15_000_000n)] });
    await rig.untilWaiting(own.transaction.id);
    // The inner bid demands twice as much outside: 6,000,000 of the 5,000,000 that the payment leaves above the reserve.
    const wallet = createWallet(rig.node.ledger);
    const bump = await rig.send({ ...sponsoredPayment(wallet, receiver, { feeStroops: 3_000_000n }), maxFeeStroops: 10_000_000n });
    await untilReason(rig, bump.transaction.id, /^waiting: insufficient balance: it can cost 6000000 stroops, but only 4999900 stroops/);
    rig.node.ledger.fund(rig.key.address, 1_000_100n);
    await rig.untilWithBlocks(own.transaction.id, 'confirmed');
    await rig.untilWithBlocks(bump.transaction.id, 'confirmed');
  });
});

describe('an account whose key does not suffice any more', { concurrency: 4 }, () => {
  const isPowerless =
    /^the relayer's key does not suffice for its account: it has the weight \d+, and transactions need \d+; change the signers/;

  /** Changes who can sign for the relayer's account, with these keys. */
  function setOptions(
    rig: StellarRig,
    options: Parameters<typeof Operation.setOptions>[0],
    signers: readonly Keypair[] = [rig.key.keys],
  ): void {
    const wallet = walletOf(rig.node.ledger, rig.key.keys);
    const { submission } = rig.node.ledger.submit(wallet.build([Operation.setOptions(options)], { signers }).toXdr());
    assert.equal(submission.status, 'PENDING');
    rig.node.ledger.close();
  }

  for (const [name, options] of [
    ['a master weight of 0', { masterWeight: 0 }],
    ['a higher low threshold', { lowThreshold: 2, medThreshold: 2, highThreshold: 2 }],
  ] as const) {
    it(`${name} disables the relayer with the reason, and it is enabled again when its key suffices`, async (test) => {
      const rig = await start(test);
      const coSigner = Keypair.random();
      setOptions(rig, { ...options, signer: { ed25519PublicKey: coSigner.publicKey(), weight: 255 } });
      const { transaction } = await rig.send({ operations: [payment(receiver, 5n)], validUntilMs: laterMs() });
      await untilReason(rig, transaction.id, /^waiting: .*the relayer's key does not suffice for its account/);
      assert.match(await untilDisabled(rig), isPowerless);
      assert.deepEqual(rig.toldStates.slice(-1), ['relayer_disabled']);
      assert.equal((await rig.attempts(transaction.id)).length, 0);
      setOptions(rig, { masterWeight: 1, lowThreshold: 0, medThreshold: 0, highThreshold: 0 }, [coSigner]);
      await waitFor('the relayer to be enabled', () => {
        rig.node.ledger.close();
        return disabledReasonOf(rig) === null || undefined;
      });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
    });
  }

  it('a key that suffices for the low threshold pays for others, and keeps only what needs more waiting', async (test) => {
    const rig = await start(test, { policies: { allowAccountChanges: ['bump_sequence', 'signers'] } });
    const coSigner = Keypair.random();
    const thresholds = { lowThreshold: 1, medThreshold: 2, highThreshold: 3 };
    setOptions(rig, { ...thresholds, signer: { ed25519PublicKey: coSigner.publicKey(), weight: 255 } });
    const pay = await rig.send({ operations: [payment(receiver, 5n)] });
    await untilReason(rig, pay.transaction.id, /^waiting: the relayer's key does not suffice .* weight 1, and this transaction needs 2;/);
    const high = await rig.send({ transactionXdr: unsigned(rig, Operation.setOptions({ lowThreshold: 0 })) });
    await untilReason(rig, high.transaction.id, /this transaction needs 3;/);
    // Longer than a lasting doubt about the account needs to disable the relayer.
    await closeLedgers(rig, 13);
    const bump = await rig.send(sponsoredPayment(createWallet(rig.node.ledger), receiver));
    await rig.untilWithBlocks(bump.transaction.id, 'confirmed');
    const before = rig.node.ledger.latest().state.accounts.get(rig.key.address)?.sequence ?? 0n;
    const low = await rig.send({ transactionXdr: unsigned(rig, Operation.bumpSequence({ bumpTo: String(before + 50n) })) });
    await rig.untilWithBlocks(low.transaction.id, 'confirmed');
    assert.equal(disabledReasonOf(rig), null);
    assert.equal((await rig.attempts(pay.transaction.id)).length, 0);
    setOptions(rig, { medThreshold: 1, highThreshold: 1 }, [coSigner]);
    for (const { transaction } of [pay, high]) await rig.untilWithBlocks(transaction.id, 'confirmed');
  });
});

describe('what one node of two claims about an account', { concurrency: 4 }, () => {
  type Entry = { xdr: string };

  /** Starts with two nodes, of which the one with the greater weight shows these entries otherwise. */
  async function startWithLiar(test: TestContext, lie: (keys: readonly string[], entries: readonly Entry[]) => readonly Entry[]) {
    return start(test, {
      nodeCount: 2,
      async answerOf(place, call, ask) {
        const answer = await ask(call);
        if (place !== 0 || call.method !== 'getLedgerEntries' || !('result' in answer)) return answer;
        const result = answer.result as { entries: readonly Entry[] | null };
        const { keys } = call.params as unknown as { keys: readonly string[] };
        return { result: { ...result, entries: lie(keys, result.entries ?? []) } };
      },
    });
  }

  it('a memo that one node claims to be required ends no payment', async (test) => {
    let lies = 0;
    const rig = await startWithLiar(test, (keys, entries) => {
      const [key] = keys.map((text) => xdr.LedgerKey.fromXdr(text, 'base64'));
      if (key?.type !== 'data') return entries;
      lies += 1;
      const { accountId, dataName } = { accountId: key.data.accountId, dataName: key.data.dataName };
      const data = new xdr.DataEntry({ accountId, dataName, dataValue: Buffer.from('1'), ext: xdr.DataEntryExt.v0() });
      return [{ xdr: xdr.LedgerEntryData.data(data).toXdr('base64') }];
    });
    // On a busy machine the other node may be asked first.
    await waitFor('the node that lies to be asked', async () => {
      const { transaction } = await rig.send({ operations: [payment(receiver, 5n)] });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
      return lies > 0 || undefined;
    });
  });

  it('a sequence number that one node claims to be used ends no fee bump', async (test) => {
    let liesAbout = '';
    const rig = await startWithLiar(test, (_keys, entries) =>
      entries.map((entry) => {
        const data = xdr.LedgerEntryData.fromXdr(entry.xdr, 'base64');
        if (data.type !== 'account' || liesAbout === '') return entry;
        const account = data.account;
        if (StrKey.encodeEd25519PublicKey(account.accountId.ed25519.value) !== liesAbout) return entry;
        change(account, { seqNum: account.seqNum + 9n });
        return { ...entry, xdr: data.toXdr('base64') };
      }),
    );
    const wallet = createWallet(rig.node.ledger);
    liesAbout = wallet.address;
    const { transaction } = await rig.send(sponsoredPayment(wallet, receiver));
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });
});

describe('an account change that the policies allow', { concurrency: 4 }, () => {
  it('bump_sequence: later transactions take the numbers after it', async (test) => {
    const rig = await start(test, { policies: { allowAccountChanges: ['bump_sequence'] } });
    const before = rig.node.ledger.latest().state.accounts.get(rig.key.address)?.sequence ?? 0n;
    const bump = await rig.send({ transactionXdr: unsigned(rig, Operation.bumpSequence({ bumpTo: String(before + 50n) })) });
    const first = await rig.send({ operations: [payment(receiver, 5n)] });
    await rig.untilWithBlocks(bump.transaction.id, 'confirmed');
    await rig.untilWithBlocks(first.transaction.id, 'confirmed');
    const second = await rig.send({ operations: [payment(receiver, 6n)] });
    await rig.untilWithBlocks(second.transaction.id, 'confirmed');
    assert.equal(rig.node.ledger.latest().state.accounts.get(rig.key.address)?.sequence, before + 52n);
  });

  it('account_merge: it is confirmed, and the relayer is disabled because its account is gone', async (test) => {
    const rig = await start(test, { policies: { allowAccountChanges: ['account_merge'] } });
    const merged = await rig.send({ transactionXdr: unsigned(rig, Operation.accountMerge({ destination: receiver })) });
    await rig.untilWithBlocks(merged.transaction.id, 'confirmed');
    assert.match(await untilDisabled(rig), isGone);
  });
});
