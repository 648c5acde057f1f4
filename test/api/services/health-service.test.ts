import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { Health, HealthCheckResponse_ServingStatus as Serving } from '../../../gen/grpc/health/v1/health_pb.js';
import { createReadiness, type Readiness } from '../../../src/api/contract/readiness.js';
import { startRig, transports } from '../../support/api-rig.js';
import { requestHttp2 } from '../../support/raw-http.js';
import { waitFor } from '../../support/wait-for.js';

const well: Readiness = { ready: true, components: { store: 'ok' }, networks: { local: 'ok' } };
const ill: Readiness = { ready: false, components: { store: 'cannot be written' }, networks: { local: 'ok' } };

test('health: answers OK without a key; readiness answers 200 or 503 with JSON', async () => {
  for (const [readiness, status] of [
    [well, 200],
    [ill, 503],
  ] as const) {
    const rig = await startRig({ measure: async () => readiness });
    const origin = `http://127.0.0.1:${rig.port}`;
    const health = await requestHttp2(origin, { ':path': '/api/v1/health' });
    assert.equal(health.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(health.body.toString(), 'OK');
    const ready = await requestHttp2(origin, { ':path': '/api/v1/ready' });
    assert.equal(ready.headers[':status'], status);
    const { timestamp, components, ...rest } = JSON.parse(ready.body.toString());
    const { system, ...others } = components;
    assert.deepEqual({ ...rest, components: others }, { status: status === 200 ? 'healthy' : 'unhealthy', ...readiness });
    assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
    assert.deepEqual(Object.keys(system), ['status', 'fd_count', 'fd_limit', 'fd_usage_percent', 'close_wait_count']);
    if (process.platform === 'linux') assert.ok(system.fd_count > 0 && system.fd_limit >= system.fd_count);
    await rig.stop();
  }
});

test('readiness: answers 503 within a second while the store hangs, and measures again only after it', async () => {
  let measurements = 0;
  let release: () => void = () => undefined;
  const hang = new Promise<void>((resolve) => {
    release = resolve;
  });
  const rig = await startRig({
    measure: async () => {
      measurements += 1;
      await hang;
      return well;
    },
  });
  const ask = () => requestHttp2(`http://127.0.0.1:${rig.port}`, { ':path': '/api/v1/ready' });
  for (let round = 0; round < 2; round += 1) {
    const startedAtMs = performance.now();
    const answer = await ask();
    assert.equal(answer.headers[':status'], 503);
    assert.equal(JSON.parse(answer.body.toString()).components.readiness, 'cannot be measured in time');
    // Under load a timer fires late; an unbounded check would wait forever.
    assert.ok(performance.now() - startedAtMs < 10_000);
    await waitFor('the answer to be too old', () => (performance.now() - startedAtMs > 1_100 ? true : undefined));
  }
  for (const [name, transport] of Object.entries(transports)) {
    const { status } = await createClient(Health, transport(`http://127.0.0.1:${rig.port}`)).check({});
    assert.equal(status, Serving.NOT_SERVING, name);
  }
  assert.equal(measurements, 1);
  release();
  await waitFor('the store to answer again', async () => {
    return String((await ask()).headers[':status']) === '200' ? true : undefined;
  });
  await rig.stop();
});

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: Check, List and Watch need no key`, async () => {
    const rig = await startRig();
    const client = createClient(Health, transport(`http://127.0.0.1:${rig.port}`));
    for (const service of ['', 'relayer.v1.NotificationService', 'grpc.health.v1.Health']) {
      assert.equal((await client.check({ service })).status, Serving.SERVING);
    }
    await assert.rejects(client.check({ service: 'nothing' }), (error) => error instanceof ConnectError && error.code === Code.NotFound);
    const { statuses } = await client.list({});
    assert.deepEqual(Object.keys(statuses).sort(), [
      '',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'relayer.v1.NotificationService',
    ]);
    for await (const { status } of client.watch({ service: 'nothing' })) {
      assert.equal(status, Serving.SERVICE_UNKNOWN);
      break;
    }
    await rig.stop();
  });

  test(`${name}: a watch reports the stop and ends`, async () => {
    const rig = await startRig();
    const client = createClient(Health, transport(`http://127.0.0.1:${rig.port}`));
    const seen: Serving[] = [];
    let stopped: Promise<void> | undefined;
    for await (const { status } of client.watch({})) {
      seen.push(status);
      stopped ??= rig.stop();
    }
    await stopped;
    assert.deepEqual(seen, [Serving.SERVING, Serving.NOT_SERVING]);
    assert.deepEqual(
      rig.lines.filter(({ level }) => level === 'warn'),
      [],
    );
  });
}

test('health: a stopping service is alive but not ready', async () => {
  const rig = await startRig();
  rig.shutdown.abort();
  const origin = `http://127.0.0.1:${rig.port}`;
  assert.equal((await requestHttp2(origin, { ':path': '/api/v1/health' })).headers[':status'], 200);
  const ready = await requestHttp2(origin, { ':path': '/api/v1/ready' });
  assert.equal(ready.headers[':status'], 503);
  assert.equal(JSON.parse(ready.body.toString()).components.service, 'stopping');
  await rig.stop();
});

test('readiness: is measured at most once a second', async () => {
  let measured = 0;
  let nowMs = 0;
  const measure = async () => {
    measured++;
    return measured === 1 ? well : Promise.reject(new Error('secret'));
  };
  const readiness = createReadiness(measure, { clock: { nowMs: () => nowMs }, leaving: new AbortController().signal });
  const answers = await Promise.all([readiness(), readiness(), readiness()]);
  assert.deepEqual(answers, [well, well, well]);
  nowMs = 999;
  assert.equal((await readiness()).ready, true);
  assert.equal(measured, 1);
  nowMs = 1000;
  const failed = await readiness();
  assert.equal(measured, 2);
  assert.equal(failed.ready, false);
  assert.ok(!JSON.stringify(failed).includes('secret'));
});
