import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { address, type KeyPairSigner } from '@solana/kit';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { systemProgram, transferOf } from '../../src/sandbox/solana/instructions.js';
import type { NodeCondition } from '../../src/sandbox/solana/methods.js';
import { type SolanaRecord, type SolanaService, startSolanaService } from '../support/network-service.js';
import type { CommonRecord } from '../support/relayer-client.js';
import { startServiceHere } from '../support/service-here.js';
import { paymentBody, transactionBody } from '../support/solana-body.js';
import { readSolanaLedger, type SolanaLedger } from '../support/solana-ledger.js';
import { waitFor } from '../support/wait-for.js';

const sol = 1_000_000_000n;
/** No block takes an attempt any more, and the last that could have is final. */
const blocksUntilDead = 150 + 1 + 31 + 2;
const blocksUntilFinal = 31;

const [bob, carol] = await Promise.all([signerOf(2), signerOf(3)]);

/** A record's facts for programs, with whether it is in a block. */
function factsOf({ failure_reason, block_number, gas_used, fee_paid }: CommonRecord): unknown[] {
  return [failure_reason, block_number !== null, gas_used, fee_paid];
}

describe('a Solana relayer', () => {
  let s: SolanaService;
  let amount = sol;

  before(async () => {
    // The only node would have to prove each death twice, minutes apart.
    s = await startSolanaService({ nodes: 2 });
    for (const { address } of [bob, carol]) await s.solana.faucet(address, 100n * sol);
    s.solana.chain.advance(2);
  });

  after(() => s?.stop());

  /** A payment with a unique amount. */
  function payment(to: KeyPairSigner = bob): { readonly value: bigint; readonly body: object } {
    amount += 1n;
    return { value: amount, body: paymentBody(s.home.address, to.address, amount) };
  }

  const ledger = (): SolanaLedger => readSolanaLedger(s.solana.chain, s.home.address);
  const paid = (value: bigint): number => ledger().transactions.filter((landed) => landed.value === value && landed.succeeded).length;

  /** Makes blocks until no broadcast attempt can land any more, and none has landed. The service looks for the proof of that once for each further block. */
  function outlive(): void {
    s.solana.chain.pool.losesPackets = true;
    s.solana.chain.advance(blocksUntilDead);
    s.solana.chain.pool.losesPackets = false;
  }

  /** Resolves when the service has signed the transaction again. It tries that once for each block. */
  async function untilSignedAgain(id: string): Promise<void> {
    await waitFor('a new attempt', async () => {
      if ((await s.client.attempts(id)).length === 2) return true;
      s.solana.chain.advance();
      return undefined;
    });
  }

  async function replace(id: string, body: object): Promise<SolanaRecord> {
    const { status, text, record } = await s.client.replace(id, body);
    assert.equal(status, 200, text);
    assert.ok(record);
    return record;
  }

  async function cancel(id: string): Promise<SolanaRecord> {
    const { status, text, record } = await s.client.cancel(id);
    assert.equal(status, 200, text);
    assert.ok(record);
    return record;
  }

  describe('sends on Solana', () => {
    it('send: a transaction built from instructions is mined when a block holds it and confirmed when that block is final', async () => {
      const { value, body } = payment();
      const sent = await s.send(body);
      assert.deepEqual([sent.status, sent.hash, sent.signature], ['pending', null, null]);
      const waiting = await s.untilWaiting(sent.id);
      s.solana.chain.advance();
      const mined = await s.until(sent.id, 'mined');
      assert.deepEqual([mined.hash, mined.signature, mined.confirmed_at], [waiting.hash, waiting.hash, null]);
      s.solana.chain.advance(blocksUntilFinal);
      const confirmed = await s.until(sent.id, 'confirmed');
      assert.deepEqual([confirmed.hash, confirmed.sent_at], [waiting.hash, waiting.sent_at]);
      assert.ok(confirmed.confirmed_at !== null && confirmed.sent_at !== null);
      assert.equal(ledger().byHash.get(waiting.hash ?? '')?.value, value);
    });

    for (const version of ['legacy', 0] as const) {
      it(`send: a transaction of version ${version} with one signer lands`, async () => {
        const { value } = payment();
        const instructions = [transferOf(address(s.home.address), bob.address, value)];
        const sent = await s.send(await transactionBody(s.solana.chain, { payer: s.home.address, instructions, version }));
        const { hash } = await s.untilWithBlocks(sent.id, 'confirmed');
        assert.equal(ledger().byHash.get(hash ?? '')?.value, value);
        assert.equal(s.solana.chain.landed(hash ?? '', newest)?.transaction.message.version, version);
      });

      it(`send: a transaction of version ${version} with another signer lands`, async () => {
        const before = s.solana.chain.account(carol.address, newest)?.lamports;
        const instructions = [transferOf(bob.address, carol.address, 7n)];
        const body = await transactionBody(s.solana.chain, { payer: s.home.address, signers: [bob], instructions, version });
        const { hash } = await s.untilWithBlocks((await s.send(body)).id, 'confirmed');
        assert.equal(s.solana.chain.landed(hash ?? '', newest)?.error, null);
        assert.equal(s.solana.chain.account(carol.address, newest)?.lamports, (before ?? 0n) + 7n);
      });
    }

    it('send: a dropped transaction is rebroadcast until it lands', async () => {
      const { value, body } = payment();
      s.solana.chain.pool.losesPackets = true;
      const { id } = await s.send(body);
      const { hash } = await s.untilWaiting(id);
      s.solana.chain.advance();
      assert.deepEqual(s.solana.chain.pool.waiting(), [], 'the node does not send it again by itself');
      s.solana.chain.pool.losesPackets = false;
      assert.equal((await s.untilWithBlocks(id, 'confirmed')).hash, hash);
      assert.equal(paid(value), 1);
    });

    it('send: after its blockhash expires, a transaction with one signer is signed again under the same ID and lands once', async () => {
      const { value, body } = payment();
      const { id } = await s.send(body);
      const { hash: first } = await s.untilWaiting(id);
      outlive();
      await untilSignedAgain(id);
      const confirmed = await s.untilWithBlocks(id, 'confirmed');
      assert.notEqual(confirmed.hash, first);
      const attempts = await s.client.attempts(id);
      assert.deepEqual(
        attempts.map(({ hash, is_mined }) => [hash, is_mined]),
        [
          [confirmed.hash, true],
          [first, false],
        ],
      );
      assert.equal(paid(value), 1);
    });

    it('send: after its blockhash expires, a transaction with another signer fails', async () => {
      const instructions = [transferOf(bob.address, carol.address, 9n)];
      const { id } = await s.send(await transactionBody(s.solana.chain, { payer: s.home.address, signers: [bob], instructions }));
      await s.untilWaiting(id);
      // For a blockhash that others chose, the last height is the maximum possible.
      outlive();
      outlive();
      const failed = await s.untilWithBlocks(id, 'failed');
      assert.match(failed.status_reason ?? '', /blockhash.*others signed/);
      assert.deepEqual(factsOf(failed), ['outdated', false, null, null]);
      assert.equal((await s.client.attempts(id)).length, 1);
    });

    it('send: a failure on chain fails the transaction when the block is final, with the reason', async () => {
      const drained = await signerOf(9);
      await s.solana.faucet(drained.address, 5n * sol);
      s.solana.chain.advance(2);
      const instructions = [transferOf(drained.address, carol.address, 4n * sol)];
      const { id } = await s.send(await transactionBody(s.solana.chain, { payer: s.home.address, signers: [drained], instructions }));
      const { hash } = await s.untilWaiting(id);
      s.solana.chain.putAccount(drained.address, { lamports: sol, owner: systemProgram, data: new Uint8Array(), executable: false });
      s.solana.chain.advance();
      assert.equal((await s.until(id, 'mined')).hash, hash);
      s.solana.chain.advance(blocksUntilFinal);
      const failed = await s.until(id, 'failed');
      assert.equal(failed.hash, hash);
      assert.match(failed.status_reason ?? '', /insufficient lamports/);
      assert.deepEqual(factsOf(failed), ['reverted', true, null, '10000']);
    });

    it('send: a transaction of an abandoned fork is rebroadcast and lands once', async () => {
      const { value, body } = payment();
      const { id } = await s.send(body);
      const { hash } = await s.untilWaiting(id);
      s.solana.chain.advance(2);
      await s.until(id, 'mined');
      s.solana.chain.takeBack(2);
      assert.equal(paid(value), 0);
      s.solana.chain.advance();
      assert.equal((await s.until(id, 'submitted')).hash, hash);
      assert.equal((await s.untilWithBlocks(id, 'confirmed')).hash, hash);
      assert.equal(paid(value), 1);
    });

    it('send: a transaction that its simulation refuses is not sent, and the record says why', async () => {
      const poor = await signerOf(8);
      const instructions = [transferOf(poor.address, carol.address, sol)];
      const { id } = await s.send(await transactionBody(s.solana.chain, { payer: s.home.address, signers: [poor], instructions }));
      const ended = await s.until(id, 'failed');
      assert.match(ended.status_reason ?? '', /no record of a prior credit|insufficient/i);
      assert.deepEqual(factsOf(ended), ['wouldRevert', false, null, null]);
      assert.equal(ended.hash, null);
    });
  });

  describe('replaces on Solana', () => {
    for (const status of ['sent', 'submitted'] as const) {
      /** Sends a payment and brings it to that status; `isAtNode`: its packet has come through. */
      async function out(isAtNode: boolean): Promise<{ readonly id: string; readonly value: bigint; readonly hash: string }> {
        if (status === 'sent') for (const node of s.nodes) node.fail('sendTransaction', isAtNode ? 'answer_lost' : 'request_lost', 1_000);
        else s.solana.chain.pool.losesPackets = !isAtNode;
        const { value, body } = payment();
        const { id } = await s.send(body);
        const record = status === 'submitted' ? await s.untilWaiting(id) : await s.until(id, 'sent');
        if (isAtNode) await waitFor('the packet', () => s.solana.chain.pool.waiting().find((hash) => hash === record.hash));
        return { id, value, hash: record.hash ?? '' };
      }

      it(`replace in ${status}: the queued replacement is sent and lands alone when the earlier attempt is dead`, async () => {
        const { id, value, hash } = await out(false);
        const second = payment(carol);
        const third = payment(carol);
        const held = await replace(id, second.body);
        assert.deepEqual([held.id, held.status, held.hash], [id, status, hash]);
        assert.match(held.status_reason ?? '', /^waiting: the replacement is queued/);
        await replace(id, third.body);
        for (const node of s.nodes) node.heal();
        outlive();
        await untilSignedAgain(id);
        const confirmed = await s.untilWithBlocks(id, 'confirmed');
        assert.notEqual(confirmed.hash, hash);
        assert.deepEqual([paid(value), paid(second.value), paid(third.value)], [0, 0, 1]);
        assert.deepEqual(ledger().byHash.get(confirmed.hash ?? '')?.receivers, [carol.address]);
      });

      it(`replace in ${status}: the queued replacement is dropped if the earlier attempt lands, and the record says so`, async () => {
        const { id, value, hash } = await out(true);
        const second = payment(carol);
        await replace(id, second.body);
        s.solana.chain.advance();
        for (const node of s.nodes) node.heal();
        await s.until(id, 'mined');
        s.solana.chain.advance(blocksUntilFinal);
        const confirmed = await s.until(id, 'confirmed');
        assert.equal(confirmed.hash, hash);
        assert.equal(confirmed.status_reason, 'mined before its queued replacement could be sent');
        outlive();
        assert.deepEqual([paid(value), paid(second.value)], [1, 0]);
        assert.equal((await s.client.attempts(id)).length, 1);
      });
    }

    it('replace: refuses a confirmed transaction', async () => {
      const { id } = await s.send(payment().body);
      await s.untilWithBlocks(id, 'confirmed');
      const refused = await s.client.replace(id, payment().body);
      assert.deepEqual([refused.status, refused.reason], [400, 'TRANSACTION_CONFIRMED']);
    });
  });

  describe('cancels on Solana', () => {
    it('cancel: ends a sent transaction when it can no longer land; a second cancel changes nothing and a replace is refused', async () => {
      const { value, body } = payment();
      s.solana.chain.pool.losesPackets = true;
      const { id } = await s.send(body);
      const { hash } = await s.untilWaiting(id);
      assert.match((await cancel(id)).status_reason ?? '', /being canceled/);
      assert.equal((await cancel(id)).status, 'submitted');
      assert.deepEqual([(await s.client.replace(id, payment().body)).reason], ['TRANSACTION_CANCELED']);
      outlive();
      const canceled = await s.untilWithBlocks(id, 'canceled');
      assert.equal(canceled.hash, hash);
      assert.equal(paid(value), 0);
      assert.equal((await s.client.attempts(id)).length, 1);
    });

    it('cancel: drops a queued replacement too', async () => {
      const [first, second] = [payment(), payment()];
      s.solana.chain.pool.losesPackets = true;
      const { id } = await s.send(first.body);
      await s.untilWaiting(id);
      await replace(id, second.body);
      await cancel(id);
      outlive();
      await s.untilWithBlocks(id, 'canceled');
      assert.deepEqual([paid(first.value), paid(second.value)], [0, 0]);
    });

    it('cancel: a transaction that lands all the same is confirmed, and the record says so', async () => {
      const { value, body } = payment();
      const { id } = await s.send(body);
      await s.untilWaiting(id);
      await cancel(id);
      s.solana.chain.advance(1 + blocksUntilFinal);
      const confirmed = await s.until(id, 'confirmed');
      assert.equal(confirmed.status_reason, 'mined before the cancel took effect');
      assert.equal(paid(value), 1);
    });
  });

  describe('expires on Solana', () => {
    it('expire: a transaction sent before valid_until expires when it can no longer land', async () => {
      const { value, body } = payment();
      s.solana.chain.pool.losesPackets = true;
      const { id } = await s.send({ ...body, valid_until: new Date(Date.now() + 5_000).toISOString() });
      await s.untilWaiting(id);
      await waitFor('valid_until to pass', async () =>
        /valid_until/.test((await s.client.get(id)).status_reason ?? '') ? true : undefined,
      );
      outlive();
      await s.untilWithBlocks(id, 'expired');
      assert.equal(paid(value), 0);
    });
  });
});

