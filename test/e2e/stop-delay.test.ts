import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { describe, it } from 'node:test';
import { apiKey, createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const path = '/api/v1/relayers/r1/transactions';
const authorization = `Bearer ${apiKey}`;

async function statusOver(session: ClientHttp2Session): Promise<number> {
  const stream = session.request({ ':path': path, authorization });
  const [headers] = await once(stream, 'response');
  stream.resume();
  await once(stream, 'close');
  return headers[':status'];
}

describe('SIGTERM with SHUTDOWN_DELAY_SECONDS', () => {
  it('is not ready and serves old and new connections, until a second SIGTERM sends GOAWAY and ends it', async (test) => {
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { SHUTDOWN_DELAY_SECONDS: '3600' } });
    test.after(() => home.remove());
    const service = await startService(home);
    test.after(() => service.kill());
    const session = connect(service.baseUrl);
    test.after(() => session.destroy());
    const goaways: number[] = [];
    session.on('goaway', (code) => void goaways.push(code));
    assert.equal(await statusOver(session), 200);
    const readiness = async () => (await fetch(`${service.baseUrl}/api/v1/ready`)).status;
    assert.equal(await readiness(), 200);

    process.kill(service.pid, 'SIGTERM');
    await waitFor('the service to leave', async () => ((await readiness()) === 503 ? true : undefined));
    const health = await fetch(`${service.baseUrl}/api/v1/health`);
    assert.deepEqual([health.status, health.headers.get('connection')], [200, 'close']);
    const body = JSON.stringify({ to: `0x${'1'.repeat(40)}`, value: 1 });
    const sent = await fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body,
    });
    assert.equal(sent.status, 200);
    assert.equal(await statusOver(session), 200);
    assert.deepEqual(goaways, []);

    const ended = once(session, 'close');
    assert.equal(await service.stop(), 0);
    await ended;
    assert.deepEqual(goaways.slice(0, 1), [0]);
  });

  it('ends by itself after the delay', async (test) => {
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { SHUTDOWN_DELAY_SECONDS: '1' } });
    test.after(() => home.remove());
    const service = await startService(home);
    test.after(() => service.kill());
    assert.equal(await service.stop(), 0);
    assert.match(service.output(), /"delaySeconds":1,"msg":"stopping"/);
  });
});
