import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { rest } from '../support/callers.js';
import {
  createServiceHome,
  type LaunchedService,
  launchService,
  type RunningService,
  type ServiceHome,
  startService,
} from '../support/service.js';

const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };

async function started(test: TestContext): Promise<{ home: ServiceHome; service: RunningService; exited: LaunchedService['exited'] }> {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const { listening, exited } = launchService(home);
  const service = await listening;
  test.after(() => service.kill());
  const { status } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', body);
  assert.equal(status, 200);
  return { home, service, exited };
}

describe('a service that loses its database file', () => {
  it('answers no send with 200 once the file is deleted, says why, and ends with exit code 1', async (test) => {
    const { home, service, exited } = await started(test);
    for (const name of readdirSync(home.dir).filter((one) => one.startsWith('relayer.db') && !one.endsWith('.lock')))
      rmSync(join(home.dir, name));
    const answer = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', body).catch(() => null);
    assert.notEqual(answer?.status, 200);
    assert.equal(await exited, 1);
    assert.match(service.output(), /relayer\.db was removed or replaced while the service uses it/);
  });

  it('ends with exit code 1 when the log of the database is deleted, and loses no send that it answered with 200', async (test) => {
    const { home, service, exited } = await started(test);
    rmSync(join(home.dir, 'relayer.db-wal'));
    const answer = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', body).catch(() => null);
    assert.notEqual(answer?.status, 200);
    assert.equal(await exited, 1);
    assert.match(service.output(), /relayer\.db-wal was removed or replaced/);
    const next = await startService(home);
    test.after(() => next.kill());
    const { body: list } = await rest(next.baseUrl, 'GET', '/relayers/r1/transactions');
    assert.equal(list.pagination.total_items, 1);
  });

  it('ends with exit code 1 when its lock file is deleted, so that no second service works beside it', async (test) => {
    const { home, service, exited } = await started(test);
    rmSync(join(home.dir, 'relayer.db.lock'));
    assert.equal(await exited, 1);
    assert.match(service.output(), /relayer\.db\.lock was removed or replaced/);
    const next = await startService(home);
    test.after(() => next.kill());
    const { body: list } = await rest(next.baseUrl, 'GET', '/relayers/r1/transactions');
    assert.equal(list.pagination.total_items, 1);
  });
});
