import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { type App, startApp } from '../../src/app/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import type { AuditLog, Log } from '../../src/core/work/log.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { apiKey, createServiceHome, type ServiceHome } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';

const log: Log & AuditLog = { ...silentLog, audit: () => undefined, isAuditInLog: false };

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function start(test: TestContext, { env }: ServiceHome): Promise<App> {
  const { settings, config } = await loadConfiguration(env);
  const app = await startApp(settings, config, log);
  test.after(() => app.stop());
  return app;
}

async function ask({ port }: App, verb: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/relayers/r1/transactions${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

it('concurrent replacements of one transaction succeed at every instance', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { DATABASE_URL: await server.newDatabase() } });
  test.after(() => home.remove());
  // One of them has the lease of the lane.
  const apps = [await start(test, home), await start(test, home)];
  const to = `0x${'22'.repeat(20)}`;
  const sent = await ask(apps[0] as App, 'POST', '', { to, value: 0 });
  const { id } = (JSON.parse(sent.text) as { data: { id: string } }).data;
  const replaced = await Promise.all(
    apps.flatMap((app) => Array.from({ length: 20 }, (_, value) => ask(app, 'PUT', `/${id}`, { to, value }))),
  );
  assert.deepEqual(
    replaced.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  );
});