describe('a Solana relayer without funds', () => {
  it('without funds transactions stay pending, can be replaced, canceled and expire, and the rest is sent after funding', async () => {
    const s = await startSolanaService({ lamports: 0n, start: startServiceHere });
    try {
      await s.solana.faucet(bob.address, sol);
      s.solana.chain.advance(2);
      const pay = (lamports: bigint): object => paymentBody(s.home.address, bob.address, lamports);
      const kept = await s.send(pay(1n));
      const canceled = await s.send(pay(2n));
      const expired = await s.send({ ...pay(3n), valid_until: new Date(Date.now() + 4_000).toISOString() });
      await waitFor('the reason', async () =>
        /insufficient balance|fund/.test(String((await s.client.get(kept.id)).status_reason)) ? true : undefined,
      );
      const replaced = await s.client.replace(kept.id, pay(4n));
      assert.deepEqual([replaced.status, replaced.record?.status, replaced.record?.hash], [200, 'pending', null]);
      assert.equal((await s.client.cancel(canceled.id)).record?.status, 'canceled');
      await s.until(expired.id, 'expired');
      await s.solana.faucet(s.home.address, sol);
      s.solana.chain.advance(2);
      await s.untilWaiting(kept.id);
      s.solana.chain.advance(1 + blocksUntilFinal);
      await s.until(kept.id, 'confirmed');
      assert.deepEqual(
        readSolanaLedger(s.solana.chain, s.home.address).transactions.map(({ value }) => value),
        [4n],
      );
    } finally {
      await s.stop();
    }
  });
});

