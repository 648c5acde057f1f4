import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { rest } from '../support/callers.js';
import { programFile } from '../support/program-file.js';
import { apiKey, createServiceHome } from '../support/service.js';

/** More lines than the buffers of a connection between two processes hold. */
const requests = 2_000;
const atOnce = 50;
const path = `/relayers/${'x'.repeat(1_000)}`;

it('a reader that stops reading the log delays no request, no send and no stop', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const env = { PATH: process.env.PATH, ...home.env };
  const child = spawn(process.execPath, [programFile, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  test.after(() => child.kill('SIGKILL'));
  let output = '';
  let port: string | undefined;
  while (port === undefined) {
    const [chunk] = await once(child.stdout, 'data');
    output += chunk.toString();
    port = /"port":(\d+),.*"msg":"listening"/.exec(output)?.[1];
  }
  child.stdout.pause();
  const baseUrl = `http://127.0.0.1:${port}`;

  for (let sent = 0; sent < requests; sent += atOnce) {
    const answers = await Promise.all(Array.from({ length: atOnce }, () => rest(baseUrl, 'GET', path)));
    for (const { status } of answers) assert.equal(status, 404);
  }
  const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };
  assert.equal((await rest(baseUrl, 'POST', '/relayers/r1/transactions', body)).status, 200);
  const metrics = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  assert.match(await metrics.text(), /^relayer_log_waiting_bytes [1-9]\d*$/m);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  child.stdout.destroy();
});
