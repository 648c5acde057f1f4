import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { type App, startApp } from '../../src/app/app.js';
import { openInstance } from '../../src/app/open-instance.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import type { AuditLog, Log } from '../../src/core/work/log.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { apiKey, createServiceHome, type ServiceHome } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const log: Log & AuditLog = { ...silentLog, audit: () => undefined, isAuditInLog: false };

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** Starts an instance that no notification of another one reaches. */
async function startDeaf(test: TestContext, { env }: ServiceHome): Promise<App> {
  const { settings, config } = await loadConfiguration(env);
  const app = await startApp(settings, config, log, {
    async openInstance(url, options) {
      const opened = await openInstance(url, options);
      return { ...opened, sharing: { ...opened.sharing, onNews: () => undefined } };
    },
  });
  test.after(() => app.stop());
  return app;
}

async function ask({ port }: App, verb: string, path: string, body?: object): Promise<{ id: string; status_reason: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/relayers/r1/transactions${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { data: { id: string; status_reason: string } };
  assert.ok(response.ok, JSON.stringify(answer));
  return answer.data;
}

it('what another instance accepts reaches its lane and its receiver although every notification is lost', async (test) => {
  const receiver = await startHttpReceiver(test, (response) => response.end());
  const home = await createServiceHome({
    rpcUrl: 'http://127.0.0.1:9',
    env: { DATABASE_URL: await server.newDatabase() },
    notifications: [{ id: 'n1', type: 'webhook', url: receiver.url('/') }],
    notificationId: 'n1',
  });
  test.after(() => home.remove());
  // One of them has the lease of the lane, and one that of the notification.
  const apps = [await startDeaf(test, home), await startDeaf(test, home)];
  const told = () => receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { payload: { id: string } }).payload.id);
  const sent: string[] = [];
  // More than once, since a lease that moves meanwhile makes its new holder look.
  for (const app of [...apps, ...apps, ...apps]) {
    const { id } = await ask(app, 'POST', '', { to: `0x${'22'.repeat(20)}`, value: 1 });
    sent.push(id);
    await waitFor('its event', () => (told().includes(id) ? true : undefined), 30_000);
  }
  // Only the instance with the lease knows what its lane waits for.
  await waitFor(
    'the lane to take in all transactions',
    async () => {
      const reasons = await Promise.all(sent.map(async (id) => (await ask(apps[0] as App, 'GET', `/${id}`)).status_reason));
      return reasons.every((reason) => reason.includes('no RPC node is reachable')) ? true : undefined;
    },
    30_000,
  );
});
