import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { openInstance } from '../../src/app/open-instance.js';
import { openStore } from '../../src/storage/open-store.js';
import { type BoundChange, locksOf } from '../../src/storage/sql/bound-change.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { changePositionStatements } from '../../src/storage/statements/feed.js';
import { instanceStatements } from '../../src/storage/statements/instances.js';
import { noFiles } from '../support/no-files.js';
import { startPostgres } from '../support/postgres.js';
import { runSql, startPostgresPair } from '../support/postgres-pair.js';
import { aNotification, anAttempt, anEvent, aTransaction, next, sampleLane, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const batches = 2_000;
const transactions = 300;
/** A few pages more are by chance: where rows end, and what is read once. */
const fewPages = 8;

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
  await waitFor('its age to be seen', () => sharing.oldestSnapshot().ageMs > 0 || undefined);
  await write(batches);
  const last = await pages();
  assert.ok(last <= first + fewPages, `${first} pages at first, ${last} after ${batches} batches`);
  await waitFor('its transactions to be counted', () => sharing.oldestSnapshot().transactions >= batches || undefined);
  await snapshot.query('commit');
  await waitFor('it to be gone', () => sharing.oldestSnapshot().ageMs === 0 || undefined);
});

it('the commits of a transaction read no more pages beside a snapshot that was open for hundreds of transactions', async (test) => {
  const server = await startPostgres();
  test.after(() => server.stop());
  const databaseUrl = await server.newDatabase();
  const { store } = await openStore(databaseUrl, { log: silentLog });
  test.after(() => store.close());
  const { change } = store;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  test.after(() => client.end());
  const snapshot = new pg.Client({ connectionString: databaseUrl });
  await snapshot.connect();
  test.after(() => snapshot.end());
  const { lock } = changePositionStatements(postgres.builder);

  /** The lists of changes of a transaction from its acceptance to its end. */
  function life(nonce: bigint): BoundChange[][] {
    const accepted = aTransaction({ id: `${nonce}` });
    const signed = next(accepted, { status: 'submitted', nonce, liveVersion: 1 });
    const mined = next(signed, { status: 'mined' });
    const attempt = anAttempt({ transactionId: accepted.id, nonce, hash: `0x${nonce}` });
    const told = (revision: number) => change.insertEvent(anEvent({ id: `${nonce}-${revision}`, orderKey: accepted.id }));
    const lists = [
      [change.insertTransaction(accepted), told(1)],
      [change.moveLane(sampleLane, nonce, nonce + 1n), change.insertAttempt(attempt), change.updateTransaction(signed), told(2)],
      [change.updateTransaction(mined), told(3)],
      [change.updateTransaction(next(mined, { status: 'confirmed' })), told(4)],
      // Each transaction removes an earlier one.
      ...(nonce < 2n ? [] : [[change.removeTransaction({ ...accepted, id: `${nonce - 2n}` })]]),
    ];
    return lists as BoundChange[][];
  }

  // The store's statements are prepared, too, and keep their plans.
  await client.query('set plan_cache_mode = force_generic_plan');
  const prepared = new Set<string>();

  /** The pages that each statement of a life reads, by its name, in the order in which they run. */
  async function pagesOf(nonce: bigint): Promise<Map<string, number>> {
    const pages = new Map<string, number>();
    for (const list of life(nonce)) {
      const steps = [...locksOf([list], lock).values(), ...list.flatMap((one) => one.steps)];
      await client.query('begin');
      for (const { statement, values } of steps) {
        if (!prepared.has(statement.name)) await client.query(`prepare ${statement.name} as ${statement.sql}`);
        prepared.add(statement.name);
        const texts = values.map((value) => (typeof value === 'string' ? client.escapeLiteral(value) : `${value}`));
        const run = `execute ${statement.name}${texts.length === 0 ? '' : `(${texts.join(', ')})`}`;
        const explained = await client.query(`explain (analyze, buffers, format json) ${run}`);
        const { Plan: plan, Triggers: triggers } = explained.rows[0]['QUERY PLAN'][0];
        assert.deepEqual(
          triggers.filter((trigger: { 'Shared Hit Blocks'?: number }) => trigger['Shared Hit Blocks']),
          [],
        );
        pages.set(statement.name, (pages.get(statement.name) ?? 0) + plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
      }
      await client.query('commit');
    }
    return pages;
  }

  await store.commit([change.insertNotification(aNotification({ id: 'hook' })), change.openLane(sampleLane, 0n)]);
  let nonce = 0n;
  const write = async (count: number) => {
    for (const end = nonce + BigInt(count); nonce < end; nonce += 1n) for (const list of life(nonce)) await store.commit(list);
  };
  await write(10);
  await snapshot.query('begin transaction isolation level repeatable read; select count(*) from transactions');
  const first = await pagesOf(nonce);
  nonce += 1n;
  await write(transactions);
  const last = await pagesOf(nonce);
  const grown = [...last].filter(([name, pages]) => pages > 1.5 * (first.get(name) ?? 0) + fewPages);
  assert.deepEqual(grown, [], `at first: ${JSON.stringify([...first])}`);
});

it('a standby whose snapshot keeps dead rows at the primary is seen by the transactions since', async (test) => {
  const pair = await startPostgresPair();
  test.after(() => pair.stop());
  const { store, leases, sharing } = await openInstance(pair.url, { log: silentLog, instance: { version: '1.0.0', files: noFiles } });
  test.after(() => store.close());
  await leases.start();
  test.after(() => leases.stop());
  for (const sql of ['alter system set hot_standby_feedback = on', 'alter system set wal_receiver_status_interval = 1'])
    await runSql(pair.standbyUrl, sql);
  await runSql(pair.standbyUrl, 'select pg_reload_conf()');
  const snapshot = new pg.Client({ connectionString: pair.standbyUrl });
  await snapshot.connect();
  test.after(() => snapshot.end());
  await snapshot.query('begin transaction isolation level repeatable read; select count(*) from pg_class');
  const feedback = 'select 1 as is from pg_stat_replication where backend_xmin is not null';
  await waitFor('the primary to know of it', async () => (await runSql(pair.primaryUrl, feedback))[0]);
  for (let number = 0; number < transactions; number += 1) await store.commit([store.change.confirmTime(number)]);
  const { ageMs } = await waitFor('its transactions to be counted', () => {
    const oldest = sharing.oldestSnapshot();
    return oldest.transactions >= transactions ? oldest : undefined;
  });
  assert.equal(ageMs, 0);
});
