import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { rest, rpcCallers } from '../support/callers.js';
import { startSolanaService } from '../support/network-service.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

const strict = [{ id: 'small', effect: 'allow', arguments: [], max_value: 9, limits: [] }];

interface ConfigFile {
  readonly relayers: Record<string, unknown>[];
  readonly networks: Record<string, unknown>[];
}

async function changeFile({ dir }: ServiceHome, change: (config: ConfigFile) => void): Promise<void> {
  const file = join(dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  change(config);
  await writeFile(file, JSON.stringify(config));
}

const lock = (isLocked: boolean) => (config: ConfigFile) => {
  for (const relayer of config.relayers) relayer.policies_locked = isLocked;
};

/** A service of which no node is reachable, whose configuration can be changed between its starts. */
async function startLockable(test: TestContext, change: (config: ConfigFile) => void) {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', policies: { rules: strict } });
  let service: RunningService | undefined;
  test.after(async () => {
    await service?.stop();
    await home.remove();
  });
  const restart = async (next: (config: ConfigFile) => void) => {
    await service?.stop();
    await changeFile(home, next);
    service = await startService(home);
    return service;
  };
  await restart(change);
  const call = (verb: string, path: string, body?: object) => rest(service?.baseUrl ?? '', verb, path, body);
  const relayer = async () => (await call('GET', `/relayers/${home.relayerId}`)).body.data;
  return { home, restart, call, relayer, baseUrl: () => service?.baseUrl ?? '' };
}

describe('locked policies', () => {
  it('no call of the API changes the relayer, deletes it or gives it other nodes, and it can be paused and resumed', async (test) => {
    const { home, restart, call, relayer, baseUrl } = await startLockable(test, lock(true));
    const path = `/relayers/${home.relayerId}`;
    const before = await relayer();
    assert.deepEqual([before.policies_locked, before.policies_version, before.policies.rules], [true, 1, strict]);
    const [network] = (await call('GET', '/networks?per_page=100')).body.data.filter(
      ({ name }: { name: string }) => name === before.network,
    );
    const refused: readonly (readonly [string, string, object?])[] = [
      ['PATCH', path, { policies: { rules: null } }],
      ['PATCH', path, { policies: null }],
      ['PATCH', path, { policies: { rules: [{ id: 'all', effect: 'allow' }] }, paused: true }],
      ['PATCH', path, { policies: { signing: { messages: 'allow' } } }],
      ['PATCH', path, { policies: { allow_transaction_signing: true } }],
      ['PATCH', path, { custom_rpc_urls: ['http://127.0.0.1:7'] }],
      ['PATCH', path, { name: 'Another' }],
      ['DELETE', path],
      ['PATCH', `/networks/${network.id}`, { rpc_urls: ['http://127.0.0.1:7'] }],
    ];
    for (const [verb, target, body] of refused) {
      const { status, headers, text } = await call(verb, target, body);
      assert.deepEqual([status, headers.get('x-error-reason')], [403, 'POLICIES_LOCKED'], `${verb} ${JSON.stringify(body)}: ${text}`);
    }
    for (const caller of rpcCallers(baseUrl())) {
      const masked = (path: string) => ({ update_mask: caller.protocol === 'gRPC' ? { paths: [path] } : path });
      for (const request of [{ evm: {}, ...masked('evm.rules') }, masked('evm'), { evm: { gas_price_cap: '7' } }]) {
        const answer = await caller.call('RelayerService', 'UpdateRelayer', { relayer_id: home.relayerId, ...request });
        assert.ok(!answer.ok && /has locked the policies/.test(answer.message), `${caller.protocol}: ${JSON.stringify(answer)}`);
      }
      const deleted = await caller.call('RelayerService', 'DeleteRelayer', { relayer_id: home.relayerId });
      assert.ok(!deleted.ok && /has locked the policies/.test(deleted.message), JSON.stringify(deleted));
      caller.close();
    }
    const again = { name: 'Again', network: before.network, network_type: 'evm', paused: false, signer_id: before.signer_id };
    assert.equal((await call('POST', '/relayers', { id: 'again', ...again })).headers.get('x-error-reason'), 'ID_EXISTS');
    const asking = await call('POST', '/relayers', { id: 'again', ...again, policies_locked: false });
    assert.deepEqual([asking.status, asking.headers.get('x-error-reason')], [400, 'FIELD_UNKNOWN'], asking.text);
    assert.deepEqual(await relayer(), before);

    assert.equal((await call('PATCH', path, { paused: true, policies: { rules: strict } })).status, 200);
    assert.deepEqual(await relayer(), { ...before, paused: true });
    // What the API stored for the pause has the policies of then.
    const looser = strict.map((rule) => ({ ...rule, max_value: 11 }));
    await restart(({ relayers: [one] }) => Object.assign(one?.policies as object, { rules: looser }));
    const restarted = await relayer();
    assert.deepEqual([restarted.paused, restarted.policies.rules, restarted.policies_locked], [true, looser, true]);
    assert.equal((await call('PATCH', path, { paused: false })).body.data.paused, false);
  });

  it('a lock ends what the API changed or deleted before, until the file ends the lock', async (test) => {
    const { home, restart, call, relayer } = await startLockable(test, lock(false));
    const path = `/relayers/${home.relayerId}`;
    const { network } = await relayer();
    const urls = async () => (await call('GET', `/networks/evm:${network}`)).body.data.rpc_urls;
    assert.equal((await call('PATCH', path, { policies: { rules: null } })).status, 200);
    assert.equal((await call('PATCH', `/networks/evm:${network}`, { rpc_urls: ['http://127.0.0.1:7'] })).status, 200);
    await restart(lock(true));
    const locked = await relayer();
    assert.deepEqual([locked.policies.rules, locked.policies_locked, locked.policies_version], [strict, true, 2]);
    assert.deepEqual(
      (await urls()).map((one: string | { url: string }) => (typeof one === 'string' ? one : one.url)),
      ['http://127.0.0.1:9'],
    );
    await restart(lock(false));
    assert.deepEqual([(await relayer()).policies.rules, (await relayer()).policies_locked], [undefined, false]);
    assert.equal((await call('DELETE', path)).status, 200);
    await restart(lock(true));
    assert.deepEqual((await relayer()).policies.rules, strict);
    const sent = await call('POST', `${path}/transactions`, { to: `0x${'12'.repeat(20)}`, value: 1 });
    assert.equal(sent.status, 200, sent.text);
  });

  it('with a key of Solana, no relayer of another cluster is created or changed, since its messages name no cluster', async (test) => {
    const rig = await startSolanaService({
      start: async (home) => {
        await changeFile(home, (config) => {
          lock(true)(config);
          const [[relayer], [network]] = [config.relayers, config.networks];
          config.relayers.push({ ...relayer, id: 'sister', network: 'other', policies_locked: false });
          config.networks.push({ ...network, network: 'other' }, { ...network, network: 'third' });
        });
        return startService(home);
      },
    });
    test.after(() => rig.stop());
    const { baseUrl } = rig.service;
    const { signer_id } = (await rest(baseUrl, 'GET', '/relayers/sister')).body.data;
    const third = { name: 'Third', network: 'third', network_type: 'solana', paused: false, signer_id };
    for (const [verb, path, body] of [
      ['POST', '/relayers', third],
      ['PATCH', '/relayers/sister', { custom_rpc_urls: ['http://127.0.0.1:7'] }],
      ['PATCH', '/networks/solana:other', { rpc_urls: ['http://127.0.0.1:7'] }],
    ] as const) {
      const { status, headers, text } = await rest(baseUrl, verb, path, body);
      assert.deepEqual([status, headers.get('x-error-reason')], [403, 'POLICIES_LOCKED'], text);
    }
    assert.equal((await rest(baseUrl, 'PATCH', '/networks/solana:third', { rpc_urls: ['http://127.0.0.1:7'] })).status, 200);
    assert.equal((await rest(baseUrl, 'DELETE', '/relayers/sister')).status, 200, 'it pays nothing then');
  });
});

describe('the version of policies', () => {
  it('is raised by each change of them, and by nothing else, and stays over a restart', async (test) => {
    const { home, restart, call, relayer } = await startLockable(test, () => undefined);
    const path = `/relayers/${home.relayerId}`;
    const change = async (body: object) => (await call('PATCH', path, body)).body.data.policies_version;
    assert.equal((await relayer()).policies_version, 1);
    assert.equal(await change({ name: 'Another' }), 1);
    assert.equal(await change({ policies: { rules: null } }), 2);
    assert.equal(await change({ policies: { rules: null } }), 2);
    assert.equal(await change({ policies: { gas_price_cap: 7 }, paused: true }), 3);
    assert.equal(await change({ paused: false }), 3);
    await restart(() => undefined);
    assert.equal((await relayer()).policies_version, 3);
  });
});
