import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import type * as ClientModule from '../../src/client/index.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { type Fate, startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

/** The bundle, which the package exports. */
const bundle = new URL('../../client/index.js', import.meta.url).href;
const { Code, ConnectError, createRelayerClient, ErrorReason, TransactionStatus } = (await import(bundle)) as typeof ClientModule;
type TransactionRecord = ClientModule.Transaction;

const relayerId = 'r1';
const evm = { case: 'evm', value: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' } } as const;

describe("the package's client", () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let proxy: TcpProxy;
  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, '0xde0b6b3a7640000']);
    service = await startServiceHere(home);
    proxy = await startTcpProxy(service.port);
  });
  after(async () => {
    await proxy?.stop();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });
  afterEach(() => proxy.fateOf(() => 'pass'));

  const through = (options: Partial<ClientModule.RelayerClientOptions> = {}) =>
    createRelayerClient({ url: `http://127.0.0.1:${proxy.port}`, token: apiKey, ...options });

  /** Loses the connection of the first calls of a method. Returns the number of its calls so far. */
  function lose(method: string, count: number, fate: Fate): () => number {
    let calls = 0;
    proxy.fateOf((chunk) => (chunk.includes(`/${method} HTTP`) && ++calls <= count ? fate : 'pass'));
    return () => calls;
  }

  async function totalOf(client: ClientModule.RelayerClient): Promise<number> {
    const { pagination } = await client.transactions.listTransactions({ relayerId, page: 1 });
    return Number(pagination?.totalItems);
  }

  it('sends once if the responses to two attempts are lost', async () => {
    const client = through();
    const before = await totalOf(client);
    const calls = lose('SendTransaction', 2, 'cut after');
    const { transaction } = await client.transactions.sendTransaction({ relayerId, transaction: evm });
    assert.deepEqual([calls(), (await totalOf(client)) - before], [3, 1]);
    assert.match(transaction?.id ?? '', /^[0-9a-f-]{36}$/);
  });

  it("keeps the caller's idempotency key", async () => {
    const client = through();
    const request = { relayerId, transaction: evm, idempotencyKey: 'of-the-caller' };
    const first = await client.transactions.sendTransaction(request);
    const second = await client.transactions.sendTransaction(request);
    assert.equal(second.transaction?.id, first.transaction?.id);
    const headers = { 'idempotency-key': 'of-the-caller' };
    const third = await client.transactions.sendTransaction({ relayerId, transaction: evm }, { headers });
    assert.notEqual(third.transaction, undefined);
  });

  it('gives up after maxRetries, with the reason', async () => {
    const calls = lose('GetTransaction', Number.POSITIVE_INFINITY, 'cut before');
    await assert.rejects(through({ maxRetries: 2 }).transactions.getTransaction({ relayerId, transactionId: 'x' }), (error) => {
      assert.ok(error instanceof ConnectError && error instanceof Error);
      assert.deepEqual([error.code, error.rawMessage], [Code.Unavailable, 'the service cannot be reached']);
      return true;
    });
    assert.equal(calls(), 3);
  });

  it('does not repeat a write without an idempotency key', async () => {
    const calls = lose('CancelPendingTransactions', 1, 'cut after');
    await assert.rejects(through().transactions.cancelPendingTransactions({ relayerId }), { code: Code.Unavailable });
    assert.equal(calls(), 1);
  });

  it('does not repeat a call that the service refuses, and gives its details', async () => {
    const calls = lose('GetRelayer', 0, 'pass');
    await assert.rejects(through().relayers.getRelayer({ relayerId: 'unknown' }), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.NotFound);
      return true;
    });
    assert.equal(calls(), 1);
    assert.equal(ErrorReason[ErrorReason.RELAYER_NOT_FOUND], 'RELAYER_NOT_FOUND');
  });

  it('ends a call after timeoutMs, retries included', async () => {
    lose('GetRelayer', Number.POSITIVE_INFINITY, 'cut before');
    const startedMs = Date.now();
    await assert.rejects(through({ timeoutMs: 300, maxRetries: 1_000 }).relayers.getRelayer({ relayerId }), {
      code: Code.DeadlineExceeded,
    });
    assert.ok(Date.now() - startedMs < 20_000);
  });

  it('takes the address of the REST API, and a function that returns the key', async () => {
    const tokens: string[] = [];
    const token = async () => {
      tokens.push(apiKey);
      return apiKey;
    };
    const client = createRelayerClient({ url: `${service.baseUrl}/api/v1/`, token });
    const { relayer } = await client.relayers.getRelayer({ relayerId });
    await client.relayers.listRelayers({});
    assert.deepEqual([relayer?.id, tokens.length], [relayerId, 2]);
  });

  it('waitFor: returns the confirmed record, through a lost connection', async () => {
    const client = through();
    const { transaction } = await client.transactions.sendTransaction({ relayerId, transaction: evm });
    assert.ok(transaction);
    const seen: TransactionRecord[] = [];
    const calls = lose('WatchTransactions', 1, 'cut after');
    const onChange = (record: TransactionRecord): void => void seen.push(record);
    const record = await client.waitFor(transaction, { onChange });
    assert.deepEqual([record.id, record.status, calls() >= 2], [transaction.id, TransactionStatus.CONFIRMED, true]);
    assert.equal(seen.at(-1), record);
    const revisions = seen.map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      [...new Set(revisions)].sort((a, b) => Number(a - b)),
    );
  });

  it('waitFor: ends with the status that is asked for, or a final one', async () => {
    const client = through();
    const { transaction } = await client.transactions.sendTransaction({ relayerId, transaction: evm });
    assert.ok(transaction);
    const { status } = await client.waitFor(transaction, { until: TransactionStatus.MINED });
    assert.ok(status >= TransactionStatus.MINED, TransactionStatus[status]);
    assert.equal((await client.waitFor(transaction)).status, TransactionStatus.CONFIRMED);
    assert.equal((await client.waitFor({ id: transaction.id, relayerId })).status, TransactionStatus.CONFIRMED);
  });

  it("waitFor: rejects with the signal's reason, and with what the service refuses", async () => {
    const client = through();
    const reason = new Error('enough');
    await assert.rejects(client.waitFor({ id: 'x', relayerId }, { signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(client.waitFor({ id: 'x', relayerId: 'unknown' }), { code: Code.NotFound });
    lose('WatchTransactions', Number.POSITIVE_INFINITY, 'cut before');
    const ending = new AbortController();
    const waiting = client.waitFor({ id: 'x', relayerId }, { signal: ending.signal });
    ending.abort(reason);
    await assert.rejects(waiting, reason);
  });
});

it("the package's client: at most 44 KB in a browser's bundle, compressed", async (test) => {
  const { outputFiles } = await build({
    entryPoints: ['examples/package/page.mjs'],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
  test.diagnostic(`${(bytes / 1000).toFixed(1)} KB`);
  assert.ok(bytes <= 44 * 1024, `${bytes} bytes`);
});
