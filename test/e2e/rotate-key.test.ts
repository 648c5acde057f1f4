import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openApiKeys } from '../../src/storage/open-api-keys.js';
import { restClient } from '../support/rest-client.js';
import { createServiceHome, type RunningService, startService } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';

/** How long after the request the service is killed: before, during and after its commit. */
const killsMs = [0, 1, 2, 3, 5, 8, 12, 40];

it('rotation: a kill at any moment leaves the old secret, or both; the repeated call answers the secret that works', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  let service: RunningService = await startService(home);
  test.after(() => service.kill());
  const operator = restClient(() => service.baseUrl);
  const isValid = async (key: string) => (await restClient(() => service.baseUrl, key)('GET', '/caller')).status === 200;
  const outcomes = new Set<string>();
  for (const [round, killMs] of killsMs.entries()) {
    const scopes = ['admin'];
    const parent = (await operator('POST', '/api-keys', { name: 'rotated', scopes })).body.data;
    const top = (await operator('POST', '/api-keys', { name: 'top', scopes })).body.data;
    const middle = (await restClient(() => service.baseUrl, top.key)('POST', '/api-keys', { name: 'middle', scopes })).body.data;
    await restClient(() => service.baseUrl, middle.key)('POST', '/api-keys', { name: 'leaf', scopes });
    const rotate = () =>
      operator('POST', `/api-keys/${parent.id}/rotate`, { overlap_seconds: 3_600 }, { 'idempotency-key': `rotation-${round}` });
    const answered = Promise.allSettled([rotate(), operator('DELETE', `/api-keys/${top.id}?with_created=true`)]);
    await pause(killMs);
    await service.kill();
    const [rotated] = await answered;
    const beside = await openApiKeys(home.env.DATABASE_URL ?? assert.fail(), { log: silentLog });
    const stored = await beside.read.apiKeys();
    await beside.close();
    const former = stored.find(({ id }) => id === parent.id)?.formerSecrets.length ?? assert.fail('the key is gone');
    const lineage = stored.filter(({ name }) => ['top', 'middle', 'leaf'].includes(name)).length;
    assert.ok(lineage === 0 || lineage === 3, `${lineage} of the 3 keys are left`);
    assert.ok(rotated.status === 'rejected' || former === 1, 'an answered rotation was lost');
    outcomes.add(`${rotated.status} ${former} ${lineage}`);
    service = await startService(home);
    assert.ok(await isValid(parent.key), 'the old secret is within its overlap');
    const again = await rotate();
    assert.equal(again.status, 200, JSON.stringify(again.body));
    if (rotated.status === 'fulfilled') assert.equal(again.body.data.key, rotated.value.body.data.key);
    assert.ok((await isValid(again.body.data.key)) && (await isValid(parent.key)));
    if (lineage > 0) assert.equal((await operator('DELETE', `/api-keys/${top.id}?with_created=true`)).status, 200);
    assert.equal((await operator('DELETE', `/api-keys/${parent.id}`)).status, 200);
  }
  test.diagnostic([...outcomes].join(', '));
});
