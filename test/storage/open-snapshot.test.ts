import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { openInstance } from '../../src/app/open-instance.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { instanceStatements } from '../../src/storage/statements/instances.js';
import { noFiles } from '../support/no-files.js';
import { startPostgres } from '../support/postgres.js';
import { silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const batches = 2_000;

it('the beginning of a batch reads no more pages beside a snapshot that was open for thousands of batches', async (test) => {
  const server = await startPostgres();
  test.after(() => server.stop());
  const databaseUrl = await server.newDatabase();
  const { store, leases, sharing } = await openInstance(databaseUrl, {
    log: silentLog,
    instance: { version: '1.0.0', files: noFiles },
  });
  test.after(() => store.close());
  await leases.start();
  test.after(() => leases.stop());
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  test.after(() => client.end());
  const snapshot = new pg.Client({ connectionString: databaseUrl });
  await snapshot.connect();
  test.after(() => snapshot.end());

  /** The pages that the statement of the last batch would read now. */
  async function pages(): Promise<number> {
    const { rows } = await client.query(
      `select number, token, backend_pid, backend_started, (select max(batch) from batches where number = instances.number) as before from instances where number > 1`,
    );
    const { sql, bind } = instanceStatements(postgres).beginBatch;
    const values = bind({ ...rows[0], batch: 1_000_000 });
    await client.query('begin');
    const explained = await client.query(`explain (analyze, buffers, format json) ${sql}`, values);
    await client.query('rollback');
    const plan = explained.rows[0]['QUERY PLAN'][0].Plan;
    assert.equal(plan['Node Type'], 'ModifyTable');
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }

  const write = async (count: number) => {
    for (let number = 0; number < count; number += 1) await store.commit([store.change.confirmTime(number)]);
  };
  await write(10);
  const first = await pages();
  await snapshot.query('begin transaction isolation level repeatable read; select count(*) from instances');
  await waitFor('its age to be seen', () => sharing.oldestSnapshotMs() > 0 || undefined);
  await write(batches);
  const last = await pages();
  assert.ok(last <= first + 8, `${first} pages at first, ${last} after ${batches} batches`);
  await snapshot.query('commit');
  await waitFor('it to be gone', () => sharing.oldestSnapshotMs() === 0 || undefined);
});
