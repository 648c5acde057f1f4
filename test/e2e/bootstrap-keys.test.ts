import assert from 'node:assert/strict';
import { it } from 'node:test';
import { askRest } from '../support/app-rig.js';
import { apiKey, createServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';

it('bootstrap keys: while callers move to the next key, both are valid, and a repeated call finds its response', async (test) => {
  const next = 'n'.repeat(40);
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { API_KEY_NEXT: next } });
  test.after(() => home.remove());
  const body = JSON.stringify({ id: 'hook', type: 'webhook', url: 'https://hooks.example.com/x' });
  const create = async (port: number, key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'one' };
    const { status, headers: answered } = await askRest(port, 'POST', '/api/v1/notifications', { body, headers });
    return [status, answered['idempotency-replayed']];
  };
  const service = await startServiceHere(home);
  assert.deepEqual(await create(service.port, apiKey), [201, undefined]);
  assert.deepEqual(await create(service.port, next), [201, 'true']);
  assert.deepEqual(await create(service.port, `${next}n`), [401, undefined]);
  assert.match(service.output(), /"keyName":"bootstrap next"/);
  await service.stop();
  const moved = await startServiceHere({ ...home, env: { ...home.env, API_KEY: next, API_KEY_NEXT: '' } });
  assert.deepEqual(await create(moved.port, next), [201, 'true']);
  assert.deepEqual(await create(moved.port, apiKey), [401, undefined]);
  await moved.stop();
});
