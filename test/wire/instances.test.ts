import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, it } from 'node:test';
import { type DescMethodUnary, type JsonValue, toJson } from '@bufbuild/protobuf';
import { InstanceService, type ListInstancesResponse, ListInstancesResponseSchema } from '../../gen/relayer/v1/instance_service_pb.js';
import { packageVersion } from '../../src/config/package-version.js';
import { type AppRig, keys, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

const startedMs = Date.now();
let rig: AppRig;
let askers: readonly RpcAsker[];
before(async () => {
  rig = await startAppRig();
  askers = rpcAskers(rig.baseUrl);
});
after(async () => {
  for (const asker of askers ?? []) asker.close();
  await rig?.stop();
});

const { listInstances, drainInstance, undrainInstance } = InstanceService.method;

/** Calls a method on every RPC protocol, which all refuse it in the same way. */
async function refusalsOf(method: DescMethodUnary, message: JsonValue, key?: string): Promise<string> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const refusals = await Promise.all(
    askers.map(async (asker) => {
      const answer = await asker.ask(method, message, headers);
      assert.ok(!answer.ok, asker.protocol);
      return `${answer.code} ${answer.info?.reason} ${answer.resource?.name ?? ''}: ${answer.sentence}`;
    }),
  );
  assert.equal(new Set(refusals).size, 1, refusals.join('\n'));
  return refusals[0] ?? '';
}

it('instances on SQLite: the list has this process, which runs all lanes', async () => {
  const { status, text } = await rig.ask('GET', '/api/v1/instances');
  assert.equal(status, 200, text);
  const { data, pagination } = JSON.parse(text);
  const [{ joined_at, last_seen_at, ...instance }] = data;
  assert.deepEqual(instance, {
    id: '1',
    version: packageVersion(),
    host: hostname(),
    pid: process.pid,
    state: 'sharing',
    lanes: 3,
    is_self: true,
  });
  assert.deepEqual(pagination, { current_page: 1, per_page: 10, total_items: 1 });
  for (const time of [joined_at, last_seen_at]) assert.ok(Date.parse(time) >= startedMs && Date.parse(time) <= Date.now(), time);
  for (const asker of askers) {
    const answer = await asker.ask(listInstances, {});
    assert.ok(answer.ok, asker.protocol);
    const { instances } = toJson(ListInstancesResponseSchema, answer.response as ListInstancesResponse) as {
      instances: Record<string, unknown>[];
    };
    assert.deepEqual(
      instances.map(({ id, state, lanes, isSelf }) => ({ id, state, lanes, isSelf })),
      [{ id: '1', state: 'INSTANCE_STATE_SHARING', lanes: 3, isSelf: true }],
      asker.protocol,
    );
  }
});

it('instances on SQLite: draining the only one is refused, and says why', async () => {
  const sentence =
    'instance 1 uses its SQLite database alone, so no other instance can take over its lanes; only instances on PostgreSQL can be drained';
  const { status, text, headers } = await rig.ask('POST', '/api/v1/instances/1/drain');
  assert.deepEqual(
    [status, headers['x-error-reason'], JSON.parse(text)],
    [400, 'INSTANCE_ALONE', { success: false, data: null, error: sentence, message: 'Bad Request' }],
  );
  assert.equal(await refusalsOf(drainInstance, { instance_id: '1' }), `FailedPrecondition INSTANCE_ALONE : ${sentence}`);
  assert.equal(JSON.parse((await rig.ask('GET', '/api/v1/instances')).text).data[0].state, 'sharing');
});

it('instances on SQLite: undoing a drain changes nothing', async () => {
  const { status, text } = await rig.ask('POST', '/api/v1/instances/1/undrain');
  assert.deepEqual([status, JSON.parse(text).data.state], [200, 'sharing']);
});

it('instances: an unknown id is not found', async () => {
  const { status: unknown } = await rig.ask('POST', '/api/v1/instances/01/undrain');
  assert.equal(unknown, 404);
  assert.equal(await refusalsOf(undrainInstance, { instance_id: '01' }), 'NotFound INSTANCE_NOT_FOUND 01: Instance with ID 01 not found');
  const { status, text, headers } = await rig.ask('POST', '/api/v1/instances/01/drain');
  assert.deepEqual(
    [status, headers['x-error-reason'], JSON.parse(text)],
    [404, 'INSTANCE_NOT_FOUND', { success: false, data: null, error: 'Instance with ID 01 not found', message: 'Not found' }],
  );
  assert.equal(await refusalsOf(drainInstance, { instance_id: '01' }), 'NotFound INSTANCE_NOT_FOUND 01: Instance with ID 01 not found');
});

it('instances: a key without the scope admin can neither list nor drain them', async () => {
  for (const key of [keys.reader, keys.notifier]) {
    for (const [verb, path] of [
      ['GET', '/api/v1/instances'],
      ['POST', '/api/v1/instances/1/drain'],
    ] as const) {
      const { status, headers } = await rig.ask(verb, path, { headers: { authorization: `Bearer ${key}` } });
      assert.deepEqual([status, headers['x-error-reason']], [403, 'SCOPE_MISSING'], `${verb} ${path}`);
    }
    for (const [method, message] of [
      [listInstances, {}],
      [drainInstance, { instance_id: '1' }],
    ] as const)
      assert.match(await refusalsOf(method, message, key), /^PermissionDenied SCOPE_MISSING/);
  }
});

it('instances: a drain has an audit line that names the instance', async () => {
  const before = rig.audited.length;
  await rig.ask('POST', '/api/v1/instances/7/drain');
  const [line] = rig.audited.slice(before) as Readonly<Record<string, unknown>>[];
  assert.deepEqual(
    [line?.method, line?.instance_id, line?.outcome],
    ['/relayer.v1.InstanceService/DrainInstance', '7', 'INSTANCE_NOT_FOUND'],
  );
});
