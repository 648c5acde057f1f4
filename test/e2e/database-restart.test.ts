import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { readMetrics, sumOf } from '../support/metrics-text.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { apiKey, createServiceHome, launchService, type RunningService, type ServiceHome } from '../support/service.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

const callers = 8;
const firstValue = 1_000_000;

interface Record {
  readonly id: string;
  readonly status: string;
  readonly hash: string;
  readonly value: string;
}

describe('a service whose PostgreSQL restarts, and whose connections are cut', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  let proxy: TcpProxy;
  let home: ServiceHome;
  let service: RunningService;
  let hasEnded = false;

  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres()]);
    const databaseUrl = new URL(await postgres.newDatabase());
    proxy = await startTcpProxy(Number(databaseUrl.port));
    databaseUrl.port = String(proxy.port);
    home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: databaseUrl.href } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const { listening, exited } = launchService(home);
    void exited.then(() => {
      hasEnded = true;
    });
    service = await listening;
  });

  after(async () => {
    await service?.stop();
    await proxy?.stop();
    await Promise.all([anvil?.stop(), postgres?.stop()]);
    await home?.remove();
  });

  const statusOf = async (path: string): Promise<number> => (await fetch(`${service.baseUrl}${path}`)).status;
  const isReady = async () => ((await statusOf('/api/v1/ready')) === 200 ? true : undefined);

  async function gauges(): Promise<string> {
    const answer = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
    const scraped = readMetrics(await answer.text());
    return ['relayer_ready', 'relayer_store_up'].map((name) => sumOf(scraped, name)).join();
  }

  /** Sends with an idempotency key until the answer is 200, as a careful caller does. Counts the refusals. */
  async function send(index: number, refusals: number[]): Promise<string> {
    const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: firstValue + index, speed: 'fast' };
    return waitFor(`send ${index} to be accepted`, async () => {
      const answer = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', body, { 'idempotency-key': `send-${index}` });
      if (answer.status === 200) return answer.body.data.id as string;
      refusals.push(answer.status);
      return undefined;
    });
  }

  it('accepts each send once, gets each on the chain once, signs meanwhile, says in /ready what it lacks, and does not end', async () => {
    const accepted = new Map<number, string>();
    const refusals: number[] = [];
    let isOver = false;
    let next = 0;
    const sending = Promise.all(
      Array.from({ length: callers }, async () => {
        while (!isOver) {
          const index = next++;
          accepted.set(index, await send(index, refusals));
        }
      }),
    );
    for (let round = 0; round < 3; round += 1) {
      const enough = accepted.size + 10;
      await waitFor('sends to be accepted', () => accepted.size >= enough || undefined);
      proxy.cut({ keepServer: round === 1 });
      await waitFor('a send to be accepted after the cut', () => accepted.size >= enough + 10 || undefined);
      await postgres.halt();
      await waitFor('/ready to answer 503', async () => ((await statusOf('/api/v1/ready')) === 503 ? true : undefined));
      assert.equal(await statusOf('/api/v1/health'), 200);
      await waitFor('the gauges to say so', async () => (await gauges()) === '0,0' || undefined);
      const signed = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'still signing' });
      assert.equal(signed.status, 200);
      await waitFor('a send to be refused', () => refusals.length > round || undefined);
      await postgres.start();
      await waitFor('the service to be ready', isReady);
      await waitFor('the gauges to say so', async () => (await gauges()) === '1,1' || undefined);
    }
    isOver = true;
    await sending;
    assert.equal(hasEnded, false);
    assert.deepEqual([...new Set(refusals)], [503], service.output());

    const stored = await waitFor('every transaction to be confirmed', async () => {
      const all: Record[] = [];
      for (let page = 1; ; page += 1) {
        const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions?per_page=100&page=${page}`);
        all.push(...body.data);
        if (all.length >= body.pagination.total_items) break;
      }
      return all.every(({ status }) => status === 'confirmed') ? all : undefined;
    });
    assert.deepEqual(stored.map(({ id }) => id).sort(), [...accepted.values()].sort());
    const { transactions } = await readLedger(anvil, home.address);
    const onChain = transactions.map(({ value, hash }) => `${value} ${hash}`);
    assert.deepEqual(onChain.sort(), stored.map(({ value, hash }) => `${value} ${hash}`).sort());
    assert.equal(new Set(transactions.map(({ value }) => value)).size, accepted.size);
  });

  it('a signer whose creation got no answer is there when the database is back, as its stored response says', async () => {
    const body = { id: 'created', type: 'plain', config: { key: '11'.repeat(32) } };
    const create = () => rest(service.baseUrl, 'POST', '/signers', body, { 'idempotency-key': 'create-signer' });
    let isSent = false;
    let isCut = false;
    proxy.fateOf((chunk) => {
      if (isCut) return 'cut before';
      isSent ||= chunk.includes('insert into "definitions"');
      isCut = isSent && chunk.includes('commit\0');
      return isCut ? 'cut after' : 'pass';
    });
    assert.equal((await create()).status, 503);
    proxy.fateOf(() => 'pass');
    await waitFor('the service to be ready', isReady);
    assert.equal((await create()).status, 201);
    const isThere = async () => ((await rest(service.baseUrl, 'GET', '/signers/created')).status === 200 ? true : undefined);
    await waitFor('the signer', isThere, 5_000);
  });
});
