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

/** The revision of a file by its content. */
const revisions: Readonly<Record<string, number>> = { older: 1, newer: 2, other: 2 };

/** An instance with a configuration file of this content, and one unit of work. */
async function join(test: TestContext, url: string, file: string) {
  const files = { hashes: new Map([['config.json', file]]), revision: revisions[file] ?? 0 };
  const opened = await openInstance(url, { log: silentLog, instance: { version: file, files } });
  const { leases, sharing, store, lost } = opened;
  let hasLeft = false;
  const leave = async () => {
    if (hasLeft) return;
    hasLeft = true;
    await leases.stop().catch(() => undefined);
    await store.close();
  };
  const state = { sharing, leave, isWorking: false, lost: null as Error | null };
  void lost.then((error) => {
    state.lost = error;
  });
  test.after(leave);
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
  it('an instance that hangs does not keep one with newer files from starting, and ends when it comes back', async (test) => {
    const { databaseUrl, proxy, through } = await proxied(test);
    const older = await join(test, through, 'older');
    proxy.hang();
    const newer = await join(test, databaseUrl, 'newer');
    await waitFor('the new one to take over', async () => (newer.isWorking ? true : undefined), 30_000);
    proxy.heal();
    proxy.cut();
    const error = await waitFor('the older one to end', async () => older.lost ?? undefined, 30_000);
    assert.match(error.message, /^another instance works with newer configuration files, of revision 2; these differ: config\.json;/);
    assert.deepEqual(await versionsOf(databaseUrl), ['newer']);
    assert.deepEqual([older.isWorking, newer.isWorking, newer.lost], [false, true, null]);
  });

  it('an instance with newer files takes over the work of those with older ones, which change nothing any more', async (test) => {
    const databaseUrl = await server.newDatabase();
    const older = await join(test, databaseUrl, 'older');
    const other = await join(test, databaseUrl, 'older');
    assert.equal(older.sharing.superseded(), null);
    const newer = await join(test, databaseUrl, 'newer');
    await waitFor('the new one to take over', async () => (newer.isWorking && !older.isWorking && !other.isWorking ? true : undefined));
    for (const one of [older, other]) {
      const reason = await waitFor('it to know', async () => one.sharing.superseded() ?? undefined);
      assert.match(reason, /^another instance works with newer configuration files, of revision 2; these differ: config\.json;/);
      assert.equal(one.sharing.ownHold(), reason);
      assert.equal(one.lost, null);
    }
    assert.deepEqual([newer.sharing.superseded(), newer.sharing.ownHold()], [null, null]);
    const another = await join(test, databaseUrl, 'newer');
    assert.deepEqual([another.sharing.superseded(), another.sharing.ownHold()], [null, null]);
  });

  for (const [name, revision] of [
    ['older', 1],
    ['other', 2],
    ['unknown', 0],
  ] as const)
    it(`files of revision ${revision} that differ do not replace those of revision 2 (${name})`, async (test) => {
      const databaseUrl = await server.newDatabase();
      const newer = await join(test, databaseUrl, 'newer');
      await assert.rejects(join(test, databaseUrl, name), {
        message: `other instances work with other configuration files of revision 2, and these have revision ${revision}; these differ: config.json; start it with their files, or to replace theirs set "revision" in the configuration file to 3 or more`,
      });
      assert.deepEqual([newer.isWorking, newer.sharing.superseded(), newer.lost], [true, null, null]);
      // No instance is left whose files these could replace.
      await newer.leave();
      const alone = await join(test, databaseUrl, name);
      assert.deepEqual([alone.isWorking, alone.sharing.superseded()], [true, null]);
    });

  for (const end of ['stop', 'hang', 'drain'] as const)
    it(`instances with older files work again after the last one with newer files is gone (${end})`, async (test) => {
      const { databaseUrl, proxy, through } = await proxied(test);
      const older = await join(test, databaseUrl, 'older');
      const newer = await join(test, through, 'newer');
      await waitFor('the new one to take over', async () => (newer.isWorking && older.sharing.superseded() !== null ? true : undefined));
      const stateOf = async () => (await listPostgresInstances(databaseUrl)).map(({ version, state }) => `${version} ${state}`).sort();
      assert.deepEqual(await stateOf(), ['newer sharing', 'older draining']);
      if (end === 'stop') await newer.leave();
      if (end === 'hang') proxy.hang();
      if (end === 'drain') await older.sharing.drain(newer.sharing.ownId(), false);
      await waitFor('the older one to work', async () => (older.isWorking && older.sharing.ownHold() === null ? true : undefined), 15_000);
      assert.deepEqual([older.sharing.superseded(), older.lost], [null, null]);
      assert.ok((await stateOf()).includes('older sharing'));
      proxy.heal();
    });

  it('an instance that a caller has drained stays so after those with newer files are gone', async (test) => {
    const databaseUrl = await server.newDatabase();
    const drained = await join(test, databaseUrl, 'older');
    const other = await join(test, databaseUrl, 'older');
    await other.sharing.drain(drained.sharing.ownId(), false);
    const newer = await join(test, databaseUrl, 'newer');
    await waitFor('the others to hand over', async () => other.sharing.superseded() ?? undefined);
    await newer.leave();
    await waitFor('the other one to work', async () => (other.isWorking ? true : undefined));
    assert.equal(drained.isWorking, false);
    assert.equal(drained.sharing.instances().find(({ id }) => id === drained.sharing.ownId())?.state, 'draining');
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

async function versionsOf(databaseUrl: string): Promise<readonly string[]> {
  return (await listPostgresInstances(databaseUrl)).map(({ version }) => version);
}

/** The server's process for the connection with which the only instance commits. */
async function backendOf(databaseUrl: string): Promise<number | undefined> {
  return (await runSql<{ backend_pid: number }>(databaseUrl, 'select backend_pid from instances where number > 1'))[0]?.backend_pid;
}
