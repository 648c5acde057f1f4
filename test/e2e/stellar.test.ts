import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Asset, Keypair, Operation, scValToNative, type Transaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { createWallet, type Wallet, walletOf } from '../local-chains/stellar/wallet.js';
import { paymentBody, type StellarService, startStellarService } from '../support/network-service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

describe('Stellar, from the request to the ledger', () => {
  let rig: StellarService;

  before(async () => {
    // Nothing is refused for running out soon: tests do not wait for long.
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
  });
  after(() => rig?.stop());
  afterEach(async () => {
    rig.node.setOutcome(null);
    rig.ledger.setSurge(100n);
    rig.ledger.setQueueFullBelow(0n);
    // Nothing of one test is under way in the next.
    for (const record of await rig.client.list()) {
      if (['confirmed', 'failed', 'expired', 'canceled'].includes(record.status)) continue;
      await rig.client.cancel(record.id);
      await rig.untilWithBlocks(record.id, 'canceled').catch(() => undefined);
    }
  });

  /** Somebody to be paid, who has nothing but the reserve. */
  function receiver(): Wallet {
    return createWallet(rig.ledger, 10_000_000n);
  }

  const gained = (wallet: Wallet): bigint => wallet.balance() - 10_000_000n;
  const relayerSequence = (): bigint => rig.ledger.latest().state.accounts.get(rig.home.address)?.sequence ?? 0n;

  /** Every version, newest first: whether the ledger holds it. */
  async function versions(id: string): Promise<readonly string[]> {
    return (await rig.client.attempts(id)).map(({ purpose, is_mined }) => (is_mined ? `${purpose} mined` : purpose));
  }

  it('a payment is sent, waits, lands, and is confirmed with the fee that was charged', async () => {
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
    assert.equal(landed?.memo().text().toString(), 'for lunch');
    assert.deepEqual(await versions(sent.id), ['content mined']);
  });

  describe('replaced', () => {
    it('while it waits for another, in place: only the new content is ever signed', async () => {
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

    it('while a node has it: the new one outbids it and lands', async () => {
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

    it('while a node has it, too late: the first lands, and the record says that it did', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const sent = await rig.send(paymentBody(bob.address, 11n));
      const first = await rig.untilWaiting(sent.id);
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 13n));
      assert.notEqual(replaced.hash, first.hash);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      assert.equal(confirmed.status_reason, 'version 1 was mined, not the newest one, version 2');
      assert.deepEqual([gained(bob), gained(carol)], [11n, 0n]);
      assert.deepEqual(await versions(sent.id), ['content', 'content mined']);
    });

    it('while no node is known to have it: the new one lands where the first was lost', async () => {
      const [bob, carol] = [receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { refusedWith: 503 } : null));
      const sent = await rig.send(paymentBody(bob.address, 17n));
      const first = await rig.until(sent.id, 'sent');
      const replaced = await rig.replace(sent.id, paymentBody(carol.address, 19n));
      assert.equal(replaced.sequence_number, first.sequence_number);
      rig.node.setOutcome(null);
      // No ledger closes before a node has the new one: earlier versions are sent again too, and may land.
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, replaced.hash);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 19n]);
    });

    it('while no node is known to have it, but one does: the first lands, and the record says so', async () => {
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

    it('below the minimum of the node: 400 that states it', async () => {
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

    it('once it is confirmed: 400 naming the state', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 41n));
      await rig.untilWithBlocks(sent.id, 'confirmed');
      const refused = await rig.client.replace(sent.id, paymentBody(bob.address, 43n));
      assert.deepEqual([refused.status, refused.reason], [400, 'TRANSACTION_CONFIRMED']);
    });
  });

  describe('cancelled', () => {
    it('while it waits for another: at once', async () => {
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

    it('while a node has it: a transaction that does nothing takes its place', async () => {
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
      assert.equal(landed?.transaction.operations()[0]?.body().switch().name, 'bumpSequence');
      assert.equal((await versions(sent.id))[0], 'cancel mined');
    });

    it('too late: it is confirmed, and pays once', async () => {
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

  describe('running out of time', () => {
    it('unsigned, behind another: it expires and uses no number', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const ahead = await rig.send(paymentBody(bob.address, 1n));
      await rig.untilWaiting(ahead.id);
      const late = await rig.send(paymentBody(carol.address, 2n, { valid_until: new Date(Date.now() + 1_500).toISOString() }));
      assert.equal((await rig.until(late.id, 'expired')).hash, null);
      rig.ledger.close();
      await rig.until(ahead.id, 'confirmed');
      assert.equal(gained(carol), 0n);
    });

    it('at a node: it never lands, its number comes free, and the next one goes on', async () => {
      const [bob, carol] = [receiver(), receiver()];
      const late = await rig.send(paymentBody(bob.address, 59n, { valid_until: new Date(Date.now() + 2_000).toISOString() }));
      const first = await rig.untilWaiting(late.id);
      const next = await rig.send(paymentBody(carol.address, 61n));
      await waitFor('its time to be over', async () => {
        const { status_reason: reason } = await rig.client.get(late.id);
        return /valid_until has passed/.test(String(reason)) ? reason : undefined;
      });
      // Before a ledger closes a node has what takes its place; its time counts in whole seconds, so it could land still.
      await rig.untilWaiting(late.id);
      rig.ledger.close();
      const expired = await rig.until(late.id, 'expired');
      assert.deepEqual([expired.sequence_number, gained(bob)], [first.sequence_number, 0n]);
      await rig.untilWithBlocks(next.id, 'confirmed');
      assert.equal(gained(carol), 61n);
    });
  });

  describe('for others', () => {
    /** An envelope that its own account has signed and numbered, and bids nothing of its own. */
    function signedBy(user: Wallet, to: Wallet, stroops: bigint, sequence = user.sequence() + 1n): Transaction {
      const amount = `0.${String(stroops).padStart(7, '0')}`;
      const operation = Operation.payment({ destination: to.address, asset: Asset.native(), amount });
      return user.build([operation], { sequence, maxTimeSeconds: Math.floor(Date.now() / 1000) + 300 });
    }

    it('a signed transaction is paid for: the relayer pays the fee, its account the rest', async () => {
      const [user, bob] = [createWallet(rig.ledger), receiver()];
      const before = { user: user.balance(), relayer: rig.ledger.latest().state.accounts.get(rig.home.address)?.balanceStroops ?? 0n };
      const inner = signedBy(user, bob, 67n);
      const sequence = relayerSequence();
      const sent = await rig.send({ network: 'local', transaction_xdr: inner.toXDR(), fee_bump: true });
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

    it('it is replaced by another of the same account and number', async () => {
      const [user, bob, carol] = [createWallet(rig.ledger), receiver(), receiver()];
      const sent = await rig.send({ network: 'local', transaction_xdr: signedBy(user, bob, 71n).toXDR(), fee_bump: true });
      await rig.untilWaiting(sent.id);
      const other = { network: 'local', transaction_xdr: signedBy(user, carol, 73n).toXDR(), fee_bump: true };
      const replaced = await rig.replace(sent.id, other);
      await rig.untilWaiting(sent.id);
      rig.ledger.close();
      assert.equal((await rig.until(sent.id, 'confirmed')).hash, replaced.hash);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 73n]);
    });

    it('it fails for good when its account used the number otherwise', async () => {
      const [user, bob, carol] = [createWallet(rig.ledger), receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
      const sent = await rig.send({ network: 'local', transaction_xdr: signedBy(user, bob, 79n).toXDR(), fee_bump: true });
      await rig.until(sent.id, 'submitted');
      rig.ledger.submit(signedBy(user, carol, 83n).toXDR());
      rig.ledger.close();
      rig.node.setOutcome(null);
      const failed = await rig.untilWithBlocks(sent.id, 'failed');
      assert.match(String(failed.status_reason), /sequence number/);
      assert.deepEqual([gained(bob), gained(carol)], [0n, 83n]);
    });
  });

  it('a contract is called: simulated, declared, and what it gave back is told', async () => {
    const call = (by: number): object => ({
      network: 'local',
      operations: [{ type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'increment', args: [{ u32: by }] }],
    });
    const values: unknown[] = [];
    for (const by of [5, 7]) {
      const sent = await rig.send(call(by));
      const { transaction_result_xdr: result } = await rig.untilWithBlocks(sent.id, 'confirmed');
      values.push(scValToNative(xdr.ScVal.fromXDR(String(result), 'base64')));
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

  it('a call of a contract is replaced by another', async () => {
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
    assert.equal(scValToNative(xdr.ScVal.fromXDR(String(confirmed.transaction_result_xdr), 'base64')), 2);
  });

  it('a waiting call is cancelled, though the network lets nothing of another kind outbid it', async () => {
    const greeting = { type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: 'echo', args: [{ u32: 3 }] };
    rig.ledger.setSurge(1_000_000_000n);
    const sent = await rig.send({ network: 'local', operations: [greeting] });
    await rig.untilWaiting(sent.id);
    assert.equal((await rig.client.cancel(sent.id)).status, 200);
    // What waits is thrown out after four ledgers; only then is there room for what takes its place.
    for (let ledgers = 0; ledgers < 4; ledgers += 1) rig.ledger.close();
    rig.ledger.setSurge(100n);
    const canceled = await rig.untilWithBlocks(sent.id, 'canceled');
    assert.equal(rig.ledger.find(String(canceled.hash))?.transaction.isSuccess, true);
  });

  describe('in trouble', () => {
    it('a node that says TRY_AGAIN_LATER again and again is tried again, and pays once', async () => {
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

    it('what a node loses is sent again', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 97n));
      await rig.untilWaiting(sent.id);
      rig.ledger.forget();
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 97n);
    });

    it('what a node throws out and does not let in again is bid for once more', async () => {
      const bob = receiver();
      rig.ledger.setSurge(1_000n);
      const sent = await rig.send(paymentBody(bob.address, 101n));
      await rig.untilWaiting(sent.id);
      for (let ledgers = 0; ledgers < 4; ledgers += 1) rig.ledger.close();
      const { hash } = await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 101n);
      // A node finds what landed by the hash of the first version, too, which is inside of it; it is the second that landed.
      const attempts = await rig.client.attempts(sent.id);
      assert.ok(attempts.length > 1);
      assert.deepEqual(
        attempts.filter(({ is_mined }) => is_mined).map((attempt) => attempt.hash),
        [hash],
      );
    });

    it('a full queue gets the bid that it asks for', async () => {
      const bob = receiver();
      rig.ledger.setQueueFullBelow(4_000n);
      const sent = await rig.send(paymentBody(bob.address, 103n));
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 103n);
    });

    it('somebody else with the same key took the number: the payment gets another, and is made once', async () => {
      const [bob, carol] = [receiver(), receiver()];
      rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
      const sent = await rig.send(paymentBody(bob.address, 107n));
      const first = await rig.until(sent.id, 'submitted');
      const foreign = walletOf(rig.ledger, rig.keys).build([
        Operation.payment({ destination: carol.address, asset: Asset.native(), amount: '0.0000109' }),
      ]);
      assert.equal(foreign.sequence, first.sequence_number);
      rig.ledger.submit(foreign.toXDR());
      rig.ledger.close();
      rig.node.setOutcome(null);
      const confirmed = await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(confirmed.sequence_number, String(BigInt(first.sequence_number) + 1n));
      assert.deepEqual([gained(bob), gained(carol)], [107n, 109n]);
    });

    it('somebody else pays for the fee of our own transaction: it has landed, and is made once', async () => {
      const bob = receiver();
      const sent = await rig.send(paymentBody(bob.address, 113n));
      const first = await rig.untilWaiting(sent.id);
      const [{ envelope_xdr: envelope = '' } = {}] = await rig.client.attempts(sent.id);
      const inner = TransactionBuilder.fromXDR(envelope, rig.ledger.passphrase) as Transaction;
      const { submission } = rig.ledger.submit(createWallet(rig.ledger).bump(inner, 1_000_000n).toXDR());
      assert.equal(submission.status, 'PENDING');
      rig.ledger.close();
      const confirmed = await rig.until(sent.id, 'confirmed');
      assert.equal(confirmed.hash, first.hash);
      const next = await rig.send(paymentBody(bob.address, 1n));
      await rig.untilWithBlocks(next.id, 'confirmed');
      assert.equal(gained(bob), 114n);
    });

    it('a node that is down loses nothing', async () => {
      const bob = receiver();
      rig.node.setOutcome(() => ({ refusedWith: 503 }));
      const sent = await rig.send(paymentBody(bob.address, 127n));
      rig.node.setOutcome(null);
      await rig.untilWithBlocks(sent.id, 'confirmed');
      assert.equal(gained(bob), 127n);
    });

    it('what fails on the ledger is failed, with the reason, and its number is used', async () => {
      const sequence = relayerSequence();
      const sent = await rig.send(paymentBody(Keypair.random().publicKey(), 1n));
      const failed = await rig.untilWithBlocks(sent.id, 'failed');
      assert.match(String(failed.status_reason), /NO_DESTINATION/i);
      assert.equal(relayerSequence(), sequence + 1n);
    });

    it('a call that the simulation refuses is failed and takes no number', async () => {
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
  it('holds sends back, says why, and goes on when it is funded', async (test) => {
    const rig = await startStellarService({ stroops: 0n, start: startServiceHere });
    test.after(() => rig.stop());
    const bob = createWallet(rig.ledger, 10_000_000n);
    const sent = await rig.send(paymentBody(bob.address, 5n));
    await waitFor('the reason', async () => ((await rig.client.get(sent.id)).status_reason === null ? undefined : true));
    assert.match(String((await rig.client.get(sent.id)).status_reason), /fund/);
    rig.ledger.fund(rig.home.address, 50_000_000n);
    await rig.untilWithBlocks(sent.id, 'confirmed');
    assert.equal(bob.balance(), 10_000_005n);
  });
});
