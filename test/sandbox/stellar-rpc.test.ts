import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Asset, Keypair, Operation, rpc, type xdr } from '@stellar/stellar-sdk';
import { createLedger, type LedgerOptions } from '../../src/sandbox/stellar/ledger.js';
import { type StellarNode, startStellar } from '../../src/sandbox/stellar/server.js';
import { createWallet, type Wallet } from '../support/stellar-wallet.js';
import { hashOf } from '../support/stellar-xdr.js';

interface Rig {
  readonly node: StellarNode;
  /** The SDK's client. */
  readonly server: rpc.Server;
  readonly alice: Wallet;
  readonly bob: Wallet;
  /** Returns the raw answer to a call. */
  ask(method: string, params?: object): Promise<Record<string, unknown>>;
}

async function withRig(test: (rig: Rig) => Promise<void>, options: LedgerOptions = {}): Promise<void> {
  const node = await startStellar(options);
  try {
    await test({
      node,
      server: new rpc.Server(node.url, { allowHttp: true }),
      alice: createWallet(node.ledger),
      bob: createWallet(node.ledger),
      ask: (method, params) => askOf(node.url, method, params),
    });
  } finally {
    await node.stop();
  }
}

async function askOf(url: string, method: string, params: object = {}): Promise<Record<string, unknown>> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const answer = (await response.json()) as { id: unknown; result?: Record<string, unknown>; error?: Record<string, unknown> };
  assert.equal(answer.id, 7);
  return answer.result ?? answer.error ?? {};
}

const pay = (to: string): xdr.Operation => Operation.payment({ destination: to, asset: Asset.native(), amount: '1' });

