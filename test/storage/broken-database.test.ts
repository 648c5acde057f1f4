import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { StoreBrokenError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { openStore } from '../../src/storage/open-store.js';
import { conflictKeys } from '../../src/storage/postgres/postgres-batch.js';
import { sequencedTables } from '../../src/storage/sql/schema.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { aNotification, aTransaction, silentLog } from '../support/stored-samples.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function asAdmin<R extends object>(databaseUrl: string, sql: string): Promise<readonly R[]> {
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  const { rows } = await admin.query<R>(sql);
  await admin.end();
  return rows;
}

interface Opened {
  readonly store: Store;
  readonly databaseUrl: string;
  /** The messages of logged errors, with their causes. */
  readonly errors: readonly string[];
  insert(id: string): Promise<void>;
}

async function opened(test: TestContext): Promise<Opened> {
  const databaseUrl = await server.newDatabase();
  const errors: string[] = [];
  const log = {
    ...silentLog,
    error: (fields: object, message: string) => void errors.push(`${message}: ${(fields as { err?: Error }).err?.message}`),
  };
  const { store } = await openStore(databaseUrl, { log });
  test.after(() => store.close());
  return { store, databaseUrl, errors, insert: (id) => store.commit([store.change.insertTransaction(aTransaction({ id }))]) };
}

/** Sets the sequence of a table back to its start, as logical replication leaves it. */
function restart(databaseUrl: string, table: string): Promise<unknown> {
  return asAdmin(databaseUrl, `select setval(pg_get_serial_sequence('${table}', 'seq'), 1, false)`);
}

describe('a database that rejects valid statements', () => {
  it('a sequence behind its table is no conflict: the store is broken, and an error names the constraint once', async (test) => {
    const { store, databaseUrl, errors, insert } = await opened(test);
    for (const id of ['1', '2', '3']) await insert(id);
    await restart(databaseUrl, 'transactions');
    for (const id of ['4', '5']) await assert.rejects(insert(id), (error) => error instanceof StoreBrokenError);
    // What needs no new row still works, and the store does not count as working because of that.
    await store.commit([store.change.confirmTime(1)]);
    await assert.rejects(store.checkWorking(), /transactions_pkey/);
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', /the database is broken.*transactions_pkey/);
    await assert.rejects(store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]), StoreBrokenError);
    // The sequence has passed the rows.
    await insert('6');
    await assert.rejects(insert('6'), /conflict in insertTransaction/);
  });

  it('a missing constraint fails only the lists that need it, and is named', async (test) => {
    const { store, databaseUrl, errors, insert } = await opened(test);
    await asAdmin(databaseUrl, 'alter table definitions drop constraint definitions_key');
    const definition = { kind: 'network', id: 'n', content: {}, sealed: null } as const;
    const outcomes = await Promise.allSettled([insert('1'), store.commit([store.change.putDefinition(definition)]), insert('2')]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason instanceof StoreBrokenError : 'done')),
      ['done', true, 'done'],
    );
    await assert.rejects(store.checkWorking(), StoreBrokenError);
    assert.match(errors.join(), /ON CONFLICT/);
  });

  for (const [code, words] of [
    ['53100', 'full'],
    ['25006', 'read-only'],
  ] as const)
    it(`a ${words} database is broken, with an error line, and works again at once when it accepts writes`, async (test) => {
      const { store, databaseUrl, errors, insert } = await opened(test);
      await asAdmin(
        databaseUrl,
        `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused' using errcode = '${code}'; end $$;
         create trigger refusing before insert on transactions for each row execute function refuse()`,
      );
      await assert.rejects(insert('1'), (error) => error instanceof StoreBrokenError);
      assert.match(errors.join(), /the database is broken.*refused/);
      await asAdmin(databaseUrl, 'drop trigger refusing on transactions');
      await insert('1');
      await store.checkWorking();
    });

  it('does not start with a sequence behind its table, and states what to run', async (test) => {
    const { store, databaseUrl, insert } = await opened(test);
    await insert('1');
    await insert('2');
    await store.commit([store.change.insertNotification(aNotification({ id: 'n' }))]);
    await store.close();
    for (const table of ['transactions', 'notifications']) await restart(databaseUrl, table);
    const refusal: Error = await openStore(databaseUrl, { log: silentLog }).then(
      async (wrongly) => {
        await wrongly.store.close();
        return assert.fail('it opened');
      },
      (error) => error,
    );
    const statements = [...refusal.message.matchAll(/select setval\('[^']+', \d+\);/g)].map(([found]) => found);
    assert.deepEqual(statements, ["select setval('public.transactions_seq_seq', 2);", "select setval('public.notifications_seq_seq', 1);"]);
    await asAdmin(databaseUrl, statements.join(' '));
    const again = await openStore(databaseUrl, { log: silentLog });
    test.after(() => again.store.close());
    await again.store.commit([again.store.change.insertTransaction(aTransaction({ id: '3' }))]);
  });

  it('every unique constraint of the schema is the key of a sequence, or means a conflict', async (test) => {
    const { databaseUrl } = await opened(test);
    const found = await asAdmin<{ name: string }>(
      databaseUrl,
      `select relname as name from pg_index join pg_class on pg_class.oid = indexrelid
       where indisunique and relnamespace = 'public'::regnamespace and relname not like 'kysely%'`,
    );
    const expected = [...conflictKeys, ...sequencedTables.map((table) => `${table}_pkey`)];
    assert.deepEqual(found.map(({ name }) => name).sort(), expected.sort());
    const sequences = await asAdmin<{ name: string }>(
      databaseUrl,
      `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'seq'`,
    );
    assert.deepEqual(sequences.map(({ name }) => name).sort(), [...sequencedTables].sort());
  });
});