describe('a Solana relayer on a busy cluster', () => {
  const policies = { max_allowed_fee_lamports: 5_001 };
  for (const [what, options] of [
    ['fee: bids what most of the newest blocks required', {}],
    ['fee: bids at most what the policy allows and waits until that is enough', { policies }],
  ] as const) {
    it(what, async () => {
      const s = await startSolanaService({ ...options, start: startServiceHere });
      const { chain } = s.solana;
      try {
        await s.solana.faucet(bob.address, sol);
        chain.advance(2);
        chain.pool.lowestBidMicroLamports = 2_000n;
        chain.advance(150);
        const { id } = await s.send(paymentBody(s.home.address, bob.address, 5n));
        const { hash } = await s.untilWaiting(id);
        chain.advance();
        const isCapped = 'policies' in options;
        assert.equal(chain.landed(hash ?? '', newest) === undefined, isCapped);
        chain.pool.lowestBidMicroLamports = 0n;
        await s.untilWithBlocks(id, 'confirmed');
        const { feeLamports = 0n, bidMicroLamports = 0n } = chain.landed(hash ?? '', newest)?.transaction ?? {};
        assert.ok(isCapped ? feeLamports <= 5_001n : bidMicroLamports >= 2_000n, `${feeLamports} ${bidMicroLamports}`);
      } finally {
        await s.stop();
      }
    });
  }
});

