import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyMessage } from 'ethers';
import pg from 'pg';
import { startHttpReceiver } from '../support/http-receiver.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { type RestClient, type RestResult, restClient } from '../support/rest-client.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** The key that is all ones, and its address. */
const madeKey = '01'.repeat(32);
const madeAddress = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1';

describe('definitions that one of two instances changes', () => {
  let postgres: TestPostgres;
  let databaseUrl: string;
  let home: ServiceHome;
  let services: readonly RunningService[] = [];
  const one: RestClient = (...call) => restClient(() => services[0]?.baseUrl ?? '')(...call);
  const other: RestClient = (...call) => restClient(() => services[1]?.baseUrl ?? '')(...call);

  before(async () => {
    postgres = await startPostgres();
    databaseUrl = await postgres.newDatabase();
    const notifications = [{ id: 'of-file', type: 'webhook', url: 'http://127.0.0.1:9/' }];
    const env = { DATABASE_URL: databaseUrl, RATE_LIMIT_REQUESTS_PER_SECOND: '600', RATE_LIMIT_BURST_SIZE: '1800' };
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', notifications, env });
    // Both find an empty database.
    services = await Promise.all([startServiceHere(home), startServiceHere(home)]);
  });
  after(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await home?.remove();
    await postgres?.stop();
  });

  async function must(answer: Promise<RestResult>): Promise<RestResult['body']> {
    const { status, body } = await answer;
    assert.ok(status < 300, JSON.stringify(body));
    return body?.data;
  }

  function until(what: string, ask: () => Promise<RestResult>, isIt: (answer: RestResult) => boolean): Promise<RestResult> {
    return waitFor(what, async () => {
      const answer = await ask();
      return isIt(answer) ? answer : undefined;
    });
  }

  const isFound = ({ status }: RestResult) => status === 200;
  const isGone = ({ status }: RestResult) => status === 404;

  function makeSigner(rest: RestClient, id = 'made-key'): Promise<RestResult> {
    return rest('POST', '/signers', { id, type: 'plain', config: { key: madeKey } });
  }

  function makeRelayer(rest: RestClient, over: object = {}): Promise<RestResult> {
    const relayer = { id: 'made', name: 'Made', network: 'local', network_type: 'evm', paused: false, signer_id: 'made-key', ...over };
    return rest('POST', '/relayers', relayer);
  }

  /** Ends the connections on which the instances hear of one another. */
  async function cutNews(): Promise<void> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'relayer %' and pid not in (select pid from pg_locks where locktype = 'advisory')`;
    // They may be about to come back from the last cut.
    await waitFor('both connections', async () => {
      const { rows } = await client.query<{ count: number }>(`select count(*)::int as count ${others}`);
      return (rows[0]?.count ?? 0) >= 2 ? true : undefined;
    });
    await client.query(`select pg_terminate_backend(pid) ${others}`);
    await client.end();
  }

  for (const isCut of [false, true]) {
    it(`relayers and signers: the other instance creates, changes and deletes them, ${isCut ? 'without' : 'with'} the notification of the change`, async () => {
      const prepare = isCut ? cutNews : async () => undefined;
      await must(makeSigner(one));
      await prepare();
      await must(makeRelayer(one));
      await until('the relayer at the other instance', () => other('GET', '/relayers/made'), isFound);
      const { sig } = await must(other('POST', '/relayers/made/sign', { message: 'hello' }));
      assert.equal(verifyMessage('hello', `0x${sig}`), madeAddress);

      await prepare();
      await must(other('PATCH', '/relayers/made', { paused: true, name: 'Changed' }));
      await until(
        'the change',
        () => one('GET', '/relayers/made'),
        ({ body }) => body.data.name === 'Changed',
      );
      const refused = await one('POST', '/relayers/made/transactions', { to: madeAddress, value: 1 });
      assert.equal(refused.reason, 'RELAYER_PAUSED');
      assert.equal((await one('DELETE', '/signers/made-key')).reason, 'IN_USE');

      await prepare();
      await must(one('DELETE', '/relayers/made'));
      await until('the end of the relayer', () => other('GET', '/relayers/made'), isGone);
      await must(other('DELETE', '/signers/made-key'));
      await until('the end of the signer', () => one('GET', '/signers/made-key'), isGone);
    });
  }

  it('plugins: the other instance calls, changes and deletes them, with and without the notification of the change', async (test) => {
    const target = await startHttpReceiver(test, (response) => response.end('done'));
    for (const prepare of [async () => undefined, cutNews]) {
      const headers = [{ name: 'X-Plugin-Secret', value: 'a secret' }];
      await must(one('POST', '/plugins', { id: 'shared', url: target.url('/x'), headers }));
      const called = await until('the plugin at the other instance', () => other('POST', '/plugins/shared/call', {}), isFound);
      assert.equal(called.body.data, 'done');
      assert.equal(target.requests.at(-1)?.headers['x-plugin-secret'], 'a secret');
      await prepare();
      await must(other('PATCH', '/plugins/shared', { allow_get: true }));
      await until('the change', () => one('GET', '/plugins/shared/call'), isFound);
      await must(one('DELETE', '/plugins/shared'));
      await until('the end of the plugin', () => other('GET', '/plugins/shared'), isGone);
    }
  });

  it('relayers of the configuration file: the other instance deletes one, and starts it again with its new account', async () => {
    await must(one('DELETE', '/relayers/r1'));
    await until('the end of the relayer', () => other('GET', '/relayers/r1'), isGone);
    await must(other('POST', '/signers', { id: 'new-key', type: 'plain', config: { key: '02'.repeat(32) } }));
    await must(makeRelayer(other, { id: 'r1', signer_id: 'new-key' }));
    const { body } = await until('the new relayer', () => one('GET', '/relayers/r1'), isFound);
    assert.notEqual(body.data.address, home.address);
    await must(one('DELETE', '/relayers/r1'));
    await must(makeRelayer(one, { id: 'r1', signer_id: 's1' }));
    await until(
      'the earlier account',
      () => other('GET', '/relayers/r1'),
      (found) => found.body.data?.address === home.address,
    );
    await must(other('DELETE', '/signers/new-key'));
  });

  it('networks: the other instance calls the new RPC URLs', async (test) => {
    const node = await startHttpReceiver(test, (response, { body }) => {
      const { id } = JSON.parse(body.toString());
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x7a69' }));
    });
    await must(one('PATCH', '/networks/evm:local', { rpc_urls: [node.url('/')] }));
    const wanted = JSON.stringify((await must(one('GET', '/networks/evm:local'))).rpc_urls);
    await until(
      'the new URLs',
      () => other('GET', '/networks/evm:local'),
      ({ body }) => JSON.stringify(body.data.rpc_urls) === wanted,
    );
    const call = { jsonrpc: '2.0', method: 'eth_chainId', params: [], id: 1 };
    const answered = await other('POST', '/relayers/r1/rpc', call);
    assert.equal(answered.body.result, '0x7a69', JSON.stringify(answered.body));
  });

  it('notifications: the other instance delivers to one, and does not delete it while a new relayer uses it', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.end());
    await must(one('POST', '/notifications', { id: 'hook', type: 'webhook', url: receiver.url('/first') }));
    await must(other('POST', '/notifications/hook/test'));
    await waitFor('a delivery', () => receiver.requests.find(({ path }) => path === '/first'));
    await must(one('PATCH', '/relayers/r1', { notification_id: 'hook' }));
    const refused = await other('DELETE', '/notifications/hook');
    assert.deepEqual([refused.status, refused.reason], [400, 'NOTIFICATION_IN_USE'], JSON.stringify(refused.body));
    await must(other('PATCH', '/relayers/r1', { notification_id: 'of-file' }));
    await must(one('DELETE', '/notifications/hook'));
    await until('its end', () => other('GET', '/notifications/hook'), isGone);
  });

  it('API keys: one opens the other instance, and is revoked there', async () => {
    const created = await must(one('POST', '/api-keys', { name: 'shop', scopes: ['transactions:read'] }));
    const asShop = (index: number) => restClient(() => services[index]?.baseUrl ?? '', created.key);
    await until('the key at the other instance', () => asShop(1)('GET', '/relayers/r1'), isFound);
    await must(other('DELETE', `/api-keys/${created.id}`));
    await until(
      'its end',
      () => asShop(0)('GET', '/relayers/r1'),
      ({ status }) => status === 401,
    );
  });

  it('at the same time: of two relayers with one account, or with one id, only one is created', async () => {
    await must(makeSigner(one, 'key-a'));
    await must(makeSigner(other, 'key-b'));
    for (let round = 0; round < 5; round += 1) {
      const sameAccount = await Promise.all([
        makeRelayer(one, { id: 'first', signer_id: 'key-a' }),
        makeRelayer(other, { id: 'second', signer_id: 'key-b' }),
      ]);
      const made = sameAccount.findIndex(({ status }) => status === 201);
      const refused = sameAccount[1 - made];
      assert.deepEqual([refused?.status, refused?.reason], [409, 'ID_EXISTS'], JSON.stringify(sameAccount));
      await must((round % 2 === 0 ? one : other)('DELETE', `/relayers/${made === 0 ? 'first' : 'second'}`));
    }
    const sameId = await Promise.all([makeSigner(one, 'twice'), makeSigner(other, 'twice')]);
    assert.deepEqual(sameId.map(({ status }) => status).sort(), [201, 409]);
  });

  it('at the same time: a signer is not deleted while a relayer begins to use it', async () => {
    for (let round = 0; round < 5; round += 1) {
      await must(makeSigner(one, 'used'));
      const [created, deleted] = await Promise.all([makeRelayer(other, { id: 'user', signer_id: 'used' }), one('DELETE', '/signers/used')]);
      assert.deepEqual(
        created.status === 201 ? [deleted.status, deleted.reason] : [created.status, created.reason, deleted.status],
        created.status === 201 ? [400, 'IN_USE'] : [400, 'FIELD_INVALID', 200],
        JSON.stringify([created.body, deleted.body]),
      );
      if (created.status !== 201) continue;
      await must(other('DELETE', '/relayers/user'));
      await must(one('DELETE', '/signers/used'));
    }
  });

  it('at the same time: a relayer is deleted only if no send that the other instance gets is accepted', async () => {
    await must(makeSigner(one, 'sender'));
    for (let round = 0; round < 8; round += 1) {
      const id = `fleeting-${round}`;
      await must(makeRelayer(one, { id, signer_id: 'sender' }));
      await until('the relayer', () => other('GET', `/relayers/${id}`), isFound);
      const send = () => other('POST', `/relayers/${id}/transactions`, { to: madeAddress, value: 1 });
      const early = Array.from({ length: round % 4 }, send);
      const deleting = one('DELETE', `/relayers/${id}`);
      const sends = await Promise.all([...early, ...Array.from({ length: 4 }, send)]);
      const deleted = await deleting;
      const accepted = sends.filter(({ status }) => status === 200).length;
      for (const { status, reason } of sends) if (status !== 200) assert.equal(reason, 'RELAYER_NOT_FOUND');
      if (deleted.status === 200) assert.equal(accepted, 0, 'what was accepted would never be sent');
      else assert.equal(deleted.reason, 'RELAYER_IN_USE', JSON.stringify(deleted));
      if (deleted.status === 200) continue;
      await must(other('DELETE', `/relayers/${id}/transactions/pending`));
      await until(
        'its deletion',
        () => one('DELETE', `/relayers/${id}`),
        ({ status }) => status === 200,
      );
    }
  });

  it('API keys: a rotation at one instance counts at the other, and so does its end', async () => {
    const { id, key: former } = await must(one('POST', '/api-keys', { name: 'shop', scopes: ['sign'] }));
    const statusAt = (service: number, key: string) => restClient(() => services[service]?.baseUrl ?? '', key)('GET', '/caller');
    const { key } = await must(one('POST', `/api-keys/${id}/rotate`, { overlap_seconds: 60 }));
    await until('the new secret at the other instance', () => statusAt(1, key), isFound);
    assert.deepEqual([(await statusAt(0, former)).status, (await statusAt(1, former)).status], [200, 200]);
    const last = await must(other('POST', `/api-keys/${id}/rotate`, { overlap_seconds: 0 }));
    await until('the last secret at the first instance', () => statusAt(0, last.key), isFound);
    for (const service of [0, 1]) for (const ended of [former, key]) assert.equal((await statusAt(service, ended)).status, 401);
  });

  it('API keys: a key that another instance is creating during the revocation of its creator stays in its lineage', async () => {
    const scopes = ['admin'];
    const { id, key } = await must(one('POST', '/api-keys', { name: 'parent', scopes }));
    const byParent = restClient(() => services[0]?.baseUrl ?? '', key);
    const middle = (await must(byParent('POST', '/api-keys', { name: 'middle', scopes }))).id;
    // A transaction sees the activity of its begin.
    const [client, watcher] = [new pg.Client({ connectionString: databaseUrl }), new pg.Client({ connectionString: databaseUrl })];
    await Promise.all([client.connect(), watcher.connect()]);
    await client.query('begin');
    await client.query('update api_keys set name = name where id = $1', [middle]);
    const columns = 'name, scopes, relayer_ids, digest, created_at_ms';
    const inFlight = `insert into api_keys (id, ${columns}, created_by) select 'in-flight', ${columns}, id from api_keys where id = $1`;
    await client.query(inFlight, [middle]);
    const revoking = one('DELETE', `/api-keys/${middle}`);
    await waitFor('the revocation to wait for the creation', async () => {
      const { rowCount } = await watcher.query("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%api_keys%'");
      return rowCount === 0 ? undefined : true;
    });
    await client.query('commit');
    await Promise.all([client.end(), watcher.end()]);
    await must(revoking);
    assert.deepEqual((await must(one('DELETE', `/api-keys/${id}?with_created=true`))).api_key_ids, [id, 'in-flight']);
  });

  it('rate limits: each instance allows its part, which changes when instances come and go', async () => {
    const untilBurst = async (burst: number) => {
      for (const service of services)
        await waitFor(`a burst of ${burst}`, async () => {
          const { headers } = await fetch(`${service.baseUrl}/api/v1/relayers`, { headers: { authorization: `Bearer ${apiKey}` } });
          return headers.get('ratelimit-policy') === `"default";q=${burst};w=3` ? true : undefined;
        });
    };
    await untilBurst(900);
    const third = await startServiceHere(home);
    await untilBurst(600);
    await third.stop();
    await untilBurst(900);
  });

  it('configuration: instances with older files refuse changes once one with newer files works, and do not start again beside it', async (test) => {
    const dir = await temporaryFolder({});
    await cp(home.dir, dir, { recursive: true });
    const file = join(dir, 'config.json');
    const written = await readFile(file, 'utf8');
    const start = () => startServiceHere({ ...home, env: { ...home.env, CONFIG_DIR: dir } });
    await writeFile(file, JSON.stringify({ ...JSON.parse(written), revision: 1 }));
    const newer = await start();
    test.after(() => newer.stop());
    const atNewer = restClient(() => newer.baseUrl);
    for (const rest of [one, other]) {
      const refused = await until(
        'a change to be refused',
        () => makeSigner(rest, 'by-older'),
        ({ status }) => status === 503,
      );
      assert.equal(refused.body?.error, 'this instance has older configuration files than another one; retry, at another instance');
      // Reads go on.
      assert.equal((await rest('GET', '/relayers')).status, 200);
      await until(
        'it not to be ready',
        () => rest('GET', '/ready'),
        ({ status }) => status === 503,
      );
    }
    await must(makeSigner(atNewer, 'by-newer'));
    await must(atNewer('GET', '/ready'));
    await writeFile(file, written);
    await assert.rejects(start(), {
      message:
        /^other instances work with other configuration files of revision 1, and these have revision 0; these differ: config\.json; start it with their files/,
    });
  });
});
