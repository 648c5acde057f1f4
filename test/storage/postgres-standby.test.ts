import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { type OpenedStore, openStore } from '../../src/storage/open-store.js';
import { listPostgresInstances } from '../../src/storage/postgres/postgres-instances.js';
import { endHolder, takePostgresLock } from '../../src/storage/postgres/postgres-lock.js';
import { StandbyEndedError } from '../../src/storage/standby-ended-error.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** A store that stands by. */
interface Standby {
  readonly opened: Promise<OpenedStore>;
  /** Resolves when it has seen that another process uses the database. */
  readonly waits: Promise<void>;
  readonly isOpen: () => boolean;
  readonly end: () => void;
}

function standBy(test: TestContext, databaseUrl: string, version = '1.0.0'): Standby {
  const ending = new AbortController();
  let isOpen = false;
  let onWait = () => {};
  const waits = new Promise<void>((resolve) => {
    onWait = resolve;
  });
  const opened = openStore(databaseUrl, { log: silentLog, standby: { signal: ending.signal, onWait }, version });
  opened.then(
    ({ store }) => {
      isOpen = true;
      test.after(() => store.close());
    },
    () => undefined,
  );
  test.after(() => ending.abort());
  return { opened, waits, isOpen: () => isOpen, end: () => ending.abort() };
}

async function runSql<R extends object>(databaseUrl: string, sql: string): Promise<readonly R[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<R>(sql)).rows;
  } finally {
    await client.end();
  }
}

const send = ({ store }: OpenedStore, id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);

describe('a standby on PostgreSQL', () => {
  it('waits while another process uses the database, and takes over at once what that one releases', async (test) => {
    const databaseUrl = await server.newDatabase();
    const active = await openStore(databaseUrl, { log: silentLog });
    const standby = standBy(test, databaseUrl);
    await standby.waits;
    await send(active, 'one');
    assert.equal(standby.isOpen(), false);
    await active.store.close();
    const { store } = await standby.opened;
    assert.equal((await store.read.transaction('one'))?.transaction.id, 'one');
  });

  it('opens a new database without waiting', async (test) => {
    const { store } = await standBy(test, await server.newDatabase()).opened;
    await store.checkWorking();
  });

  it('leaves the database to an owner whose connections are cut, which connects again', async (test) => {
    const databaseUrl = await server.newDatabase();
    const active = await openStore(databaseUrl, { log: silentLog });
    test.after(() => active.store.close());
    const standby = standBy(test, databaseUrl);
    await standby.waits;
    for (let cut = 0; cut < 5; cut += 1) {
      await runSql(databaseUrl, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'relayer'`);
      await waitFor('the owner to write again', () =>
        send(active, `cut-${cut}`).then(
          () => true,
          () => undefined,
        ),
      );
    }
    assert.equal(standby.isOpen(), false);
  });

  it('ends the connection of an owner that is silent, and takes over', async (test) => {
    const databaseUrl = await server.newDatabase();
    const active = await openStore(databaseUrl, { log: silentLog });
    await active.store.close();
    // It holds the lock as a process that was stopped does: its connection is there, and sends nothing.
    const silent = new pg.Client({ connectionString: databaseUrl });
    silent.on('error', () => undefined);
    await silent.connect();
    await silent.query(
      `select pg_advisory_lock(classid::int, objid::int) from (select 1919249012 as classid, hashtext('public') as objid) as lock`,
    );
    const { store } = await standBy(test, databaseUrl).opened;
    await store.checkWorking();
    await assert.rejects(silent.query('select 1'));
  });

  it('never ends the connection of an owner for which the server works', async (test) => {
    const databaseUrl = await server.newDatabase();
    const busy = await takePostgresLock(databaseUrl);
    const standby = standBy(test, databaseUrl);
    await standby.waits;
    // Longer than a silent owner has.
    await busy.writer.query('select pg_sleep(8)');
    assert.equal(standby.isOpen(), false);
    await busy.writer.end();
    await standby.opened;
  });

  it('ends no connection that holds the lock of another schema, which a pooler may have given to another client', async () => {
    const databaseUrl = await server.newDatabase();
    const earlier = await takePostgresLock(databaseUrl);
    await earlier.writer.query('select pg_advisory_unlock_all()');
    await earlier.writer.query(`select pg_advisory_lock(1919249012, hashtext('another'))`);
    const next = await takePostgresLock(databaseUrl, { replaces: earlier.backend });
    await earlier.writer.query('select 1');
    await endHolder(next.writer, next.schema, earlier.backend);
    await earlier.writer.query('select 1');
    await endHolder(next.writer, 'another', earlier.backend);
    await assert.rejects(earlier.writer.query('select 1'));
    await next.writer.end();
  });

  it('survives a restart of the server', async (test) => {
    const databaseUrl = await server.newDatabase();
    const active = await openStore(databaseUrl, { log: silentLog });
    const standby = standBy(test, databaseUrl);
    await standby.waits;
    await server.halt();
    await server.start();
    await waitFor('the owner or the standby to write', async () => {
      const owner = standby.isOpen() ? await standby.opened : active;
      return send(owner, 'after').then(
        () => true,
        () => undefined,
      );
    });
    await active.store.close();
    const { store } = await standby.opened;
    assert.equal((await store.read.transaction('after'))?.transaction.id, 'after');
  });

  it('is listed behind the active instance, with its version, host and process id, until it takes over; other schemas have lists of their own', async (test) => {
    const databaseUrl = await server.newDatabase();
    assert.deepEqual(await listPostgresInstances(databaseUrl), []);
    const beforeMs = Date.now();
    const active = await openStore(databaseUrl, { log: silentLog, version: '1.2.3' });
    const standby = standBy(test, databaseUrl, '1.2.4-rc.1');
    await standby.waits;
    const listed = await listPostgresInstances(databaseUrl);
    const here = { host: hostname(), pid: process.pid };
    assert.deepEqual(
      listed.map(({ isActive, version, host, pid }) => ({ isActive, version, host, pid })),
      [
        { isActive: true, version: '1.2.3', ...here },
        { isActive: false, version: '1.2.4-rc.1', ...here },
      ],
    );
    for (const { sinceMs, seenAtMs } of listed) {
      assert.ok(sinceMs >= beforeMs && sinceMs <= Date.now(), String(sinceMs));
      assert.ok(seenAtMs >= beforeMs && seenAtMs <= Date.now(), String(seenAtMs));
    }
    await runSql(databaseUrl, 'create schema other');
    const other = new URL(databaseUrl);
    other.searchParams.set('options', '-c search_path=other');
    assert.deepEqual(await listPostgresInstances(other.href), []);
    // The name survives a lost connection.
    await runSql(databaseUrl, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'relayer 1.2.3%'`);
    await waitFor('the owner to connect again', async () =>
      (await listPostgresInstances(databaseUrl))[0]?.version === '1.2.3' ? true : undefined,
    );
    await active.store.close();
    await standby.opened;
    const versions = async () => (await listPostgresInstances(databaseUrl)).map(({ isActive, version }) => `${isActive} ${version}`);
    await waitFor('one to be left', async () => ((await versions()).length === 1 ? true : undefined));
    assert.deepEqual(await versions(), ['true 1.2.4-rc.1']);
  });

  it('ends its wait when it is told to', async (test) => {
    const databaseUrl = await server.newDatabase();
    const active = await openStore(databaseUrl, { log: silentLog });
    test.after(() => active.store.close());
    const standby = standBy(test, databaseUrl);
    await standby.waits;
    standby.end();
    await assert.rejects(standby.opened, StandbyEndedError);
  });
});
