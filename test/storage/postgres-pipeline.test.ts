import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { createPipelines, type SentStep } from '../../src/storage/postgres/postgres-pipeline.js';
import { connectPostgresWriter, endConnection } from '../../src/storage/postgres/postgres-writer.js';
import type { SqlValue } from '../../src/storage/sql/statement.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { waitFor } from '../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const uniqueViolation = '23505';
const adminShutdown = '57P01';

/** A statement of these tests, named by its text. */
function sql(text: string, ...values: SqlValue[]): SentStep {
  return { statement: { name: text, sql: text }, values };
}

function insert(id: number, text: string | null = 'a text'): SentStep {
  return sql('insert into things (id, text) values ($1, $2)', id, text);
}

/** Connects as the store does to a new database with one table, and begins a transaction. */
async function begin(test: TestContext) {
  const databaseUrl = await server.newDatabase();
  const { writer, lost } = await connectPostgresWriter(databaseUrl);
  test.after(() => endConnection(writer));
  await writer.query('create table things (id bigint primary key, text text)');
  await writer.query('begin');
  return { databaseUrl, writer, lost, run: createPipelines(writer) };
}

async function things(writer: pg.Client): Promise<{ id: number; text: string | null }[]> {
  const { rows } = await writer.query<{ id: string; text: string | null }>('select id, text from things order by id');
  return rows.map(({ id, text }) => ({ id: Number(id), text }));
}

describe('a pipeline of statements on one connection', () => {
  it('runs the steps in order and counts the rows of each, of all kinds', async (test) => {
    const { writer, run } = await begin(test);
    const { rowCounts, error } = await run([
      sql('savepoint here'),
      insert(9_007_199_254_740_991, null),
      insert(2, "quote ' backslash \\ snowman ☃"),
      sql('update things set text = $1 where id > $2', 'both', 1),
      sql('delete from things where id = $1', 3),
      sql('delete from things where id = $1', 2),
      insert(2, ''),
    ]);
    assert.equal(error, null);
    assert.deepEqual(rowCounts, [0, 1, 1, 2, 0, 1, 1]);
    assert.deepEqual(await things(writer), [
      { id: 2, text: '' },
      { id: 9_007_199_254_740_991, text: 'both' },
    ]);
  });

  it('ends at the first step that fails: those after it do not run', async (test) => {
    const { writer, run } = await begin(test);
    await writer.query('savepoint before');
    const { rowCounts, error } = await run([insert(1), insert(2), insert(1), sql('delete from things'), insert(3)]);
    assert.deepEqual(rowCounts, [1, 1]);
    assert.ok(error instanceof pg.DatabaseError);
    assert.equal(error.code, uniqueViolation);
    await writer.query('rollback to savepoint before');
    assert.deepEqual(await things(writer), []);
  });

  it('steps that failed or were skipped, and so may not be prepared, run in the next pipeline', async (test) => {
    const { writer, run } = await begin(test);
    await writer.query('savepoint before');
    const update = sql('update things set text = $1', 'new');
    const wrong = sql('insert into things (id) values ($1::text::bigint)', 'no number');
    const first = await run([insert(1), wrong, update]);
    assert.deepEqual(first.rowCounts, [1]);
    await writer.query('rollback to savepoint before');
    const second = await run([insert(1), { ...wrong, values: ['5'] }, update, update]);
    assert.deepEqual(second, { rowCounts: [1, 1, 2, 2], error: null });
  });

  it('ends with the error if a value cannot be sent, and leaves nothing behind', async (test) => {
    const { writer, run } = await begin(test);
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const { rowCounts, error } = await run([sql('savepoint here', Object.create(null) as SqlValue), insert(1)]);
    assert.deepEqual(rowCounts, []);
    assert.ok(error instanceof TypeError);
    assert.equal(timers(), before);
    assert.deepEqual(await run([insert(1)]), { rowCounts: [1], error: null });
    assert.deepEqual(await things(writer), [{ id: 1, text: 'a text' }]);
  });

  it('ends with the error of a connection that is lost while a step runs', async (test) => {
    const { databaseUrl, lost, run } = await begin(test);
    const other = new pg.Client(databaseUrl);
    await other.connect();
    test.after(() => other.end());
    await other.query('begin');
    await other.query('lock table things in access exclusive mode');
    const running = run([sql('savepoint here'), insert(1), insert(2)]);
    const waiting = `select pid from pg_stat_activity where application_name = 'relayer' and wait_event_type = 'Lock'`;
    await waitFor('a statement that waits for the lock', async () => ((await other.query(waiting)).rowCount === 1 ? true : undefined));
    await other.query(`select pg_terminate_backend(pid) from (${waiting}) as found`);
    const { rowCounts, error } = await running;
    assert.deepEqual(rowCounts, [0]);
    assert.ok(error instanceof pg.DatabaseError);
    assert.equal(error.code, adminShutdown);
    await lost;
    const afterwards = await run([insert(3)]);
    assert.deepEqual(afterwards.rowCounts, []);
    assert.match(String(afterwards.error), /not queryable/);
  });
});
