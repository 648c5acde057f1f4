import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { parseEther } from 'ethers';
import { EndpointState, type RelayerOverview } from '../../gen/relayer/v1/overview_service_pb.js';
import { packageVersion } from '../../src/config/package-version.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type Instances, startInstances } from '../support/instances.js';
import { addRelayers, type HomeRelayer } from '../support/more-relayers.js';
import { type OverviewWatcher, watchOverview } from '../support/overview-watcher.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const payment = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1, speed: 'fast' };
/** What a watch promises. */
const shownWithinMs = 2_000;

/** Resolves to the relayer when the watch shows it so. */
function untilShown(watcher: OverviewWatcher, id: string, isSo: (relayer: RelayerOverview) => boolean): Promise<RelayerOverview> {
  return waitFor(`the overview of ${id}`, async () => {
    const relayer = watcher.relayers.get(id);
    return relayer !== undefined && isSo(relayer) ? relayer : undefined;
  });
}

async function newKey(call: RestClient, fields: object): Promise<{ readonly id: string; readonly key: string }> {
  const { status, body } = await call('POST', '/api-keys', { name: 'watcher', scopes: ['transactions:read'], ...fields });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.data.id, key: body.key ?? body.data.key };
}

describe('the overview of a service', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let call: RestClient;
  let admin: OverviewWatcher;

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url });
    const relayers = await addRelayers(home, 2);
    for (const { address } of relayers.slice(0, 2)) await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('5').toString(16)}`]);
    service = await startService(home);
    call = restClient(() => service.baseUrl);
    admin = watchOverview(service.baseUrl, apiKey);
    await admin.untilComplete();
  });

  after(async () => {
    admin?.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  it('overview: begins with every relayer, the network with its endpoint, the instance and the backlog', async () => {
    assert.deepEqual([...admin.relayers.keys()], ['r1', 'r2', 'r3']);
    const network = await waitFor('the base fee', async () => {
      const shown = admin.networks.get('evm:local');
      return shown?.baseFee === undefined ? undefined : shown;
    });
    assert.deepEqual(
      network.endpoints.map(({ host, weight, state }) => ({ host, weight, state })),
      [{ host: new URL(anvil.url).host, weight: 100, state: EndpointState.IN_USE }],
    );
    assert.deepEqual([network.headNumber, network.symbol, network.decimals, network.problem], [0n, 'ETH', 18, undefined]);
    assert.deepEqual(
      admin.instances.map(({ isSelf, version, lanes }) => ({ isSelf, version, lanes })),
      [{ isSelf: true, version: packageVersion(), lanes: 3 }],
    );
    assert.equal(admin.webhookBacklog, 0);
    const [first, second] = admin.messages;
    assert.deepEqual([first?.relayers.length, first?.networks.length, first?.snapshotComplete], [0, 0, false], 'headers come at once');
    assert.ok(second?.snapshotComplete);
    const funded = await untilShown(admin, 'r1', ({ balance }) => balance !== undefined);
    assert.deepEqual([funded.balance, funded.lowBalance], [parseEther('5').toString(), false]);
  });

  it(`overview: shows a send within ${shownWithinMs} ms, and what it waits for`, async () => {
    const ids: string[] = [];
    let quickestMs = Number.POSITIVE_INFINITY;
    // The machine may be busy once, so the best of five sends counts.
    while (ids.length < 5 && quickestMs >= shownWithinMs) {
      const sentAtMs = performance.now();
      const { body } = await call('POST', '/relayers/r1/transactions', payment);
      ids.push(body.data.id);
      const shown = await untilShown(admin, 'r1', ({ waiting, inFlight }) => waiting + inFlight === ids.length);
      quickestMs = Math.min(quickestMs, performance.now() - sentAtMs);
      assert.equal(shown.oldestOpenId, ids[0]);
    }
    assert.ok(quickestMs < shownWithinMs, `${quickestMs} ms`);
    const submitted = await untilShown(
      admin,
      'r1',
      ({ inFlight, waitsFor }) => inFlight === ids.length && (waitsFor ?? '').includes('mined'),
    );
    assert.equal(submitted.waiting, 0);
  });

  it('overview: a lane that is stuck says why', async () => {
    await call('PATCH', '/relayers/r2', { policies: { gas_price_cap: 1 } });
    await call('POST', '/relayers/r2/transactions', payment);
    const shown = await untilShown(admin, 'r2', ({ waitsFor }) => (waitsFor ?? '').includes('gas_price_cap'));
    assert.deepEqual([shown.waiting, shown.inFlight, shown.gasPriceCap], [1, 0, '1']);
    await call('PATCH', '/relayers/r2', { paused: true });
    await untilShown(admin, 'r2', ({ paused }) => paused);
    // No ether at all.
    await call('POST', '/relayers/r3/transactions', payment);
    await untilShown(admin, 'r3', ({ waitsFor }) => (waitsFor ?? '').includes('insufficient'));
  });

  it('overview: a key without admin sees neither endpoints nor instances nor the backlog', async () => {
    const { key } = await newKey(call, {});
    const watcher = watchOverview(service.baseUrl, key);
    await watcher.untilComplete();
    assert.equal(watcher.relayers.size, 3);
    assert.deepEqual(
      [...watcher.networks.values()].map(({ id, endpoints }) => [id, endpoints.length]),
      [['evm:local', 0]],
    );
    assert.deepEqual([watcher.instances.length, watcher.webhookBacklog], [0, undefined]);
    watcher.close();
    const { key: notifier } = await newKey(call, { scopes: ['transactions:read', 'notifications'] });
    const other = watchOverview(service.baseUrl, notifier);
    await other.untilComplete();
    assert.deepEqual([other.instances.length, other.webhookBacklog], [0, 0]);
    other.close();
  });

  it('overview: a key that is limited to relayers sees only these', async () => {
    const { key } = await newKey(call, { relayer_ids: ['r2'] });
    const watcher = watchOverview(service.baseUrl, key);
    await watcher.untilComplete();
    assert.deepEqual([...watcher.relayers.keys()], ['r2']);
    assert.deepEqual([...watcher.networks.keys()], ['evm:local']);
    const { key: unused } = await newKey(call, { relayer_ids: ['nobody'] });
    const nothing = watchOverview(service.baseUrl, unused);
    await nothing.untilComplete();
    assert.deepEqual([nothing.relayers.size, nothing.networks.size, nothing.samples.length], [0, 0, 0]);
    for (const one of [watcher, nothing]) one.close();
  });

  it('overview: relayers that are created and deleted come and go', async () => {
    const { status } = await call('POST', '/relayers', {
      id: 'new',
      name: 'New',
      network: 'local',
      network_type: 'evm',
      signer_id: await newSigner(call),
      paused: false,
    });
    assert.equal(status, 201);
    await untilShown(admin, 'new', ({ name }) => name === 'New');
    assert.equal((await call('DELETE', '/relayers/new')).status, 200);
    await waitFor('the relayer to go', async () => !admin.relayers.has('new') || undefined);
  });

  it('overview: ends when its key is deleted', async () => {
    const { id, key } = await newKey(call, {});
    const watcher = watchOverview(service.baseUrl, key);
    await watcher.untilComplete();
    assert.equal((await call('DELETE', `/api-keys/${id}`)).status, 200);
    const error = await watcher.ended;
    assert.ok(error instanceof ConnectError && error.code === Code.Unauthenticated, String(error));
  });

  it('overview: an unreachable network has a problem and a failing endpoint, and its relayers keep their balances', async () => {
    await anvil.stop();
    const network = await waitFor('the problem', async () => {
      const shown = admin.networks.get('evm:local');
      return shown?.problem !== undefined && shown.endpoints[0]?.state === EndpointState.FAILING ? shown : undefined;
    });
    assert.equal(network.problem, 'no RPC node is reachable');
    assert.equal(admin.relayers.get('r1')?.balance, parseEther('5').toString());
  });

  it('overview: ends with UNAVAILABLE when the service stops', async () => {
    await service.stop();
    const error = await admin.ended;
    assert.ok(error instanceof ConnectError && error.code === Code.Unavailable, String(error));
  });
});

/** Makes a signer with a key of its own. */
async function newSigner(call: RestClient): Promise<string> {
  const { status, body } = await call('POST', '/signers', { id: 'fresh', type: 'local', config: { key: '5a'.repeat(32) } });
  assert.equal(status, 201, JSON.stringify(body));
  return 'fresh';
}

describe('two instances on one PostgreSQL', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  let home: ServiceHome;
  let relayers: readonly HomeRelayer[];
  let instances: Instances;

  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil({ noMining: true }), startPostgres()]);
    home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
    relayers = await addRelayers(home, 3);
    for (const { address } of relayers) await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('5').toString(16)}`]);
    instances = await startInstances(home, 2);
  });

  after(async () => {
    await instances?.stop();
    await Promise.all([anvil?.stop(), postgres?.stop()]);
    await home?.remove();
  });

  it('overview of two instances: both show the same transactions, wherever their lanes run', async () => {
    const watchers = instances.all.map(({ baseUrl }) => watchOverview(baseUrl, apiKey));
    await Promise.all(watchers.map((watcher) => watcher.untilComplete()));
    await waitFor('both instances to hold lanes', async () => {
      const lanes = watchers.map(({ instances: shown }) => shown.map((instance) => instance.lanes));
      return lanes.every((counts) => counts.length === 2 && counts.every((count) => count === 2)) || undefined;
    });
    for (const [index, { id }] of relayers.entries()) {
      const { baseUrl } = instances.all[index % 2] ?? assert.fail();
      for (let sent = 0; sent <= index; sent += 1) {
        const { status } = await restClient(() => baseUrl)('POST', `/relayers/${id}/transactions`, payment);
        assert.equal(status, 200);
      }
    }
    const shownBy = (watcher: OverviewWatcher) =>
      relayers.map(({ id }) => {
        const { waiting, inFlight, oldestOpenId, waitsFor } = watcher.relayers.get(id) ?? assert.fail(id);
        return { id, waiting, inFlight, oldestOpenId, waitsFor };
      });
    await waitFor('all to be in flight on both', async () => {
      const counts = watchers.map((watcher) =>
        shownBy(watcher)
          .map(({ inFlight }) => inFlight)
          .join(),
      );
      return counts.every((text) => text === '1,2,3,4') || undefined;
    });
    await waitFor('the same reasons', async () => {
      const [one, other] = watchers.map((watcher) => JSON.stringify(shownBy(watcher)));
      return one === other || undefined;
    });
    for (const watcher of watchers) watcher.close();
  });
});