describe('local Stellar: the RPC node reports', () => {
  it('local Stellar: the RPC node reports health, network and the latest ledger, as the SDK reads them', () =>
    withRig(async ({ node, server }) => {
      const latest = node.ledger.close();
      assert.deepEqual(await server.getHealth(), { status: 'healthy', latestLedger: 3, oldestLedger: 1, ledgerRetentionWindow: 3 });
      assert.equal((await server.getNetwork()).passphrase, 'Standalone Network ; February 2017');
      const told = await server.getLatestLedger();
      assert.deepEqual([told.sequence, told.id, told.closeTime], [3, latest.hash, String(latest.closeTimeSeconds)]);
      assert.equal(told.headerXdr.ledgerSeq, 3);
    }));

  it('local Stellar: the RPC node reports an account as the SDK reads it, and nothing for a missing one', () =>
    withRig(async ({ server, alice }) => {
      const account = await server.getAccountEntry(alice.address);
      assert.equal(account.balance, alice.balance());
      assert.equal(account.seqNum, alice.sequence());
      assert.equal((await server.getAccount(alice.address)).sequenceNumber(), String(alice.sequence()));
      await assert.rejects(server.getAccount(Keypair.random().publicKey()), /Account not found/);
    }));

  it('local Stellar: the RPC node reports a trustline', () =>
    withRig(async ({ node, server, alice, bob }) => {
      const gold = new Asset('GOLD', bob.address);
      node.ledger.submit(alice.build([Operation.changeTrust({ asset: gold, limit: '7' })]).toXdr());
      node.ledger.close();
      const line = await server.getTrustline(alice.address, gold);
      assert.deepEqual([line.limit, line.balance, line.flags], [70_000_000n, 0n, 1]);
    }));

  it('local Stellar: the RPC node reports a transaction as sent, waiting and landed', () =>
    withRig(async ({ node, server, alice, bob, ask }) => {
      const payment = alice.build([pay(bob.address)]);
      const hash = hashOf(payment);
      const sent = await server.sendTransaction(payment);
      assert.deepEqual([sent.status, sent.hash, sent.latestLedger], ['PENDING', hash, 2]);
      assert.equal((await server.getTransaction(hash)).status, 'NOT_FOUND');
      const { closeTimeSeconds } = node.ledger.close();
      const landed = await server.getTransaction(hash);
      assert.ok(landed.status === rpc.Api.GetTransactionStatus.SUCCESS);
      assert.deepEqual([landed.ledger, landed.applicationOrder, landed.feeBump], [3, 1, false]);
      assert.equal(landed.resultXdr.feeCharged, 100n);
      assert.equal(landed.envelopeXdr.toXdr('base64'), payment.toXdr());
      // Times are strings here, and numbers in lists.
      const bare = await ask('getTransaction', { hash });
      assert.deepEqual([bare.createdAt, bare.latestLedgerCloseTime], [String(closeTimeSeconds), String(closeTimeSeconds)]);
      const [listed] = (await ask('getTransactions', { startLedger: 3 })).transactions as Record<string, unknown>[];
      assert.equal(listed?.createdAt, Number(closeTimeSeconds));
    }));

  it('local Stellar: the RPC node reports a refusal with the result of the transaction', () =>
    withRig(async ({ server, alice, bob }) => {
      const sent = await server.sendTransaction(alice.build([pay(bob.address)], { feeStroops: 99n }));
      assert.equal(sent.status, 'ERROR');
      assert.equal(sent.errorResult?.result.type, 'txInsufficientFee');
      assert.equal(sent.errorResult?.feeCharged, 100n);
    }));

  it('local Stellar: the RPC node reports pages of transactions', () =>
    withRig(async ({ node, server, alice, bob }) => {
      const hashes: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        for (const [from, to] of [
          [alice, bob],
          [bob, alice],
        ] as const) {
          node.ledger.submit(from.build([pay(to.address)]).toXdr());
        }
        hashes.push(...node.ledger.close().transactions.map(({ frame }) => frame.hash));
        node.ledger.close();
      }
      const seen: string[] = [];
      let page = await server.getTransactions({ startLedger: 2, pagination: { limit: 4 } });
      for (let calls = 0; page.transactions.length > 0 && calls < 10; calls += 1) {
        seen.push(...page.transactions.map(({ txHash }) => txHash));
        page = await server.getTransactions({ pagination: { cursor: page.cursor, limit: 4 } });
      }
      assert.deepEqual(seen, hashes);
    }));

  it('local Stellar: the RPC node reports pages of ledgers', () =>
    withRig(async ({ node, server }) => {
      for (let round = 0; round < 4; round += 1) node.ledger.close();
      const first = await server.getLedgers({ startLedger: 1, pagination: { limit: 4 } });
      const rest = await server.getLedgers({ pagination: { cursor: first.cursor, limit: 4 } });
      const told = [...first.ledgers, ...rest.ledgers];
      assert.deepEqual(
        told.map(({ sequence, hash }) => [sequence, hash]),
        [1, 2, 3, 4, 5, 6].map((sequence) => [sequence, node.ledger.at(sequence)?.hash]),
      );
    }));

  it('local Stellar: the RPC node reports nothing about dropped ledgers', () =>
    withRig(
      async ({ node, server, ask, alice, bob }) => {
        const payment = alice.build([pay(bob.address)]);
        node.ledger.submit(payment.toXdr());
        for (let round = 0; round < 6; round += 1) node.ledger.close();
        assert.equal((await server.getTransaction(hashOf(payment))).status, 'NOT_FOUND');
        assert.deepEqual(await ask('getTransactions', { startLedger: 3 }), {
          code: -32600,
          message: 'start ledger must be between the oldest ledger: 5 and the latest ledger: 8 for this rpc instance',
        });
      },
      { retentionLedgers: 4 },
    ));

  it('local Stellar: the RPC node reports fees of recent ledgers, and zeros if there are none', () =>
    withRig(async ({ node, server, alice, bob }) => {
      const { inclusionFee: none } = await server.getFeeStats();
      assert.deepEqual([none.p50, none.max, none.transactionCount], ['0', '0', '0']);
      node.ledger.setSurge(300n);
      node.ledger.submit(alice.build([pay(bob.address)], { feeStroops: 5_000n }).toXdr());
      node.ledger.close();
      const { inclusionFee, sorobanInclusionFee } = await server.getFeeStats();
      assert.deepEqual([inclusionFee.p50, inclusionFee.mode, inclusionFee.transactionCount], ['300', '300', '21']);
      assert.equal(sorobanInclusionFee.max, '300');
    }));

  it('local Stellar: the RPC node reports errors with the codes and words of a real node', () =>
    withRig(async ({ ask }) => {
      assert.deepEqual(await ask('getEvents'), { code: -32601, message: 'method not found' });
      assert.deepEqual(await ask('sendTransaction', { transaction: 'AAAA' }), { code: -32602, message: 'invalid_xdr' });
      assert.deepEqual(await ask('getTransaction', { hash: 'ab' }), { code: -32602, message: 'unexpected hash length (2)' });
      assert.deepEqual(await ask('getLedgerEntries', { keys: ['AAAA'] }), {
        code: -32602,
        message: 'cannot unmarshal key value AAAA at index 0',
      });
      assert.deepEqual(await ask('getTransactions', { startLedger: 2, pagination: { limit: 201 } }), {
        code: -32600,
        message: 'limit must not exceed 200',
      });
    }));

  describe('on command', () => {
    it('local Stellar: the RPC node, on command, drops transactions after PENDING, rejects them, or is busy', () =>
      withRig(async ({ node, server, alice, bob }) => {
        const payment = alice.build([pay(bob.address)]);
        node.setOutcome(() => ({ sending: 'dropped' }));
        assert.equal((await server.sendTransaction(payment)).status, 'PENDING');
        assert.deepEqual(node.ledger.waiting(), []);
        node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
        assert.equal((await server.sendTransaction(payment)).status, 'TRY_AGAIN_LATER');
        node.setOutcome(() => ({ refusedWith: 503 }));
        await assert.rejects(server.sendTransaction(payment), /503/);
        node.setOutcome(null);
        assert.equal((await server.sendTransaction(payment)).status, 'PENDING');
      }));

    it('local Stellar: the RPC node, on command, acts but loses the answer', () =>
      withRig(async ({ node, server, alice, bob }) => {
        node.setOutcome(() => ({ answerIsLost: true }));
        await assert.rejects(server.sendTransaction(alice.build([pay(bob.address)])));
        assert.equal(node.ledger.waiting().length, 1);
      }));

    it('local Stellar: the RPC node, on command, acts but answers late', () =>
      withRig(async ({ node, server, alice, bob }) => {
        node.setOutcome(() => ({ heldForMs: 200 }));
        const answer = server.sendTransaction(alice.build([pay(bob.address)])).then(({ status }) => `answered ${status}`);
        const acted = (async () => {
          while (node.ledger.waiting().length === 0) await new Promise((resolve) => setImmediate(resolve));
          return 'acted';
        })();
        assert.equal(await Promise.race([answer, acted]), 'acted');
        assert.equal(await answer, 'answered PENDING');
      }));

    it('local Stellar: the RPC node, on command, lags behind the ledger', () =>
      withRig(async ({ node, server, alice, bob }) => {
        const payment = alice.build([pay(bob.address)]);
        const before = alice.sequence();
        node.ledger.submit(payment.toXdr());
        node.ledger.close();
        node.ledger.close();
        node.setBehind(2);
        assert.equal((await server.getLatestLedger()).sequence, 2);
        assert.equal((await server.getAccountEntry(alice.address)).seqNum, before);
        assert.equal((await server.getTransaction(hashOf(payment))).status, 'NOT_FOUND');
        node.setBehind(0);
        assert.equal((await server.getAccountEntry(alice.address)).seqNum, before + 1n);
      }));

    it('local Stellar: the RPC node, on command, restarts with the same ledger and queue', () =>
      withRig(async ({ node, server, alice, bob }) => {
        const payment = alice.build([pay(bob.address)]);
        await server.sendTransaction(payment);
        await node.stop();
        await assert.rejects(server.getHealth());
        const back = await startStellar({ ledger: node.ledger, port: node.port });
        try {
          back.ledger.close();
          assert.equal((await server.getTransaction(hashOf(payment))).status, 'SUCCESS');
        } finally {
          await back.stop();
        }
      }));
  });

  it('local Stellar: the RPC node reports the same ledgers from two nodes of one network', async () => {
    const ledger = createLedger();
    const [one, other] = await Promise.all([startStellar({ ledger }), startStellar({ ledger })]);
    try {
      const [alice, bob] = [createWallet(ledger), createWallet(ledger)];
      const payment = alice.build([pay(bob.address)]);
      await new rpc.Server(one.url, { allowHttp: true }).sendTransaction(payment);
      ledger.close();
      const told = await new rpc.Server(other.url, { allowHttp: true }).getTransaction(hashOf(payment));
      assert.equal(told.status, 'SUCCESS');
    } finally {
      await Promise.all([one.stop(), other.stop()]);
    }
  });

  it('local Stellar: the RPC node reports the same as a program that closes ledgers by a timer', async () => {
    const account = Keypair.random().publicKey();
    const args = ['dist/program/stellar-ledger.js', '--close-ms', '50', '--account', `${account}:12`];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
      const url = /^Listening on (http:\/\/\S+) passphrase="([^"]+)" contract=C\w+\n$/.exec(chunk.toString())?.[1] ?? '';
      const server = new rpc.Server(url, { allowHttp: true });
      assert.equal((await server.getAccountEntry(account)).balance, 120_000_000n);
      const { sequence } = await server.getLatestLedger();
      while ((await server.getLatestLedger()).sequence === sequence) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
    }
  });
});
