import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { parseEther } from 'ethers';
import pg from 'pg';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { addRelayers } from '../support/more-relayers.js';
import { startPostgres } from '../support/postgres.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const message = 'a message that no audit line may have';

interface Line {
  readonly id: string;
  readonly created_at: string;
  readonly api_key_id: string | null;
  readonly api_key_name: string | null;
  readonly event: string | null;
  readonly method: string | null;
  readonly relayer_id: string | null;
  readonly transaction_ids: readonly string[];
  readonly outcome: string | null;
  readonly line: string;
}

describe('GET /audit', () => {
  let home: ServiceHome;
  let service: RunningService;
  const ids: string[] = [];
  let ops: { readonly id: string; readonly headers: Record<string, string> };

  async function newKey(name: string, scopes: readonly string[], relayerIds: readonly string[] = []) {
    const { status, text, body } = await rest(service.baseUrl, 'POST', '/api-keys', { name, scopes, relayer_ids: relayerIds });
    assert.equal(status, 201, text);
    return { id: body.data.id as string, headers: { authorization: `Bearer ${body.data.key}` } };
  }

  async function listed(query: string, headers: Record<string, string> = {}) {
    const { status, text, body } = await rest(service.baseUrl, 'GET', `/audit${query}`, undefined, headers);
    assert.equal(status, 200, text);
    return { lines: body.data as readonly Line[], total: body.pagination.total_items as number };
  }

  const untilListed = (query: string, count: number) =>
    waitFor(`${count} lines of ${query}`, async () => {
      const { lines } = await listed(query);
      return lines.length >= count ? lines : undefined;
    });

  before(async () => {
    // Nothing is signed: the node does not answer.
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
    await addRelayers(home, 1);
    service = await startServiceHere(home);
    ops = await newKey('ops', ['transactions:write']);
    for (const relayer of ['r1', 'r2', 'r1']) {
      const { body } = await rest(service.baseUrl, 'POST', `/relayers/${relayer}/transactions`, { to, value: 1 });
      ids.push(body.data.id);
    }
    const transactions = [
      { to, value: 2 },
      { to, value: 3 },
      { to, value: 4 },
    ];
    const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions/batch', { transactions });
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    await rest(service.baseUrl, 'DELETE', `/relayers/r1/transactions/${ids[0]}`, undefined, ops.headers);
    await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message });
    await untilListed('?method=SigningService.SignData', 1);
  });

  after(async () => {
    await service?.stop();
    await home?.remove();
  });

  it('a record can say who canceled it, and who sent it', async () => {
    const { lines, total } = await listed(`?transaction_id=${ids[0]}`);
    assert.deepEqual(
      lines.map(({ api_key_name, method, outcome, relayer_id }) => [api_key_name, method, outcome, relayer_id]),
      [
        ['ops', 'TransactionService.CancelTransaction', 'OK', 'r1'],
        ['bootstrap', 'TransactionService.SendTransaction', 'OK', 'r1'],
      ],
    );
    assert.equal(total, 2);
    const [canceled] = lines;
    assert.deepEqual([canceled?.api_key_id, canceled?.transaction_ids], [ops.id, [ids[0]]]);
    const whole = JSON.parse(canceled?.line ?? '');
    assert.deepEqual([whole.level, whole.keyId, new Date(whole.time).toISOString()], ['audit', ops.id, canceled?.created_at]);
    assert.ok(service.output().includes(`${canceled?.line}\n`), 'it is the line of the log, with its link');
  });

  it('transactions that were sent together have one line, which each of them finds', async () => {
    for (const id of ids.slice(3)) {
      const { lines } = await listed(`?transaction_id=${id}`);
      assert.deepEqual(
        lines.map(({ method, transaction_ids }) => [method, transaction_ids]),
        [['TransactionService.SendTransactions', ids.slice(3)]],
      );
    }
    assert.equal((await listed('?method=TransactionService.SendTransactions')).total, 1);
  });

  it('filters by key, relayer, method and time, all of which must match', async () => {
    const methodsOf = async (query: string) => (await listed(query)).lines.map(({ method }) => method?.split('.')[1]);
    assert.deepEqual(await methodsOf(`?api_key_id=${ops.id}`), ['CancelTransaction']);
    assert.deepEqual(await methodsOf('?relayer_id=r2'), ['SendTransaction']);
    assert.deepEqual(await methodsOf('?relayer_id=r2&method=/relayer.v1.TransactionService/SendTransaction'), ['SendTransaction']);
    assert.deepEqual(await methodsOf(`?relayer_id=r2&api_key_id=${ops.id}`), []);
    const [cancel] = (await listed(`?api_key_id=${ops.id}`)).lines;
    const at = encodeURIComponent(cancel?.created_at ?? '');
    assert.ok((await methodsOf(`?created_after=${at}`)).includes('CancelTransaction'));
    assert.ok(!(await methodsOf(`?created_before=${at}`)).includes('CancelTransaction'));
    for (const query of ['?method=not%20a%20method', '?transaction_id=%00', '?created_after=yesterday', '?page=0'])
      assert.equal((await rest(service.baseUrl, 'GET', `/audit${query}`)).status, 400, query);
  });

  it('pages by number, and over RPC by token, without a line twice', async () => {
    const all = (await listed('?per_page=100')).lines.map(({ id }) => id);
    assert.ok(all.length >= 7, String(all.length));
    assert.deepEqual(
      (await listed('?per_page=3&page=2')).lines.map(({ id }) => id),
      all.slice(3, 6),
    );
    const client = createClient(AuditService, createGrpcTransport({ baseUrl: service.baseUrl }));
    const headers = { authorization: `Bearer ${apiKey}` };
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await client.listAuditLines({ pageSize: 2, pageToken }, { headers });
      found.push(...page.lines.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(found, all);
    await assert.rejects(client.listAuditLines({ pageToken: 'bm90IGEgdG9rZW4' }, { headers }), /is not a token of this list/);
  });

  it('a key with a list of relayers sees lines about these alone', async () => {
    const { headers } = await newKey('auditor of r2', ['audit:read'], ['r2']);
    const { lines } = await listed('?per_page=100', headers);
    assert.deepEqual(
      lines.map(({ relayer_id, transaction_ids }) => [relayer_id, transaction_ids]),
      [['r2', [ids[1]]]],
    );
    assert.deepEqual((await listed(`?transaction_id=${ids[0]}`, headers)).lines, []);
    assert.deepEqual((await listed(`?api_key_id=${ops.id}`, headers)).lines, []);
    const refused = await rest(service.baseUrl, 'GET', '/audit?relayer_id=r1', undefined, headers);
    assert.deepEqual([refused.status, refused.headers.get('x-error-reason')], [403, 'RELAYER_NOT_ALLOWED']);
    const { headers: all } = await newKey('auditor', ['audit:read']);
    assert.equal(
      (await listed('?per_page=100', all)).lines.some(({ relayer_id }) => relayer_id === 'r1'),
      true,
    );
    const { headers: admin } = await newKey('admin', ['admin', 'transactions:read']);
    const scopeless = await rest(service.baseUrl, 'GET', '/audit', undefined, admin);
    assert.deepEqual([scopeless.status, scopeless.headers.get('x-error-reason')], [403, 'SCOPE_MISSING']);
  });

  it('lines hold no secret, and reading writes none', async () => {
    const { lines } = await listed('?per_page=100');
    const text = JSON.stringify(lines);
    for (const secret of [apiKey, ops.headers.authorization as string, message, home.privateKey]) assert.ok(!text.includes(secret));
    assert.ok(!text.includes('ListAuditLines'));
  });
});

