import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.js';
import { apiKey, createServiceHome, databaseBytes, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
/** Of the key that is all ones. */
const madeAddress = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1';
const madeKey = '01'.repeat(32);

async function metricsOf({ baseUrl }: RunningService): Promise<{ readonly text: string }> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  return { text: await answer.text() };
}

describe('relayers, signers and networks over the API', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  const rest: RestClient = restClient(() => service.baseUrl);

  before(async () => {
    anvil = await startAnvil();
  });
  after(() => anvil?.stop());
  beforeEach(async () => {
    home = await createServiceHome({ rpcUrl: anvil.url });
    service = await startServiceHere(home);
    for (const account of [home.address, madeAddress]) await anvil.rpc('anvil_setBalance', [account, '0xde0b6b3a7640000']);
  });
  afterEach(async () => {
    await service?.stop();
    await home?.remove();
  });

  it('RPC URLs set by API: the service checks RPC_ALLOWED_HOSTS and RPC_BLOCK_PRIVATE_IPS when a URL is set and when it connects', async (test) => {
    const inner = await startHttpReceiver(test, (response) => response.end('{}'));
    const url = inner.url('/');
    await make({ custom_rpc_urls: [url] });
    await waitFor('the node to be asked', () => inner.requests[0]);
    const { text } = await metricsOf(service);
    assert.match(text, /relayer_node_calls_total\{network="local",host="set by API"\}/);
    assert.ok(!text.includes(`:${inner.port}"`), text);
    for (const [env, sentence] of [
      [{ RPC_BLOCK_PRIVATE_IPS: 'true' }, /must not point to a private, loopback, .*RPC_BLOCK_PRIVATE_IPS is true$/],
      [{ RPC_ALLOWED_HOSTS: 'rpc.example.com, node.example.com' }, /must have a host that RPC_ALLOWED_HOSTS lists$/],
    ] as const) {
      assert.equal(await service.stop(), 0);
      const asked = inner.requests.length;
      service = await startServiceHere({ ...home, env: { ...home.env, ...env } });
      for (const [verb, path, body] of [
        ['PATCH', '/networks/evm:local', { rpc_urls: [url] }],
        ['PATCH', '/relayers/made', { custom_rpc_urls: [`http://localhost:${inner.port}/`] }],
      ] as const) {
        const { status, body: told } = await rest(verb, path, body);
        assert.equal(status, 400, JSON.stringify(told));
        assert.match(told.error, sentence);
      }
      // The operator's own URL has the same host, and is not limited.
      assert.equal((await rest('PATCH', '/networks/evm:local', { rpc_urls: [anvil.url] })).status, 200);
      await untilStatus('r1', await sendThrough('r1'), 'confirmed');
      await waitFor('the refusal', () => (service.output().includes('TARGET_REFUSED') ? true : undefined));
      assert.equal(inner.requests.length, asked, 'the service does not connect to the stored URL');
    }
  });

  let paid = 0;

  async function restart(start: (home: ServiceHome) => Promise<RunningService> = startServiceHere): Promise<void> {
    assert.equal(await service.stop(), 0);
    service = await start(home);
  }

  async function make(over: object = {}): Promise<void> {
    const signer = await rest('POST', '/signers', { id: 'made-key', type: 'plain', config: { key: madeKey } });
    assert.equal(signer.status, 201, JSON.stringify(signer.body));
    const relayer = { id: 'made', name: 'Made', network: 'local', network_type: 'evm', paused: false, signer_id: 'made-key', ...over };
    const created = await rest('POST', '/relayers', relayer);
    assert.equal(created.status, 201, JSON.stringify(created.body));
  }

  /** Each pays another amount: a new service that pays what its key has just paid looks like one with an older database. */
  async function sendThrough(relayer: string): Promise<string> {
    paid += 1;
    const sent = await rest('POST', `/relayers/${relayer}/transactions`, { to, value: paid, speed: 'fast' });
    assert.equal(sent.status, 200, JSON.stringify(sent.body));
    return sent.body.data.id;
  }

  async function untilStatus(relayer: string, id: string, status: string): Promise<void> {
    let seen: unknown;
    await waitFor(
      () => `${id} to be ${status}: ${JSON.stringify(seen)}`,
      async () => {
        const { body } = await rest('GET', `/relayers/${relayer}/transactions/${id}`);
        seen = body.data;
        return body.data.status === status ? true : undefined;
      },
    );
  }

  it('a created relayer sends at once and after a restart, and its key is nowhere in plain text', async () => {
    await make();
    await untilStatus('made', await sendThrough('made'), 'confirmed');
    // In a process of its own, which has nothing but what is stored.
    await restart(startService);
    await untilStatus('made', await sendThrough('made'), 'confirmed');
    const { body } = await rest('GET', '/relayers');
    assert.deepEqual(
      body.data.map(({ id, address }: { id: string; address: string }) => [id, address]),
      [
        ['made', madeAddress],
        ['r1', home.address],
      ],
    );
    const status = await rest('GET', '/relayers/made/status');
    const { balance, last_confirmed_transaction_timestamp: confirmedAt, ...others } = status.body.data;
    assert.match(balance, /^\d+$/);
    assert.ok(Date.parse(confirmedAt) <= Date.now());
    assert.deepEqual(others, {
      network_type: 'evm',
      low_balance: false,
      pending_transactions_count: 0,
      system_disabled: false,
      paused: false,
      nonce: '2',
      in_flight_limit: 16,
    });
    assert.match(
      service.output(),
      /"version":"\d[^"]*","host":[^\n]*"relayers":2,"msg":"listening"/,
      'the log counts the created relayer too',
    );
    assert.ok(!service.output().includes(madeKey));
    assert.ok(!(await databaseBytes(home)).includes(madeKey));
  });

  it('an idempotency key creates one relayer, also across a restart', async () => {
    await rest('POST', '/signers', { id: 'made-key', type: 'local', config: { key: `0x${madeKey}` } });
    const relayer = { name: 'Made', network: 'local', network_type: 'evm', paused: false, signer_id: 'made-key' };
    const headers = { 'idempotency-key': 'once' };
    const first = await rest('POST', '/relayers', relayer, headers);
    assert.equal(first.status, 201);
    assert.match(first.body.data.id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(await rest('POST', '/relayers', relayer, headers), first);
    await restart();
    assert.deepEqual(await rest('POST', '/relayers', relayer, headers), first);
    assert.equal((await rest('POST', '/relayers', { ...relayer, name: 'Other' }, headers)).reason, 'IDEMPOTENCY_KEY_REUSED');
    assert.equal((await rest('POST', '/relayers', relayer)).reason, 'ID_EXISTS', 'the account is taken');
  });

  it('a change is a merge patch, takes effect at once, and overrides the file after a restart', async () => {
    const patch = (body: object) => rest('PATCH', '/relayers/r1', body);
    const changed = await patch({ name: 'New', policies: { gas_price_cap: '1000000000000', whitelist_receivers: [home.address] } });
    const { name, policies } = changed.body.data;
    assert.deepEqual([name, policies.gas_price_cap, policies.max_in_flight], ['New', 1_000_000_000_000, undefined]);
    const refused = await rest('POST', '/relayers/r1/transactions', { to, value: 1 });
    assert.equal(refused.reason, 'RECEIVER_NOT_ALLOWED');

    await restart();
    assert.match(service.output(), /relayer r1 was changed by the API and is kept; the configuration file's entry is not used/);
    assert.deepEqual((await rest('GET', '/relayers/r1')).body.data, changed.body.data);
    const { body } = await patch({ policies: { whitelist_receivers: null } });
    assert.deepEqual([body.data.policies.whitelist_receivers, body.data.policies.gas_price_cap], [undefined, 1_000_000_000_000]);
    assert.equal((await patch({ policies: null })).body.data.policies.gas_price_cap, undefined);
    await untilStatus('r1', await sendThrough('r1'), 'confirmed');

    assert.deepEqual(
      (await Promise.all([{ name: null }, { policies: { gas_price_cap: 0 } }, { notification_id: 'nobody' }].map(patch))).map(
        ({ reason }) => reason,
      ),
      ['FIELD_INVALID', 'FIELD_INVALID', 'FIELD_INVALID'],
    );
  });

  it('a paused relayer refuses to send and to sign until it is resumed', async () => {
    await rest('PATCH', '/relayers/r1', { paused: true });
    for (const [path, body] of [
      ['transactions', { to, value: 1 }],
      ['sign', { message: 'x' }],
    ] as const) {
      const { status, reason } = await rest('POST', `/relayers/r1/${path}`, body);
      assert.deepEqual([status, reason], [403, 'RELAYER_PAUSED']);
    }
    assert.equal((await rest('GET', '/relayers/r1/status')).body.data.paused, true);
    await restart();
    assert.equal((await rest('POST', '/relayers/r1/sign', { message: 'x' })).reason, 'RELAYER_PAUSED');
    await rest('PATCH', '/relayers/r1', { paused: false });
    await untilStatus('r1', await sendThrough('r1'), 'confirmed');
  });

  it('delete: refuses what is in use; what is deleted stays deleted while the file still lists it', async () => {
    await make({ policies: { min_balance: '1000000000000000000000' } });
    const waiting = await sendThrough('made');
    assert.equal((await rest('DELETE', '/signers/made-key')).reason, 'IN_USE');
    const inUse = await rest('DELETE', '/relayers/made');
    assert.deepEqual([inUse.status, inUse.reason], [400, 'RELAYER_IN_USE']);
    assert.equal((await rest('GET', '/relayers/made')).body.data.paused, false, 'a refusal leaves it as it was');
    await rest('DELETE', `/relayers/made/transactions/${waiting}`);
    for (const path of ['/relayers/made', '/signers/made-key', '/relayers/r1', '/signers/s1']) {
      const { status, body } = await rest('DELETE', path);
      assert.deepEqual([status, body.data], [200, null], path);
      assert.equal((await rest('GET', path)).status, 404);
    }

    // The file still names the signer as r1's, but r1 is deleted too.
    await restart();
    assert.match(service.output(), /relayer r1 of the configuration file was deleted by the API and stays deleted/);
    assert.match(service.output(), /signer s1 of the configuration file was deleted by the API and stays deleted/);
    assert.deepEqual((await rest('GET', '/relayers')).body.data, []);

    // An entry that was removed from the file can be added again.
    const file = join(home.dir, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...config, relayers: [], signers: [] }));
    await restart();
    await writeFile(file, JSON.stringify(config));
    await restart();
    await untilStatus('r1', await sendThrough('r1'), 'confirmed');
  });

  it('create: a deleted id is free for the same account only, whose transactions it lists again', async () => {
    await make();
    const id = await sendThrough('made');
    await untilStatus('made', id, 'confirmed');
    await rest('DELETE', '/relayers/made');
    await rest('POST', '/signers', { id: 'other-key', type: 'plain', config: { key: '17'.repeat(32) } });
    const relayer = { id: 'made', name: 'Made', network: 'local', network_type: 'evm', paused: false };
    const refused = await rest('POST', '/relayers', { ...relayer, signer_id: 'other-key' });
    assert.deepEqual([refused.status, refused.reason], [409, 'ID_EXISTS']);
    assert.equal(
      refused.body.error,
      `a deleted relayer with ID made has transactions of the account ${madeAddress}; use another id, or that account`,
    );
    assert.equal((await rest('POST', '/relayers', { ...relayer, signer_id: 'made-key' })).status, 201);
    const { body } = await rest('GET', '/relayers/made/transactions');
    assert.deepEqual(
      body.data.map((one: { id: string }) => one.id),
      [id],
    );
  });

  it('start: refuses if the file no longer has the network of a stored relayer, and names it', async () => {
    await make();
    const file = join(home.dir, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    await service.stop();
    await writeFile(file, JSON.stringify({ ...config, relayers: [], networks: [{ ...config.networks[0], network: 'renamed' }] }));
    await assert.rejects(
      startService(home),
      /ended with 2[\s\S]*the stored relayer made\.network: no evm network has the name "local"; it was removed from the file/,
    );
    await writeFile(file, JSON.stringify(config));
    service = await startServiceHere(home);
  });

  it('start: refuses if the file no longer has the notification of a stored relayer, and keeps its deliveries', async () => {
    const file = join(home.dir, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    const hook = { id: 'hook', type: 'webhook', url: 'http://127.0.0.1:9/' };
    const withFile = async (over: object, start: (home: ServiceHome) => Promise<RunningService> = startServiceHere) => {
      await service.stop();
      await writeFile(file, JSON.stringify({ ...config, ...over }));
      service = await start(home);
    };
    await withFile({ notifications: [hook] });
    assert.equal((await rest('PATCH', '/relayers/r1', { notification_id: 'hook' })).status, 200);
    await rest('POST', '/notifications/hook/test', {});
    await assert.rejects(
      withFile({}, startService),
      /ended with 2[\s\S]*the stored relayer r1\.notification_id: no notification has the id "hook"; it was deleted by the API or removed from the file/,
    );
    await withFile({ notifications: [hook] });
    assert.equal((await rest('GET', '/notifications/hook/deliveries')).body.data[0].event, 'test');

    await rest('PATCH', '/relayers/r1', { notification_id: null });
    assert.equal((await rest('DELETE', '/notifications/hook')).status, 200);
    const entry = { ...config.relayers[0], id: 'r3', notification_id: 'hook', signer_id: 's3' };
    const signers = [...config.signers, { ...config.signers[0], id: 's3' }];
    await assert.rejects(
      withFile({ notifications: [hook], signers, relayers: [config.relayers[0], entry] }, startService),
      /relayers\[1\]\.notification_id: no notification has the id "hook"/,
    );
    await withFile({});
  });

  describe('RPC endpoints', () => {
    let proxy: RpcProxy;
    let asked = 0;
    before(async () => {
      proxy = await startRpcProxy({
        target: anvil.url,
        outcomeOf: (calls) => {
          asked += calls.length;
          return {};
        },
      });
    });
    after(() => proxy?.stop());

    it('new RPC URLs of a network serve its relayers at once and after a restart, and answers mask them', async () => {
      const patched = await rest('PATCH', '/networks/evm:local', { rpc_urls: [`${proxy.url}/?key=provider-secret`] });
      assert.deepEqual(patched.body.data.rpc_urls, [{ url: `${proxy.url}/***`, weight: 100 }]);
      asked = 0;
      await untilStatus('r1', await sendThrough('r1'), 'confirmed');
      assert.ok(asked > 0);
      await restart();
      assert.match(
        service.output(),
        /network evm:local was changed by the API and is kept; the configuration file's RPC URLs are not used/,
      );
      asked = 0;
      await untilStatus('r1', await sendThrough('r1'), 'confirmed');
      assert.ok(asked > 0);
      assert.ok(!(await databaseBytes(home)).includes('provider-secret'));
      assert.ok(!service.output().includes('provider-secret'));
    });

    it('custom RPC URLs of a relayer replace those of its network during sends', async (test) => {
      // Blocks at intervals, since a node that gets a nonce twice while it makes a block of it may keep the next one back until it is replaced.
      await anvil.rpc('evm_setIntervalMining', [1]);
      test.after(() => anvil.rpc('evm_setAutomine', [true]));
      const sends = Array.from({ length: 20 }, () => sendThrough('r1'));
      asked = 0;
      const patched = await rest('PATCH', '/relayers/r1', { custom_rpc_urls: [{ url: proxy.url, weight: 10 }] });
      // It holds no more than its host, so nothing of it is masked.
      assert.deepEqual(patched.body.data.custom_rpc_urls, [{ url: proxy.url, weight: 10 }]);
      for (const id of await Promise.all(sends)) await untilStatus('r1', id, 'confirmed');
      assert.ok(asked > 0);
      const last = await rest('GET', '/relayers/r1/transactions?per_page=1');
      assert.equal(last.body.pagination.total_items, 20);
      const nonces = (await rest('GET', '/relayers/r1/transactions?per_page=100')).body.data.map(({ nonce }: { nonce: number }) => nonce);
      assert.deepEqual(
        nonces.sort((a: number, b: number) => a - b),
        Array.from({ length: 20 }, (_, index) => index),
      );
      await rest('PATCH', '/relayers/r1', { custom_rpc_urls: null });
      asked = 0;
      await untilStatus('r1', await sendThrough('r1'), 'confirmed');
      assert.equal(asked, 0);
    });
  });
});
