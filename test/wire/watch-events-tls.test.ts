import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type EventAnswer, openEvents } from '../support/event-stream.js';
import { selfSigned } from '../support/self-signed.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

const path = '/api/v1/relayers/r1/transactions';

describe('watching by server-sent events over TLS', () => {
  let home: ServiceHome;
  let service: RunningService;
  let tls: { readonly TLS_CERT_FILE: string; readonly TLS_KEY_FILE: string };

  before(async () => {
    // No node answers: transactions stay pending.
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
    const { certPem, keyPem } = await selfSigned();
    tls = { TLS_CERT_FILE: join(home.dir, 'cert.pem'), TLS_KEY_FILE: join(home.dir, 'key.pem') };
    await writeFile(tls.TLS_CERT_FILE, certPem);
    await writeFile(tls.TLS_KEY_FILE, keyPem, { mode: 0o600 });
    await start();
  });

  after(async () => {
    await service?.kill();
    await home?.remove();
  });

  async function start(): Promise<void> {
    service = await startService({ ...home, env: { ...home.env, ...tls } });
  }

  async function send(): Promise<string> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const asked = request({ port: service.port, host: '127.0.0.1', path, method: 'POST', headers, rejectUnauthorized: false });
    asked.end(JSON.stringify({ to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 }));
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const text = (await response.setEncoding('utf8').toArray()).join('');
    assert.equal(response.statusCode, 200, text);
    return JSON.parse(text).data.id;
  }

  const open = (version: '1.1' | '2', headers: Record<string, string> = {}) =>
    openEvents(`https://127.0.0.1:${service.port}`, `${path}/watch`, { version, headers });

  /** Reads up to the first event of this transaction, and returns its token. `revisions`: those that were read, by transaction. */
  async function readTo({ events }: EventAnswer, id: string, revisions: Map<string, number>): Promise<string> {
    for (;;) {
      const { value } = await events.next();
      if (value === undefined) return assert.fail('the stream ended');
      if (value.event !== 'transaction') continue;
      const record: { readonly id: string; readonly revision: number } = JSON.parse(value.data);
      assert.ok(record.revision > (revisions.get(record.id) ?? 0), 'what was read before does not come again');
      revisions.set(record.id, record.revision);
      if (record.id === id) return value.id ?? assert.fail('the event has no id');
    }
  }

  for (const version of ['1.1', '2'] as const)
    it(`events over HTTP/${version} and TLS: arrive as they happen, and are resumed by Last-Event-ID, also after SIGKILL`, async () => {
      const revisions = new Map<string, number>();
      const first = await send();
      const watch = await open(version);
      assert.deepEqual([watch.status, watch.headers['content-type']], [200, 'text/event-stream; charset=utf-8']);
      assert.equal(watch.headers['strict-transport-security'], 'max-age=31536000');
      await readTo(watch, first, revisions);
      const second = await send();
      const token = await readTo(watch, second, revisions);
      watch.cancel();

      const missed = await send();
      const resumed = await open(version, { 'last-event-id': token });
      const later = await readTo(resumed, missed, revisions);
      await service.kill();
      await assert.rejects(async () => {
        for await (const _ of resumed.events);
        throw new Error('the stream ended');
      });
      await start();
      const last = await send();
      const again = await open(version, { 'last-event-id': later });
      await readTo(again, last, revisions);
      again.cancel();
    });
});