it('with AUDIT_RETENTION_DAYS=0, no line is stored, and stored ones are deleted', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  let service = await startServiceHere(home);
  await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message });
  await service.stop();
  const db = new (sqliteDriver())(join(home.dir, 'relayer.db'), { readonly: true });
  test.after(() => db.close());
  const count = () => (db.prepare('select count(*) as total from audit_lines').get() as { total: number }).total;
  assert.equal(count(), 1, 'a stop stores what waits');
  service = await startServiceHere({ ...home, env: { ...home.env, AUDIT_RETENTION_DAYS: '0' } });
  test.after(() => service.stop());
  await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message });
  await waitFor('the line to be deleted', () => (count() === 0 ? true : undefined));
  assert.deepEqual((await rest(service.baseUrl, 'GET', '/audit')).body.data, []);
});

const databases = {
  SQLite: async (home: ServiceHome) => ({
    url: home.env.DATABASE_URL as string,
    async read(sql: string) {
      const db = new (sqliteDriver())(join(home.dir, 'relayer.db'));
      const rows = db.prepare(sql).all() as readonly Record<string, string>[];
      db.close();
      return rows;
    },
    stop: async () => undefined,
  }),
  PostgreSQL: async () => {
    const server = await startPostgres();
    const url = await server.newDatabase();
    return {
      url,
      async read(sql: string) {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        const { rows } = await client.query<Record<string, string>>(sql);
        await client.end();
        return rows;
      },
      stop: () => server.stop(),
    };
  },
};

for (const [name, open] of Object.entries(databases))
  it(`${name}: after SIGKILL each stored attempt has its line in the copy`, async (test) => {
    const anvil = await startAnvil({ blockTime: 1 });
    test.after(() => anvil.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url });
    test.after(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const database = await open(home);
    test.after(() => database.stop());
    const started = { ...home, env: { ...home.env, DATABASE_URL: database.url } };
    let stored = 0;
    for (let round = 0; round < 2; round += 1) {
      const service = await startService(started);
      const first = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to, value: 0, speed: 'fast' });
      await waitFor('the instance to sign', async () => {
        const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${first.body.data.id}`);
        return body.data.hash ?? undefined;
      });
      let killed: Promise<void> | undefined;
      let answered = 0;
      await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to, value: index + 1, speed: 'fast' });
          answered += 1;
          if (answered === 20 + 10 * round) killed = service.kill();
        }).map((send) => send.catch(() => undefined)),
      );
      await killed;
      const attempts = await database.read('select transaction_id, version, hash from attempts');
      const lines = await database.read("select line from audit_lines where key_id = 'engine'");
      const signed = new Set(
        lines.map(({ line = '' }) => {
          const { transaction_id, version, hash } = JSON.parse(line || '{}') as Record<string, string>;
          return [transaction_id, version, hash].join(' ');
        }),
      );
      const missing = attempts.filter(({ transaction_id, version, hash }) => !signed.has([transaction_id, version, hash].join(' ')));
      assert.deepEqual(missing, []);
      assert.ok(attempts.length > stored, `${attempts.length} attempts`);
      stored = attempts.length;
    }
  });
