import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const first = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000001', speed: 'fast' };
const second = { to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', value: '2000000000000000003', speed: 'fastest' };

/** A transaction as any protocol shows it. */
interface Seen {
  readonly id: string;
  readonly status: string;
  readonly hash: string | null;
  readonly to: string;
  readonly value: string;
  readonly nonce: number;
}

/** The few calls of this test, in one protocol's way. */
interface Way {
  readonly protocol: string;
  send(body: typeof first): Promise<Seen>;
  replace(id: string, body: typeof first): Promise<Seen>;
  get(id: string): Promise<Seen>;
  list(): Promise<readonly Seen[]>;
  attemptHashes(id: string): Promise<readonly string[]>;
  close(): void;
}

describe('send, replace and mine', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let ways: readonly Way[];

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
    ways = [restWay(service.baseUrl), ...rpcWays(service.baseUrl)];
  });

  after(async () => {
    for (const way of ways ?? []) way.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  for (const index of [0, 1, 2, 3]) {
    it(`replace over ${['REST', 'gRPC', 'gRPC-Web', 'Connect JSON'][index]}: the chain holds only the replacement, once`, async () => {
      const way = ways[index];
      assert.ok(way);
      const listedBefore = (await way.list()).length;
      const sent = await way.send(first);
      assert.equal(sent.status, 'pending');
      const submitted = await waitFor('the first version at the node', async () => {
        const seen = await way.get(sent.id);
        return seen.status === 'submitted' ? seen : undefined;
      });
      const replaced = await way.replace(sent.id, second);
      assert.equal(replaced.id, sent.id);
      assert.equal(replaced.nonce, submitted.nonce);
      assert.notEqual(replaced.hash, submitted.hash);
      assert.equal(replaced.to, second.to);

      await waitFor('the replacement in the pool', async () => {
        const pooled = await anvil.rpc('eth_getTransactionByHash', [replaced.hash]);
        return pooled === null ? undefined : pooled;
      });
      await anvil.mine(1);
      const confirmed = await waitFor('the confirmation', async () => {
        const seen = await way.get(sent.id);
        return seen.status === 'confirmed' ? seen : undefined;
      });
      assert.deepEqual(
        { hash: confirmed.hash, to: confirmed.to, value: confirmed.value },
        { hash: replaced.hash, to: second.to, value: second.value },
      );

      const block = (await anvil.rpc('eth_getBlockByNumber', ['latest', true])) as {
        transactions: { hash: string; to: string; value: string; nonce: string }[];
      };
      assert.deepEqual(
        block.transactions.map(({ hash, to, value, nonce }) => ({ hash, to, value: BigInt(value), nonce: Number(nonce) })),
        [{ hash: replaced.hash, to: second.to.toLowerCase(), value: BigInt(second.value), nonce: submitted.nonce }],
      );
      assert.equal(await anvil.rpc('eth_getTransactionReceipt', [submitted.hash]), null);
      assert.equal((await way.list()).length, listedBefore + 1);
      assert.deepEqual(await way.attemptHashes(sent.id), [replaced.hash, submitted.hash]);
    });
  }

  it('replace: without to, the response says that the replacement creates a contract', async () => {
    const path = `/relayers/${home.relayerId}/transactions`;
    const sent = (await rest(service.baseUrl, 'POST', path, first)).body.data;
    await waitFor('the transaction at the node', async () => {
      const seen = (await rest(service.baseUrl, 'GET', `${path}/${sent.id}`)).body.data;
      return seen.status === 'submitted' ? seen : undefined;
    });
    const { body } = await rest(service.baseUrl, 'PUT', `${path}/${sent.id}`, {
      value: '0',
      data: '0x600a',
      gas_limit: 100_000,
      speed: 'fastest',
    });
    assert.equal(body.success, true);
    assert.deepEqual(
      body.metadata.logs.map(({ message }: { message: string }) => message),
      ['to is not set, so the replacement creates a contract'],
    );
    const { body: named } = await rest(service.baseUrl, 'PUT', `${path}/${sent.id}`, { ...second, speed: 'fastest' });
    assert.equal(named.metadata?.logs?.length ?? 0, 0);
    await anvil.mine(1);
    await waitFor('the confirmation', async () => {
      const seen = (await rest(service.baseUrl, 'GET', `${path}/${sent.id}`)).body.data;
      return seen.status === 'confirmed' ? seen : undefined;
    });
  });

  it('replace: refuses a confirmed transaction and names its status', async () => {
    const [newest] = (await rest(service.baseUrl, 'GET', `/relayers/${home.relayerId}/transactions`)).body.data;
    const refused = await rest(service.baseUrl, 'PUT', `/relayers/${home.relayerId}/transactions/${newest.id}`, second);
    assert.equal(refused.status, 400);
    assert.equal(refused.headers.get('x-error-reason'), 'TRANSACTION_CONFIRMED');
    assert.deepEqual(refused.body, {
      success: false,
      data: null,
      error: 'the transaction is confirmed, so it can no longer be replaced',
      message: 'Bad Request',
    });
  });

  function restWay(baseUrl: string): Way {
    const path = `/relayers/r1/transactions`;
    const data = async (verb: string, suffix: string, body?: object) => {
      const answer = await rest(baseUrl, verb, path + suffix, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body.data;
    };
    return {
      protocol: 'REST',
      send: (body) => data('POST', '', body),
      replace: (id, body) => data('PUT', `/${id}`, body),
      get: (id) => data('GET', `/${id}`),
      list: () => data('GET', '?per_page=100'),
      attemptHashes: async (id) => (await data('GET', `/${id}/attempts`)).map(({ hash }: { hash: string }) => hash),
      close() {},
    };
  }

  function rpcWays(baseUrl: string): readonly Way[] {
    return rpcCallers(baseUrl).map((caller) => {
      const call = async (method: string, message: object) => {
        const outcome = await caller.call('TransactionService', method, message);
        assert.ok(outcome.ok, JSON.stringify(outcome));
        // biome-ignore lint/suspicious/noExplicitAny: the clients give untyped JSON
        return outcome.response as any;
      };
      const evm = (body: typeof first) => ({ ...body, speed: body.speed === 'fast' ? 'SPEED_FAST' : 'SPEED_FASTEST' });
      return {
        protocol: caller.protocol,
        send: async (body) => seenOf((await call('SendTransaction', { relayer_id: 'r1', evm: evm(body) })).transaction),
        replace: async (id, body) =>
          seenOf((await call('ReplaceTransaction', { relayer_id: 'r1', transaction_id: id, evm: evm(body) })).transaction),
        get: async (id) => seenOf((await call('GetTransaction', { relayer_id: 'r1', transaction_id: id })).transaction),
        list: async () => (await call('ListTransactions', { relayer_id: 'r1', per_page: 100 })).transactions?.map(seenOf) ?? [],
        attemptHashes: async (id) =>
          (await call('ListAttempts', { relayer_id: 'r1', transaction_id: id })).attempts.map(({ hash }: { hash: string }) => hash),
        close: () => caller.close(),
      };
    });
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the clients give untyped JSON
function seenOf(transaction: any): Seen {
  return {
    id: transaction.id,
    status: transaction.status.replace('TRANSACTION_STATUS_', '').toLowerCase(),
    hash: transaction.hash ?? null,
    to: transaction.evm.to,
    value: transaction.evm.value,
    nonce: Number(transaction.evm.nonce),
  };
}
