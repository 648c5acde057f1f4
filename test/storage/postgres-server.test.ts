import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { ConflictError, StoreAwayError } from '../../src/core/ports/store/change.js';
import { openStore } from '../../src/storage/open-store.js';
import { createPostgresBatch } from '../../src/storage/postgres/postgres-batch.js';
import { connectPostgresWriter } from '../../src/storage/postgres/postgres-writer.js';
import { BoundChange, step } from '../../src/storage/sql/bound-change.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements, createChanges } from '../../src/storage/statements/all-statements.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { migrationNames } from '../support/released-migrations.js';
import { aNotification, aTransaction, silentLog } from '../support/stored-samples.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function connect(test: TestContext, databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  test.after(() => client.end());
  return client;
}

describe('PostgreSQL as operators configure it', () => {
  it('an idle service stays connected, whatever the idle_session_timeout of the database', async (test) => {
    const databaseUrl = await server.newDatabase();
    const admin = await connect(test, databaseUrl);
    await admin.query(`do $$ begin execute format('alter database %I set idle_session_timeout = 300', current_database()); end $$`);
    const { store } = await openStore(databaseUrl, { log: silentLog });
    test.after(() => store.close());
    await store.read.confirmedTimeMs();
    const other = new pg.Client(databaseUrl);
    const ended = new Promise((resolve) => other.on('error', resolve));
    await other.connect();
    await ended;
    await store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]);
    assert.notEqual(await store.read.transaction('1'), undefined);
  });

  it('commits wait for the disk and for a synchronous standby, whatever the synchronous_commit of the database', async (test) => {
    for (const [setting, used] of [
      ['local', 'on'],
      ['remote_write', 'on'],
      ['off', 'on'],
      ['remote_apply', 'remote_apply'],
    ] as const) {
      const databaseUrl = await server.newDatabase();
      const admin = await connect(test, databaseUrl);
      await admin.query(`do $$ begin execute format('alter database %I set synchronous_commit = ${setting}', current_database()); end $$`);
      const { writer } = await connectPostgresWriter(databaseUrl);
      test.after(() => writer.end());
      assert.deepEqual((await writer.query('show synchronous_commit')).rows, [{ synchronous_commit: used }]);
    }
  });

  for (const [feature, definition] of [
    ['advisory locks', 'pg_try_advisory_lock(integer, integer) returns boolean language sql as $f$ select true $f$'],
    ['notifications', 'pg_notify(text, text) returns void language sql as $f$ select $f$'],
  ])
    it(`a database whose ${feature} have no effect is refused at the start, with what it lacks`, async (test) => {
      const databaseUrl = await server.newDatabase();
      const admin = await connect(test, databaseUrl);
      await admin.query(`create schema fake; create function fake.${definition}`);
      await admin.query(
        `do $$ begin execute format('alter database %I set search_path = public, fake, pg_catalog', current_database()); end $$`,
      );
      await assert.rejects(openStore(databaseUrl, { log: silentLog }), (error: Error) =>
        new RegExp(`^the database lacks ${feature}.*: they have no effect; the service needs PostgreSQL$`).test(error.message),
      );
    });

  it('a locked table fails the commit, not the process, and the next commit after it succeeds', async (test) => {
    const databaseUrl = await server.newDatabase();
    const { store, lost } = await openStore(databaseUrl, { log: silentLog });
    test.after(() => store.close());
    let isLost = false;
    void lost.then(() => {
      isLost = true;
    });
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    const other = await connect(test, databaseUrl);
    await other.query('begin');
    await other.query('lock table transactions in access exclusive mode');
    await assert.rejects(insert('1'), StoreAwayError);
    await other.query('rollback');
    await insert('2');
    assert.equal(isLost, false);
    assert.equal(await store.read.transaction('1'), undefined);
  });

  it('two schemas of one database hold two services, each with its own migrations, beside another application with the same migrator', async (test) => {
    const databaseUrl = await server.newDatabase();
    const admin = await connect(test, databaseUrl);
    await admin.query('create table kysely_migration (name text primary key, timestamp text not null)');
    await admin.query("insert into kysely_migration values ('0001-of-another-application', '')");
    await admin.query('create table kysely_migration_lock (id text primary key, is_locked integer not null default 0)');
    await admin.query("insert into kysely_migration_lock values ('migration_lock', 1)");
    await admin.query('create schema one; create schema two');
    const urls = ['one', 'two'].map((schema) => `${databaseUrl}?options=${encodeURIComponent(`-c search_path=${schema}`)}`);
    const stores = [];
    for (const url of urls) {
      const { store, migrations } = await openStore(url, { log: silentLog });
      test.after(() => store.close());
      assert.deepEqual(migrations, migrationNames);
      stores.push(store);
    }
    await stores[0]?.commit([stores[0].change.insertTransaction(aTransaction({ id: '1' }))]);
    assert.equal(await stores[1]?.read.transaction('1'), undefined);
  });

  it('a server that shows neither its log nor its identity to the user of the service works', async (test) => {
    const databaseUrl = await server.newDatabase();
    const admin = await connect(test, databaseUrl);
    await admin.query(`create role plain login password 'plain'; grant all on schema public to plain`);
    await admin.query('revoke execute on function pg_walfile_name(pg_lsn), pg_control_system() from public');
    const url = new URL(databaseUrl);
    url.username = 'plain';
    url.password = 'plain';
    for (let start = 0; start < 2; start += 1) {
      const { store } = await openStore(url.href, { log: silentLog });
      await store.commit([store.change.insertTransaction(aTransaction({ id: String(start) }))]);
      await store.close();
    }
  });

  it('a search_path without a schema is named as the problem', async () => {
    const databaseUrl = await server.newDatabase();
    const url = `${databaseUrl}?options=${encodeURIComponent('-c search_path=nowhere')}`;
    await assert.rejects(openStore(url, { log: silentLog }), /the search_path .*nowhere.* names no schema that exists; create the schema/);
  });

  it('a batch in which most lists conflict takes three transactions, and writes every other list', async (test) => {
    const databaseUrl = await server.newDatabase();
    const { store } = await openStore(databaseUrl, { log: silentLog });
    await store.commit([store.change.insertNotification(aNotification({ id: 'taken' }))]);
    await store.close();
    const { writer } = await connectPostgresWriter(databaseUrl);
    test.after(() => writer.end());
    let begun = 0;
    writer.connection.on('commandComplete', ({ text }: { readonly text: string }) => {
      if (text === 'BEGIN') begun += 1;
    });
    const statements = compileStatements(postgres);
    const change = createChanges(statements);
    const conflicting = change.insertNotification(aNotification({ id: 'taken' })) as BoundChange;
    const written = (id: string) => [change.insertNotification(aNotification({ id })) as BoundChange];
    const wrong = new BoundChange('checkWorking', [step(statements.instances.touch, { number: 1, checked_at_ms: Number.NaN })]);
    const lists = [written('first'), ...Array.from({ length: 254 }, () => [conflicting]), [wrong], written('last')];
    const outcomes = await createPostgresBatch(writer)(lists, null);
    assert.equal(begun, 3);
    assert.equal(outcomes.filter((outcome) => outcome instanceof ConflictError).length, 254);
    assert.deepEqual([outcomes[0], outcomes.at(-1)], [undefined, undefined]);
    assert.ok(outcomes[255] instanceof pg.DatabaseError);
    const { rows } = await writer.query('select id from notifications order by seq');
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['taken', 'first', 'last'],
    );
  });
});
