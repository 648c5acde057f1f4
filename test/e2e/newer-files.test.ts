import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { freePort } from '../../src/sandbox/free-port.js';
import { rest } from '../support/callers.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

it('an instance takes its work back, with its own file, after the one with a newer file was killed', async (test) => {
  const server = await startPostgres();
  test.after(() => server.stop());
  // Answers show the URL of a webhook up to its host.
  const url = (of: 'older' | 'newer') => `http://127.0.0.1:${of === 'older' ? 7 : 9}/`;
  const home = await createServiceHome({
    rpcUrl: 'http://127.0.0.1:9',
    notifications: [{ id: 'of-file', type: 'webhook', url: url('older') }],
    env: { DATABASE_URL: await server.newDatabase(), WEBHOOK_ALLOW_PRIVATE: 'true' },
  });
  test.after(() => home.remove());
  const start = async () => {
    const service = await startService({ ...home, env: { ...home.env, APP_PORT: String(await freePort()) } });
    test.after(() => service.kill());
    return service;
  };
  const notificationAt = async (baseUrl: string): Promise<unknown> => (await rest(baseUrl, 'GET', '/notifications/of-file')).body.data?.url;
  const pause = (baseUrl: string, paused: boolean) => rest(baseUrl, 'PATCH', '/relayers/r1', { paused });

  const older = await start();
  assert.equal((await pause(older.baseUrl, false)).status, 200);
  const file = join(home.dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...config, revision: 1, notifications: [{ id: 'of-file', type: 'webhook', url: url('newer') }] }));
  const newer = await start();
  await waitFor('the older one to hand over', async () => ((await pause(older.baseUrl, false)).status === 503 ? true : undefined));
  assert.equal(await notificationAt(newer.baseUrl), url('newer'));
  // Another file of the same revision replaces nothing.
  await writeFile(file, JSON.stringify({ ...config, revision: 1 }));
  await assert.rejects(start(), /other instances work with other configuration files of revision 1, and these have revision 1/);
  assert.equal((await pause(newer.baseUrl, false)).status, 200);

  await newer.kill();
  await waitFor('the older one to work', async () => ((await pause(older.baseUrl, false)).status === 200 ? true : undefined), 15_000);
  await waitFor('its notification', async () => ((await notificationAt(older.baseUrl)) === url('older') ? true : undefined), 10_000);
});
