import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import {
  type DrainInstanceResponse,
  InstanceService,
  InstanceState,
  type ListInstancesResponse,
} from '../../gen/relayer/v1/instance_service_pb.js';
import { packageVersion } from '../../src/config/package-version.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { removalOf } from '../support/remove-instance.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { createServiceHome, type RunningService, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

const { listInstances, drainInstance, undrainInstance } = InstanceService.method;

/** An instance as REST shows it. */
interface Shown {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly state: string;
  readonly lanes: number;
  readonly joined_at: string;
  readonly last_seen_at: string | null;
  readonly is_self: boolean;
}

/** A process of the service. Its port changes when it starts again. */
class Instance {
  readonly rest: RestClient = restClient(() => this.service.baseUrl);
  readonly #home: ServiceHome;
  service: RunningService;

  constructor(home: ServiceHome, service: RunningService) {
    this.#home = home;
    this.service = service;
  }

  async list(): Promise<readonly Shown[]> {
    return (await this.rest('GET', '/instances')).body.data;
  }

  /** Itself, in its own list. */
  async self(): Promise<Shown> {
    return (await this.list()).find(({ is_self }) => is_self) ?? assert.fail('it does not list itself');
  }

  async startAgain(): Promise<void> {
    await this.service.stop();
    this.service = await startServiceHere(this.#home);
  }
}

describe('two instances on one PostgreSQL', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  let home: ServiceHome;
  let instances: readonly Instance[] = [];
  let sent = 0;

  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
    home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
    await anvil.rpc('anvil_setBalance', [home.address, '0x3635c9adc5dea00000']);
    for (let count = 0; count < 2; count += 1) instances = [...instances, new Instance(home, await startServiceHere(home))];
  });
  after(async () => {
    for (const { service } of instances) await service.stop();
    await Promise.all([anvil?.stop(), postgres?.stop()]);
    await home?.remove();
  });

  /** The instance that runs the only lane, and the other one, as each says of itself. */
  function holderAndOther(): Promise<readonly [Instance, Instance]> {
    return waitFor('one instance to run the lane', async () => {
      const lanes = await Promise.all(instances.map(async (one) => (await one.self()).lanes));
      const [first, second] = instances;
      if (first === undefined || second === undefined) assert.fail();
      if (lanes.join() === '1,0') return [first, second] as const;
      return lanes.join() === '0,1' ? ([second, first] as const) : undefined;
    });
  }

  async function requireSendWorks(at: Instance): Promise<void> {
    sent += 1;
    const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: sent, speed: 'fast' };
    const { status, body: answer } = await at.rest('POST', '/relayers/r1/transactions', body);
    assert.equal(status, 200, JSON.stringify(answer));
    await waitFor('the transaction to be confirmed', async () => {
      const { body: read } = await at.rest('GET', `/relayers/r1/transactions/${answer.data.id}`);
      return read.data?.status === 'confirmed' ? true : undefined;
    });
  }

  it('the list warns of settings of the database with which answered commits can get lost', async () => {
    // The server of the tests runs without fsync and without a standby.
    const logs = await waitFor('the warning for several instances', async () => {
      const { body } = await (instances[0] as Instance).rest('GET', '/instances');
      return body.metadata?.logs.length === 2 ? (body.metadata.logs as { level: string; message: string }[]) : undefined;
    });
    assert.deepEqual(
      logs.map(({ level }) => level),
      ['warn', 'warn'],
    );
    assert.match(logs[0]?.message ?? '', /^fsync is off: /);
    assert.match(logs[1]?.message ?? '', /^synchronous_standby_names is empty: /);
  });

  it('both list both, newest first, over REST and RPC, and each says which one it is', async () => {
    const [first, second] = instances as [Instance, Instance];
    await holderAndOther();
    const lists = await waitFor('both to see both share', async () => {
      const both = [await first.list(), await second.list()];
      return both.flat().filter(({ state }) => state === 'sharing').length === 4 ? both : undefined;
    });
    const ids = [(await second.self()).id, (await first.self()).id];
    for (const [index, list] of lists.entries()) {
      assert.deepEqual(
        list.map(({ id }) => id),
        ids,
      );
      assert.deepEqual(
        list.map(({ is_self }) => is_self),
        index === 0 ? [false, true] : [true, false],
      );
      for (const { version, host, pid, joined_at, last_seen_at } of list) {
        assert.deepEqual([version, host, pid], [packageVersion(), hostname(), process.pid]);
        assert.ok(Date.parse(joined_at) <= Date.now());
        assert.ok(last_seen_at !== null && Date.parse(last_seen_at) > Date.parse(joined_at) - 60_000);
      }
      assert.equal(list[0]?.lanes === 1, list[1]?.lanes === 0);
    }
    assert.ok(Date.parse(lists[0]?.[0]?.joined_at ?? '') > Date.parse(lists[0]?.[1]?.joined_at ?? ''));
    const { body } = await first.rest('GET', '/instances?per_page=1&page=2');
    assert.deepEqual(body.pagination, { current_page: 2, per_page: 1, total_items: 2 });
    assert.equal(body.data[0].id, ids[1]);
    for (const asker of rpcAskers(second.service.baseUrl)) {
      const seen: unknown[] = [];
      for (let page_token = '', pages = 0; pages === 0 || page_token !== ''; pages += 1) {
        const answer = await asker.ask(listInstances, { page_size: 1, page_token });
        assert.ok(answer.ok, asker.protocol);
        const page = answer.response as ListInstancesResponse;
        seen.push(...page.instances.map((one) => `${one.id} ${one.isSelf}`));
        page_token = page.nextPageToken;
      }
      asker.close();
      assert.deepEqual(seen, [`${ids[0]} true`, `${ids[1]} false`], asker.protocol);
    }
  });

  it('an unknown id is not found', async () => {
    const [{ rest }] = instances as [Instance];
    for (const id of ['1', '99', 'x', `0${(await instances[0]?.self())?.id}`]) {
      const { status, reason } = await rest('POST', `/instances/${id}/drain`);
      assert.deepEqual([status, reason], [404, 'INSTANCE_NOT_FOUND'], id);
    }
  });

  it('a key without the scope admin is refused', async () => {
    const [{ rest, service }] = instances as [Instance];
    const { body } = await rest('POST', '/api-keys', { name: 'reader', scopes: ['transactions:read', 'transactions:write', 'sign'] });
    const reader = restClient(() => service.baseUrl, body.data.key);
    for (const [verb, path] of [
      ['GET', '/instances'],
      ['POST', `/instances/${(await instances[0]?.self())?.id}/drain`],
    ] as const) {
      const { status, reason } = await reader(verb, path);
      assert.deepEqual([status, reason], [403, 'SCOPE_MISSING'], path);
    }
  });

  it('draining by REST at the other instance: the lane moves, and the drained instance stays ready, accepts sends and takes nothing until it starts again', async () => {
    const [holder, other] = await holderAndOther();
    const { id } = await holder.self();
    const { status, body } = await other.rest('POST', `/instances/${id}/drain`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.data.id, body.data.state, body.data.is_self], [id, 'draining', false]);
    const [heir] = await waitFor('the lane to move', async () => {
      const found = await holderAndOther();
      return found[0] === other ? found : undefined;
    });
    await requireSendWorks(holder);
    await requireSendWorks(heir);
    assert.deepEqual([(await holder.self()).state, (await holder.self()).lanes], ['draining', 0]);
    assert.equal((await holder.rest('GET', '/ready')).status, 200);
    assert.equal((await other.rest('POST', `/instances/${id}/drain`)).body.data.state, 'draining', 'draining it again changes nothing');
    await holder.startAgain();
    const again = await holder.self();
    assert.equal(again.state, 'sharing');
    assert.notEqual(again.id, id);
  });

  it('draining by RPC at the instance itself: the lane moves', async () => {
    const [holder, other] = await holderAndOther();
    const { id } = await holder.self();
    for (const asker of rpcAskers(holder.service.baseUrl)) {
      const answer = await asker.ask(drainInstance, { instance_id: id });
      asker.close();
      assert.ok(answer.ok, asker.protocol);
      const { instance } = answer.response as DrainInstanceResponse;
      assert.deepEqual([instance?.id, instance?.state, instance?.isSelf], [id, InstanceState.DRAINING, true]);
    }
    await waitFor('the lane to move', async () => ((await holderAndOther())[0] === other ? true : undefined));
    await requireSendWorks(holder);
  });

  it('a drained instance whose record another one removed joins again under a new id, and stays drained', async () => {
    const drained = await waitFor('the drained instance', async () => {
      for (const one of instances) if ((await one.self()).state === 'draining') return one;
      return undefined;
    });
    const { id } = await drained.self();
    const admin = new pg.Client(home.env.DATABASE_URL);
    await admin.connect();
    // What another instance does to one that is silent.
    const { rows } = await admin.query(removalOf('number = $1'), [Number(id)]);
    await admin.query('select pg_terminate_backend($1)', [rows[0].backend_pid]);
    await admin.end();
    const again = await waitFor('it to join again', async () => {
      const found = (await drained.list()).find(({ is_self }) => is_self);
      return found !== undefined && found.id !== id && found.state !== 'starting' ? found : undefined;
    });
    assert.equal(again.state, 'draining');
    await requireSendWorks(drained);
  });

  it('draining the last instance that shares is refused at each instance, and an undone drain lets it', async () => {
    const [holder, other] = await holderAndOther();
    const { id } = await holder.self();
    for (const { rest } of [holder, other]) {
      const { status, reason, body } = await rest('POST', `/instances/${id}/drain`);
      assert.deepEqual([status, reason], [400, 'INSTANCE_ALONE']);
      assert.match(
        body.error,
        /^no other instance is connected and has the state sharing, so none can take over the work of instance \d+; /,
      );
      assert.equal((await holder.self()).state, 'sharing');
    }
    const { id: drained } = await other.self();
    assert.equal((await other.self()).state, 'draining');
    for (const asker of rpcAskers(holder.service.baseUrl)) {
      const answer = await asker.ask(undrainInstance, { instance_id: drained });
      asker.close();
      assert.ok(answer.ok, asker.protocol);
    }
    await waitFor('it to share again', async () => ((await other.self()).state === 'sharing' ? true : undefined));
    await waitFor('the holder to see it', async () => ((await holder.list()).every(({ state }) => state === 'sharing') ? true : undefined));
    assert.equal((await holder.rest('POST', `/instances/${id}/drain`)).status, 200);
    await waitFor('the lane to move', async () => ((await holderAndOther())[0] === other ? true : undefined));
    await requireSendWorks(holder);
  });

  it('draining every instance: the last one keeps the lane, and hands it over to the first that starts', async () => {
    const [holder, other] = await holderAndOther();
    assert.equal((await other.self()).state, 'draining');
    const { id } = await holder.self();
    assert.equal((await other.rest('POST', `/instances/${id}/drain?force=true`)).status, 200);
    await waitFor('both to drain', async () => ((await holder.self()).state === 'draining' ? true : undefined));
    await requireSendWorks(other);
    assert.equal((await holder.self()).lanes, 1);
    await other.startAgain();
    await waitFor('the lane to move', async () => ((await holderAndOther())[0] === other ? true : undefined));
    await requireSendWorks(holder);
  });
});
