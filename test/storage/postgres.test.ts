import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import { openStore } from '../../src/storage/open-store.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { rowFromTransaction } from '../../src/storage/statements/transaction-rows.js';
import { deliveryPageContract } from '../contracts/delivery-page.contract.js';
import { findContract } from '../contracts/find.contract.js';
import { laneViewContract } from '../contracts/lane-view.contract.js';
import { migrationContract } from '../contracts/migration.contract.js';
import { removalContract } from '../contracts/removal.contract.js';
import { rotationContract } from '../contracts/rotation.contract.js';
import { storeContract } from '../contracts/store.contract.js';
import { watchContract } from '../contracts/watch.contract.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { programFile } from '../support/program-file.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

storeContract('postgres', () => server.newDatabase());
removalContract('postgres', () => server.newDatabase());
rotationContract('postgres', () => server.newDatabase());
watchContract('postgres', () => server.newDatabase());
findContract('postgres', () => server.newDatabase());
deliveryPageContract('postgres', async () => {
  const databaseUrl = await server.newDatabase();
  return {
    databaseUrl,
    run: async (sql) => {
      await asAdmin(databaseUrl, sql);
    },
  };
});

laneViewContract(postgres, async () => {
  const databaseUrl = await server.newDatabase();
  return {
    databaseUrl,
    run: async (sql) => void (await asAdmin(databaseUrl, sql)),
    planOf: async (statement, values) =>
      (await asAdmin(databaseUrl, `explain ${statement.sql}`, statement.bind(values))).map((row) => row['QUERY PLAN']).join('\n'),
  };
});

migrationContract(postgres, async () => {
  const databaseUrl = await server.newDatabase();
  return {
    databaseUrl,
    run: async (sql) => {
      await asAdmin(databaseUrl, sql);
    },
    schema: async () => (await asAdmin(databaseUrl, schemaQuery)).map(({ text }) => String(text)),
  };
});

const schemaQuery = `
  select concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) as text
    from information_schema.columns where table_schema = 'public' and table_name not like 'kysely%'
  union all select indexdef from pg_indexes where schemaname = 'public' and tablename not like 'kysely%'
  order by 1`;

async function asAdmin(databaseUrl: string, sql: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  const { rows } = await admin.query<Record<string, unknown>>(sql, [...values]);
  await admin.end();
  return rows;
}

describe('postgres only', () => {
  test('a command prints no warning of the driver', async () => {
    const databaseUrl = await server.newDatabase();
    await (await openStore(databaseUrl, { log: silentLog })).store.close();
    const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [programFile, 'restore', '--yes'], { env });
    assert.equal(stderr, '');
    assert.match(stdout, /^waiting transactions, now failed: 0;/);
  });

  test('a failed commit rejects every list of its batch, and the next batch is written', async () => {
    const databaseUrl = await server.newDatabase();
    const { store } = await openStore(databaseUrl, { log: silentLog });
    await asAdmin(
      databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create constraint trigger late after insert on transactions deferrable initially deferred
       for each row when (new.id = 'late') execute function refuse()`,
    );
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    const results = await Promise.allSettled(['one', 'late', 'two'].map(insert));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    assert.equal(await store.read.transaction('one'), undefined);
    await insert('one');
    assert.notEqual(await store.read.transaction('one'), undefined);
    await store.close();
  });

  test('a missing table rejects only the lists that need it, and the store recovers when it is back', async () => {
    const databaseUrl = await server.newDatabase();
    const { store } = await openStore(databaseUrl, { log: silentLog });
    const commitBoth = () =>
      Promise.allSettled([
        store.commit([store.change.openLane({ chain: 'evm:1', account: '0xA' }, 0n)]),
        store.commit([store.change.insertChain('evm:1', '0x01')]),
      ]);
    await asAdmin(databaseUrl, 'alter table chains rename to elsewhere');
    assert.deepEqual(
      (await commitBoth()).map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.equal(await store.read.nextNonce({ chain: 'evm:1', account: '0xA' }), 0n);
    await asAdmin(databaseUrl, 'alter table elsewhere rename to chains');
    assert.deepEqual(
      (await commitBoth()).map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    );
    await store.close();
  });

  test('an unreachable server and a wrong encoding are reported without the password', async () => {
    const databaseUrl = await server.newDatabase();
    const unreachable = new URL(databaseUrl);
    unreachable.port = '1';
    unreachable.password = 'secret-word';
    await assert.rejects(openStore(unreachable.href, { log: silentLog }), {
      message: /^cannot connect to PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/,
    });
    await asAdmin(databaseUrl, "create database latin encoding 'LATIN1' template template0");
    const latin = new URL(databaseUrl);
    latin.pathname = '/latin';
    await assert.rejects(openStore(latin.href, { log: silentLog }), /has encoding LATIN1; create one with encoding UTF8/);
  });

  test('two writers take positions in the order in which their commits become visible', async () => {
    const databaseUrl = await server.newDatabase();
    const { store } = await openStore(databaseUrl, { log: silentLog });
    const statements = compileStatements(postgres);
    const lock = { text: statements.changePositions.lock.sql, values: statements.changePositions.lock.bind({ relayer_id: 'r' }) };
    const insert = (id: string) => {
      const row = { ...rowFromTransaction(aTransaction({ id, relayerId: 'r' }), null, null), receiver: null };
      return { text: statements.transactions.insert.sql, values: statements.transactions.insert.bind(row) };
    };
    const [early, late] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
    await Promise.all([early.connect(), late.connect()]);
    try {
      await early.query('begin');
      await early.query(lock);
      await early.query(insert('first'));
      await late.query('begin');
      const locked = late.query(lock);
      await waitFor('the second writer to wait for the first', async () => {
        const waiting = await asAdmin(databaseUrl, 'select 1 from pg_locks where not granted');
        return waiting.length > 0 ? true : undefined;
      });
      await early.query('commit');
      await locked;
      await late.query(insert('second'));
      await late.query('commit');
      assert.deepEqual(
        (await store.read.changesOfRelayer('r', 0, 10)).map(({ id, position }) => [id, position]),
        [
          ['first', 1],
          ['second', 2],
        ],
      );
      assert.equal((await store.read.changePositions('r')).last, 2);
    } finally {
      await Promise.all([early.end(), late.end()]);
      await store.close();
    }
  });

  test('a lock that is held for too long, a full server and a refused password reject with StoreAwayError, and a value that cannot be stored does not', async () => {
    const databaseUrl = await server.newDatabase();
    const { store } = await openStore(databaseUrl, { log: silentLog });
    const insert = (statusReason: string) => store.commit([store.change.insertTransaction(aTransaction({ id: 'one', statusReason }))]);
    for (const code of ['55P03', '57014', '53100', '25006', '28P01', '3D000']) {
      await asAdmin(
        databaseUrl,
        `create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'refused' using errcode = '${code}'; end $$;
         create or replace trigger early before insert on transactions for each row execute function refuse()`,
      );
      await assert.rejects(insert('a'), StoreAwayError, code);
    }
    await asAdmin(databaseUrl, 'drop trigger early on transactions');
    await assert.rejects(insert('zero \u0000 byte'), (error) => !(error instanceof StoreAwayError));
    await store.close();
  });

  test('a text that PostgreSQL cannot store fails only its own list', async () => {
    const { store } = await openStore(await server.newDatabase(), { log: silentLog });
    const insert = (id: string, statusReason: string) => store.commit([store.change.insertTransaction(aTransaction({ id, statusReason }))]);
    const results = await Promise.allSettled([insert('one', 'a'), insert('two', 'zero \u0000 byte'), insert('three', 'c')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    await store.close();
  });
});