describe('a Solana relayer with two RPC nodes, of which one reports heights but no statuses', () => {
  const states: readonly (readonly [what: string, state: (slot: bigint) => Partial<NodeCondition>])[] = [
    ['is on a fork of its own', (slot) => ({ forkedAfterSlot: slot })],
    ['is far behind', () => ({ blocksBehind: 100_000 })],
    ['has no history so far back', () => ({ historyFromSlot: 1_000_000n })],
    ['has no history', () => ({ keepsHistory: false })],
  ];
  for (const [what, stateAt] of states) {
    it(`two nodes: no attempt counts as dead if the other node ${what}`, async () => {
      const s = await startSolanaService({ nodes: 2, start: startServiceHere });
      const [first, second] = s.nodes;
      assert.ok(first && second);
      try {
        await s.solana.faucet(bob.address, sol);
        s.solana.chain.advance(2);
        const { id } = await s.send(paymentBody(s.home.address, bob.address, 5n));
        await s.untilWaiting(id);
        first.fail('getSignatureStatuses', { error: { code: -32603, message: 'Internal error' } }, 1_000_000);
        const well = { ...second.condition };
        Object.assign(second.condition, stateAt(s.solana.chain.tip(newest).slot));
        // It lands, and so long ago that no node has it among its newest statuses.
        s.solana.chain.advance(blocksUntilDead + 200);
        // The service has repeated every call with which it could find out.
        const asked = (): number => s.nodes.flatMap(({ calls }) => [...calls.values()]).reduce((sum, times) => sum + times, 0);
        const before = asked();
        await waitFor('thirty calls', () => {
          s.solana.chain.advance();
          return asked() >= before + 30 ? true : undefined;
        });
        assert.equal((await s.client.attempts(id)).length, 1);
        assert.equal((await s.client.get(id)).status, 'submitted');
        first.heal();
        Object.assign(second.condition, well);
        await s.untilWithBlocks(id, 'confirmed');
        assert.equal(readSolanaLedger(s.solana.chain, s.home.address).transactions.length, 1);
      } finally {
        await s.stop();
      }
    });
  }
});
