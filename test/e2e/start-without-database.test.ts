import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { freePort } from '../../src/sandbox/free-port.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { createServiceHome, type LaunchedService, launchService } from '../support/service.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const waiting = '"msg":"the start waits for PostgreSQL, which cannot be reached; retrying"';

async function launch(test: TestContext, databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<LaunchedService> {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { DATABASE_URL: databaseUrl, ...env } });
  const service = launchService(home);
  test.after(async () => {
    await service.kill();
    await home.remove();
  });
  return service;
}

async function untilItWaits({ output }: LaunchedService): Promise<void> {
  await waitFor('the start to wait', async () => output().includes(waiting) || undefined);
}

it('serve ends with exit code 2 and the cause if the path of a SQLite database is wrong', async (test) => {
  const folder = await temporaryFolder();
  const text = join(folder, 'text');
  writeFileSync(text, 'no database, but long enough to have a header'.repeat(100));
  for (const [file, cause] of [
    ['/proc/none/relayer.db', /ENOENT: .* mkdir '\/proc\/none'/],
    ['/proc/none/below/relayer.db', /ENOENT: .* mkdir '\/proc\/none'/],
    ['/sys/relayer.db', /EACCES|EROFS|EPERM/],
    [folder, /it is a folder/],
    [text, /file is not a database/],
    [join(text, 'relayer.db'), /mkdir '.*text'/],
  ] as const) {
    const service = await launch(test, `sqlite:${file}`);
    assert.equal(await service.exited, 2, file);
    const [sentence = ''] = /^error: cannot open the database file .*$/m.exec(service.output()) ?? [];
    assert.match(sentence, cause, file);
  }
});

describe('serve without its PostgreSQL', () => {
  let postgres: TestPostgres;

  before(async () => {
    postgres = await startPostgres();
  });

  after(async () => {
    await postgres?.stop();
  });

  it('waits for a server that refuses connections, says so once, and starts when it is there', async (test) => {
    const databaseUrl = await postgres.newDatabase();
    await postgres.halt();
    const service = await launch(test, databaseUrl);
    await untilItWaits(service);
    await postgres.start();
    const { stop } = await service.listening;
    assert.equal(service.output().split(waiting).length, 2);
    assert.match(service.output(), /cannot connect to PostgreSQL at 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    assert.match(service.output(), /"msg":"PostgreSQL is reachable; the start goes on"/);
    assert.equal(await stop(), 0);
  });

  it('lives and is not ready while it waits, refuses calls over every protocol, and serves on the same port then', async (test) => {
    const databaseUrl = await postgres.newDatabase();
    await postgres.halt();
    const port = await freePort();
    const service = await launch(test, databaseUrl, { APP_PORT: String(port) });
    await untilItWaits(service);
    const baseUrl = `http://127.0.0.1:${port}`;
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${baseUrl}${path}`, init);
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const health = await waitFor('the service to say that it lives', () => ask('/api/v1/health').catch(() => undefined));
    assert.deepEqual([health.status, health.text], [200, 'OK']);
    const ready = await ask('/api/v1/ready');
    assert.deepEqual([ready.status, JSON.parse(ready.text).ready], [503, false]);
    assert.equal(JSON.parse(ready.text).components.service, 'starting: the database is not open yet');
    for (const init of [{}, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }]) {
      const { status, headers, text } = await ask('/api/v1/relayers', init);
      assert.deepEqual([status, headers.get('x-error-reason'), headers.get('retry-after')], [503, 'SERVICE_UNAVAILABLE', '1']);
      const { success, error } = JSON.parse(text);
      assert.deepEqual([success, error], [false, 'the service is starting: the database is not open yet; retry']);
    }
    for (const asker of rpcAskers(baseUrl)) {
      const answer = await asker.ask(RelayerService.method.listRelayers, {});
      asker.close();
      assert.ok(!answer.ok, asker.protocol);
      assert.deepEqual([answer.code, answer.info?.reason], ['Unavailable', 'SERVICE_UNAVAILABLE'], asker.protocol);
    }
    await postgres.start();
    await service.listening;
    assert.equal((await ask('/api/v1/ready')).status, 200);
    assert.equal((await ask('/api/v1/relayers')).status, 401);
  });

  it('waits for a server that ends each connection at once', async (test) => {
    const url = new URL(await postgres.newDatabase());
    const proxy = await startTcpProxy(Number(url.port));
    test.after(() => proxy.stop());
    proxy.fateOf(() => 'cut before');
    url.port = String(proxy.port);
    const service = await launch(test, url.href);
    await untilItWaits(service);
    proxy.fateOf(() => 'pass');
    assert.equal(await (await service.listening).stop(), 0);
  });

  it('waits for one of several servers', async (test) => {
    const url = new URL(await postgres.newDatabase());
    const away = await freePort();
    const several = url.href.replace(url.host, `127.0.0.1:${away},127.0.0.1:${url.port}`);
    await postgres.halt();
    const service = await launch(test, several);
    await untilItWaits(service);
    await postgres.start();
    assert.equal(await (await service.listening).stop(), 0);
  });

  it('ends at once by SIGTERM while it waits', async (test) => {
    const service = await launch(test, `postgres://postgres:postgres@127.0.0.1:${await freePort()}/relayer`);
    await untilItWaits(service);
    process.kill(service.pid, 'SIGTERM');
    assert.equal(await service.exited, 0);
  });

  it('ends with exit code 2 for a wrong password and for a database that does not exist', async (test) => {
    const url = await postgres.newDatabase();
    const wrong = await launch(test, url.replace('postgres:postgres@', 'postgres:other@'));
    assert.equal(await wrong.exited, 2);
    assert.match(wrong.output(), /error: cannot connect to PostgreSQL at .*: password authentication failed for user "postgres"/);
    const missing = await launch(test, url.replace(/\/relayer_\d+$/, '/none'));
    assert.equal(await missing.exited, 2);
    assert.match(missing.output(), /error: cannot connect to PostgreSQL at .*: database "none" does not exist/);
    assert.ok(![wrong, missing].some(({ output }) => output().includes(waiting)));
  });
});
