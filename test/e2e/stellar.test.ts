import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Asset, Keypair, Operation, scValToNative, type Transaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { paymentBody, type StellarService, startStellarService } from '../support/network-service.js';
import { startServiceHere } from '../support/service-here.js';
import { createWallet, type Wallet, walletOf } from '../support/stellar-wallet.js';
import { waitFor } from '../support/wait-for.js';

describe('Stellar, from the request to the ledger', () => {
  let rig: StellarService;

  before(async () => {
    // No transaction is refused because it expires soon: tests do not wait for long.
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
  });
  after(() => rig?.stop());
  afterEach(async () => {
    rig.node.setOutcome(null);
    rig.ledger.setSurge(100n);
    rig.ledger.setLeavesOutAll(false);
    rig.ledger.setQueueFullBelow(0n);
    // No transaction of one test is in flight in the next.
    for (const record of await rig.client.list()) {
      if (['confirmed', 'failed', 'expired', 'canceled'].includes(record.status)) continue;
      await rig.client.cancel(record.id);
      await rig.untilWithBlocks(record.id, 'canceled').catch(() => undefined);
    }
  });

  /** A receiver that has only the reserve. */
  function receiver(): Wallet {
    return createWallet(rig.ledger, 10_000_000n);
  }

  const gained = (wallet: Wallet): bigint => wallet.balance() - 10_000_000n;
  const relayerSequence = (): bigint => rig.ledger.latest().state.accounts.get(rig.home.address)?.sequence ?? 0n;

  /** Every attempt, newest first: whether a ledger contains it. */
  async function versions(id: string): Promise<readonly string[]> {
    return (await rig.client.attempts(id)).map(({ purpose, is_mined }) => (is_mined ? `${purpose} mined` : purpose));
  }

  it('send: a payment waits, lands and is confirmed with the charged fee', async () => {
    const bob = receiver();
    const sent = await rig.send(paymentBody(bob.address, 1_234_567n, { memo: { type: 'text', value: 'for lunch' } }));
    assert.deepEqual([sent.status, sent.hash, sent.sequence_number, sent.fee], ['pending', null, '0', 0]);
    const waiting = await rig.untilWaiting(sent.id);
    assert.deepEqual([waiting.source_account, waiting.sequence_number], [rig.home.address, String(relayerSequence() + 1n)]);
    rig.ledger.close();
    const confirmed = await rig.until(sent.id, 'confirmed');
    assert.deepEqual([confirmed.hash, confirmed.fee, confirmed.transaction_result_xdr], [waiting.hash, 100, null]);
    assert.equal(gained(bob), 1_234_567n);
    const landed = rig.ledger.find(String(confirmed.hash))?.transaction.frame.transaction;
    assert.equal(landed?.memo.value?.toString(), 'for lunch');
    assert.deepEqual(await versions(sent.id), ['content mined']);
  });

  describe('replaces on Stellar', () => {
    it('replace: an unsigned transaction is replaced in place, and only the new content is ever signed', async () => {
      const [bob, old, carol] = [receiver(), receiver(), receiver()];
      const ahead = await rig.send(paymentBody(bob.address, 1n));
      const second = await rig.send(paymentBody(old.address, 2n));
      await rig.untilWaiting(ahead.id);
      const replaced = await rig.replace(second.id, paymentBody(carol.address, 3n));
      assert.deepEqual([replaced.id, replaced.status], [second.id, 'pending']);
      await rig.untilWithBlocks(second.id, 'confirmed');
      assert.deepEqual([gained(bob), gained(old), gained(carol)], [1n, 0n, 3n]);
      assert.deepEqual(await versions(second.id), ['content mined']);
    });

    it('replace: a transaction in a node queue is outbid by its replacement, which lands', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const sent = await rig.send(paymentBody(bob.address, 5n));
      const first = await rig.untilWaiting(sent.id);
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 7n));
      assert.equal(replaced.sequence_number, first.sequence_number);
      assert.notEqual(replaced.hash, first.hash);
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, replaced.hash);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 7n]);
      assert.deepEqual(await versions(sent.id), ['content mined', 'content']);
    });

    it('replace: if the earlier attempt lands first, the record says so', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const sent = await rig.send(paymentBody(bob.address, 11n));
      const first = await rig.untilWaiting(sent.id);
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 13n));
      assert.notEqual(replaced.hash, first.hash);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      assert.equal(confirmed.status_reason, 'attempt 1 was mined instead of the newest, attempt 2');
      assert.deepEqual([gained(bob), gained(carol)], [11n, 0n]);
      assert.deepEqual(await versions(sent.id), ['content', 'content mined']);
    });

    it('replace: the replacement lands if the earlier attempt was lost on its way to the node', async () => {
      const [bob, carol] = [receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { refusedWith: 503 } : null));
      const sent = await rig.send(paymentBody(bob.address, 17n));
      const first = await rig.until(sent.id, 'sent');
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 19n));
      assert.equal(replaced.sequence_number, first.sequence_number);
      rig.node.setOutcome(null);
      // No ledger closes before a node has the new attempt: earlier ones are broadcast again too, and may land.
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, replaced.hash);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 19n]);
    });

    it('replace: the earlier attempt may land if a node has it unknown to us, and the record says so', async () => {
      const [bob, carol] = [receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { answerIsLost: true } : null));
      const sent = await rig.send(paymentBody(bob.address, 23n));
      await waitFor('the node to have it', () => rig.ledger.waiting().length > 0 || undefined);
      const first = await rig.until(sent.id, 'sent');
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { refusedWith: 503 } : null));
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 29n));
      assert.notEqual(replaced.hash, first.hash);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      assert.deepEqual([gained(bob), gained(carol)], [23n, 0n]);
    });

    it('replace: rejects a bid below the minimum of the node and states it', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 31n));
      await rig.untilWaiting(sent.id);
      const refused = await rig.client.replace(sent.id, paymentBody(bob.address, 37n, { max_fee: 1_999 }));
      assert.deepEqual([refused.status, refused.reason], [400, 'REPLACEMENT_UNDERPRICED']);
      assert.match(refused.text, /2000/);
      rig.ledger.close();
      await rig.until(sent.id, 'confirmed');
      assert.equal(gained(bob), 31n);
    });

    it('replace: rejects a confirmed transaction and names its status', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 41n));
      await rig.untilWithBlocks(sent.id, 'confirmed');
      const refused = await rig.client.replace(sent.id, paymentBody(bob.address, 43n));
      assert.deepEqual([refused.status, refused.reason], [400, 'TRANSACTION_CONFIRMED']);
    });
  });

  describe('cancels on Stellar', () => {
    it('cancel: an unsigned transaction is canceled at once', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const ahead = await rig.send(paymentBody(bob.address, 1n));
      const second = await rig.send(paymentBody(carol.address, 2n));
      await rig.untilWaiting(ahead.id);
      const { record } = await rig.client.cancel(second.id);
      assert.deepEqual([record?.status, record?.hash], ['canceled', null]);
      rig.ledger.close();
      await rig.until(ahead.id, 'confirmed');
      assert.deepEqual([gained(bob), gained(carol)], [1n, 0n]);
    });

    it('cancel: a transaction in a node queue is replaced by one without effect', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 47n));
      const first = await rig.untilWaiting(sent.id);
      assert.equal((await rig.client.cancel(sent.id)).status, 200);
      assert.equal((await rig.client.cancel(sent.id)).status, 200);
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      const canceled = await rig.until(sent.id, 'canceled');
      assert.equal(gained(bob), 0n);
      assert.equal(String(relayerSequence()), first.sequence_number);
      const landed = rig.ledger.find(String(canceled.hash))?.transaction.frame;
      assert.equal(landed?.transaction.operations[0]?.body.type, 'bumpSequence');
      assert.equal((await versions(sent.id))[0], 'cancel mined');
    });

    it('cancel: a transaction that lands all the same is confirmed and pays once', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 53n));
      const first = await rig.untilWaiting(sent.id);
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
      assert.equal((await rig.client.cancel(sent.id)).status, 200);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      assert.equal(gained(bob), 53n);
    });
  });

  describe('expires on Stellar', () => {
    it('expire: an unsigned transaction expires and uses no sequence number', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const ahead = await rig.send(paymentBody(bob.address, 1n));
      await rig.untilWaiting(ahead.id);
      const late = await rig.send(paymentBody(carol.address, 2n, { valid_until: new Date(Date.now() + 3_000).toISOString() }));
      assert.equal((await rig.until(late.id, 'expired')).hash, null);
      rig.ledger.close();
      await rig.until(ahead.id, 'confirmed');
      assert.equal(gained(carol), 0n);
    });

    it('expire: a transaction in a node queue never lands, its sequence number is used again, and later ones proceed', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const late = await rig.send(paymentBody(bob.address, 59n, { valid_until: new Date(Date.now() + 15_000).toISOString() }));
      const first = await rig.untilWaiting(late.id);
      const next = await rig.send(paymentBody(carol.address, 61n));
      await waitFor('its time to be over', async () => {
        const { status_reason: reason } = await rig.client.get(late.id);
        return /valid_until has passed/.test(String(reason)) ? reason : undefined;
      });
      // A node has the replacement before a ledger closes; time bounds count whole seconds, so the earlier attempt could still land.
      await rig.untilWaiting(late.id);
      rig.ledger.close();
      const expired = await rig.until(late.id, 'expired');
      assert.deepEqual([expired.sequence_number, gained(bob)], [first.sequence_number, 0n]);
      await rig.untilWithBlocks(next.id, 'confirmed');
      assert.equal(gained(carol), 61n);
    });
  });

  describe('foreign transactions and contract calls on Stellar', () => {
    /** An envelope that another account has signed and numbered, with no bid of its own. */
    function signedBy(user: Wallet, to: Wallet, stroops: bigint, sequence = user.sequence() + 1n): Transaction {
      const amount = `0.${String(stroops).padStart(7, '0')}`;
      const operation = Operation.payment({ destination: to.address, asset: Asset.native(), amount });
      return user.build([operation], { sequence, maxTimeSeconds: Math.floor(Date.now() / 1000) + 300 });
    }

    it('fee bump: the relayer pays the fee of a foreign signed transaction, its source account the rest', async () => {
      const [user, bob] = [createWallet(rig.ledger), receiver()];
      const before = { user: user.balance(), relayer: rig.ledger.latest().state.accounts.get(rig.home.address)?.balanceStroops ?? 0n };
      const inner = signedBy(user, bob, 67n);
      const sequence = relayerSequence();
      const sent = await rig.send({ network: 'local', transaction_xdr: inner.toXdr(), fee_bump: true });
      const waiting = await rig.untilWaiting(sent.id);
      assert.deepEqual([waiting.source_account, waiting.sequence_number], [user.address, inner.sequence]);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(gained(bob), 67n);
      assert.equal(user.balance(), before.user - 67n);
      const after = rig.ledger.latest().state.accounts.get(rig.home.address)?.balanceStroops ?? 0n;
      assert.equal(before.relayer - after, BigInt(confirmed.fee));
      assert.equal(relayerSequence(), sequence);
    });

    it('fee bump: a foreign transaction is replaced by another with the same account and sequence number', async () => {
      const [user, bob, carol] = [createWallet(rig.ledger), receiver(), receiver()];
      const sent = await rig.send({ network: 'local', transaction_xdr: signedBy(user, bob, 71n).toXdr(), fee_bump: true });
      await rig.untilWaiting(sent.id);
      const other = { network: 'local', transaction_xdr: signedBy(user, carol, 73n).toXdr(), fee_bump: true };
      const replaced = await rig.replace(sent.id, other);
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      assert.equal((await rig.until(sent.id, 'confirmed')).hash, replaced.hash);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 73n]);
    });
  });

  it('contract call: is simulated, declares its resources, and the record has its return value', async () => {
    const call = (by: number): object => ({
      network: 'local',
      operations: [{ type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'increment', args: [{ u32: by }] }],
    });
    const values: unknown[] = [];
    for (const by of [5, 7]) {
      const sent = await rig.send(call(by));
      const { transaction_result_xdr: result } = await rig.untilWithBlocks(sent.id, 'confirmed');
      values.push(scValToNative(xdr.ScVal.fromXdr(String(result), 'base64')));
    }
    assert.deepEqual(values, [5, 12]);
    const greeting = {
      type: 'invoke_contract',
      contract_address: rig.ledger.testContract,
      function_name: 'greet',
      args: [{ address: rig.home.address }],
    };
    const sent = await rig.send({ network: 'local', operations: [greeting] });
    await rig.untilWithBlocks(sent.id, 'confirmed');
  });

  it('contract call: is replaced by another call', async () => {
    const call = (value: number): object => ({
      network: 'local',
      operations: [{ type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'echo', args: [{ u32: value }] }],
    });
    const sent = await rig.send(call(1));
    await rig.untilWaiting(sent.id);
    const replaced = await rig.replace(sent.id, call(2));
    await rig.untilWaiting(sent.id);
    rig.ledger.close();
    const confirmed = await rig.until(sent.id, 'confirmed');
    assert.equal(confirmed.hash, replaced.hash);
    assert.equal(scValToNative(xdr.ScVal.fromXdr(String(confirmed.transaction_result_xdr), 'base64')), 2);
  });

  it('contract call: is canceled in the queue, although only another call may outbid it there', async () => {
    const greeting = { type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'echo', args: [{ u32: 3 }] };
    rig.ledger.setLeavesOutAll(true);
    const sent = await rig.send({ network: 'local', operations: [greeting] });
    await rig.untilWaiting(sent.id);
    assert.equal((await rig.client.cancel(sent.id)).status, 200);
    // The queue drops a waiting transaction after four ledgers; only then does it accept the replacement.
    for (let ledgers = 0; ledgers < 4; ledgers += 1) rig.ledger.close();
    rig.ledger.setLeavesOutAll(false);
    const canceled = await rig.untilWithBlocks(sent.id, 'canceled');
    assert.equal(rig.ledger.find(String(canceled.hash))?.transaction.isSuccess, true);
  });

  describe('recovers on Stellar', () => {
    it('TRY_AGAIN_LATER from the node is retried, and the payment is made once', async () => {
      const bob = receiver();
      let left = 5;
      rig.node.setOutcome((method) => {
        if (method !== 'sendTransaction' || left === 0) return null;
        left -= 1;
        return { sending: 'try again later' };
      });
      const sent = await rig.send(paymentBody(bob.address, 89n));
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      await rig.until(sent.id, 'confirmed');
      assert.equal(gained(bob), 89n);
    });

    it('a transaction that the node loses is rebroadcast', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 97n));
      await rig.untilWaiting(sent.id);
      rig.ledger.forget();
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 97n);
    });

    it('a transaction that the node evicts and refuses gets a higher bid', async () => {
      const bob = receiver();
      rig.ledger.setSurge(1_000n);
      const sent = await rig.send(paymentBody(bob.address, 101n));
      await rig.untilWaiting(sent.id);
      for (let ledgers = 0; ledgers < 4; ledgers += 1) rig.ledger.close();
      const { hash } = await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 101n);
      // A node also finds the landed transaction by the hash of the first attempt, which is inside it; the second attempt landed.
      const attempts = await rig.client.attempts(sent.id);
      assert.ok(attempts.length > 1);
      assert.deepEqual(
        attempts.filter(({ is_mined }) => is_mined).map((attempt) => attempt.hash),
        [hash],
      );
    });

    it('a full queue gets the bid that it requires', async () => {
      const bob = receiver();
      rig.ledger.setQueueFullBelow(4_000n);
      const sent = await rig.send(paymentBody(bob.address, 103n));
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 103n);
    });

    it('foreign use of the sequence number: the payment gets the next one and is made once', async () => {
      const [bob, carol] = [receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
      const sent = await rig.send(paymentBody(bob.address, 107n));
      const first = await rig.until(sent.id, 'submitted');
      const foreign = walletOf(rig.ledger, rig.keys).build([
        Operation.payment({ destination: carol.address, asset: Asset.native(), amount: '0.0000109' }),
      ]);
      assert.equal(foreign.sequence, first.sequence_number);
      rig.ledger.submit(foreign.toXdr());
      rig.ledger.close();
      rig.node.setOutcome(null);
      const confirmed = await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(confirmed.sequence_number, String(BigInt(first.sequence_number) + 1n));
      assert.deepEqual([gained(bob), gained(carol)], [107n, 109n]);
    });

    it('foreign fee bump of our own transaction: it has landed, and the payment is made once', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 113n));
      const first = await rig.untilWaiting(sent.id);
      const [{ envelope_xdr: envelope = '' } = {}] = await rig.client.attempts(sent.id);
      const inner = TransactionBuilder.fromXdr(envelope, rig.ledger.passphrase) as Transaction;
      const { submission } = rig.ledger.submit(createWallet(rig.ledger).bump(inner, 1_000_000n).toXdr());
      assert.equal(submission.status, 'PENDING');
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      const next = await rig.send(paymentBody(bob.address, 1n));
      await rig.untilWithBlocks(next.id, 'confirmed');
      assert.equal(gained(bob), 114n);
    });

    it('a node that is down loses no transaction', async () => {
      const bob = receiver();
      rig.node.setOutcome(() => ({ refusedWith: 503 }));
      const sent = await rig.send(paymentBody(bob.address, 127n));
      rig.node.setOutcome(null);
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 127n);
    });

    it('a failure on the ledger fails the transaction with the reason and uses its sequence number', async () => {
      const sequence = relayerSequence();
      const sent = await rig.send(paymentBody(Keypair.random().publicKey(), 1n));
      const failed = await rig.untilWithBlocks(sent.id, 'failed');
      assert.match(String(failed.status_reason), /NO_DESTINATION/i);
      assert.equal(relayerSequence(), sequence + 1n);
    });

    it('a contract call that its simulation refuses fails and uses no sequence number', async () => {
      const sequence = relayerSequence();
      const call = { type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'fail', args: [] };
      const sent = await rig.send({ network: 'local', operations: [call] });
      const failed = await rig.until(sent.id, 'failed');
      assert.match(String(failed.status_reason), /Contract, #1/);
      assert.equal(relayerSequence(), sequence);
    });
  });
});

describe('a Stellar account without funds', () => {
  it('without funds sends wait with the reason and proceed after funding', async (test) => {
    const rig = await startStellarService({ stroops: 0n, start: startServiceHere });
    test.after(() => rig.stop());
    const bob = createWallet(rig.ledger, 10_000_000n);
    const sent = await rig.send(paymentBody(bob.address, 5n));
    await waitFor('the reason', async () => (/fund/.test(String((await rig.client.get(sent.id)).status_reason)) ? true : undefined));
    rig.ledger.fund(rig.home.address, 50_000_000n);
    await rig.untilWithBlocks(sent.id, 'confirmed');
    assert.equal(bob.balance(), 10_000_005n);
  });
});
