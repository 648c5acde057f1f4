import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { openInstance } from '../../../src/app/open-instance.js';
import { openStore } from '../../../src/storage/open-store.js';
import { listPostgresInstances } from '../../../src/storage/postgres/postgres-instances.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { runSql } from '../../support/postgres-pair.js';
import { silentLog } from '../../support/stored-samples.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const unit = 'evm:1/0x1';

/** An instance with a configuration file of this content, and one unit of work. */
async function join(test: TestContext, url: string, file: string) {
  const opened = await openInstance(url, { log: silentLog, instance: { version: file, configHashes: new Map([['config.json', file]]) } });
  const { leases, store, lost } = opened;
  const state = { isWorking: false, lost: null as Error | null };
  void lost.then((error) => {
    state.lost = error;
  });
  test.after(async () => {
    await leases.stop().catch(() => undefined);
    await store.close();
  });
  const begin = async () => {
    state.isWorking = true;
  };
  const end = async () => {
    state.isWorking = false;
  };
  await leases.add('lane', new Map([[unit, { begin, end }]]));
  await leases.start();
  return state;
}

/** The database behind a proxy. */
async function proxied(test: TestContext) {
  const databaseUrl = await server.newDatabase();
  const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
  test.after(() => proxy.stop());
  const through = new URL(databaseUrl);
  through.port = String(proxy.port);
  return { databaseUrl, proxy, through: through.href };
}

describe('the conditions of a start', () => {
  it('an instance that hangs does not keep one with another file from starting, and ends when it comes back', async (test) => {
    const { databaseUrl, proxy, through } = await proxied(test);
    const older = await join(test, through, 'older');
    proxy.hang();
    const newer = await join(test, databaseUrl, 'newer');
    assert.deepEqual(
      (await listPostgresInstances(databaseUrl)).map(({ version }) => version),
      ['newer'],
    );
    await waitFor('the new one to take over', async () => (newer.isWorking ? true : undefined), 30_000);
    proxy.heal();
    proxy.cut();
    const error = await waitFor('the older one to end', async () => older.lost ?? undefined, 30_000);
    assert.match(error.message, /^instance \d+ .* uses the same database with other configuration files; these differ: config\.json;/);
    assert.deepEqual(
      (await listPostgresInstances(databaseUrl)).map(({ version }) => version),
      ['newer'],
    );
    assert.deepEqual([older.isWorking, newer.isWorking, newer.lost], [false, true, null]);
  });

  it('an instance that works keeps one with another file from starting', async (test) => {
    const databaseUrl = await server.newDatabase();
    const older = await join(test, databaseUrl, 'older');
    await assert.rejects(
      join(test, databaseUrl, 'newer'),
      /uses the same database with other configuration files; these differ: config\.json;/,
    );
    assert.deepEqual([older.isWorking, older.lost], [true, null]);
  });

  for (const [what, sql, reason] of [
    [
      'another version migrated',
      `insert into kysely_migration (name, timestamp) values ('0099-later', '')`,
      /another version has migrated .* 0099-later/,
    ],
    ['another encryption key replaced', `update database_secret set sealed = 'other'`, /the encryption key of the database was replaced/],
  ] as const)
    it(`an instance that comes back to a database that ${what} ends`, async (test) => {
      const { databaseUrl, proxy, through } = await proxied(test);
      await (await openStore(databaseUrl, { log: silentLog })).store.close();
      await runSql(databaseUrl, `insert into database_secret (number, sealed) values (1, 'sealed')`);
      const one = await join(test, through, 'same');
      // A return to the same database changes nothing.
      const before = await backendOf(databaseUrl);
      proxy.cut();
      await waitFor('it to return', async () => ((await backendOf(databaseUrl)) === before ? undefined : true));
      assert.deepEqual([one.lost, one.isWorking], [null, true]);
      await runSql(databaseUrl, sql);
      proxy.cut();
      assert.match((await waitFor('it to end', async () => one.lost ?? undefined)).message, reason);
    });
});

/** The server's process for the connection with which the only instance commits. */
async function backendOf(databaseUrl: string): Promise<number | undefined> {
  return (await runSql<{ backend_pid: number }>(databaseUrl, 'select backend_pid from instances where number > 1'))[0]?.backend_pid;
}
