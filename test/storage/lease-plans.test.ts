import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { openStore } from '../../src/storage/open-store.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import type { Statement } from '../../src/storage/sql/statement.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { silentLog } from '../support/stored-samples.js';

const { leases } = compileStatements(postgres);
const units = { kind: 'lane', keys: JSON.stringify(Array.from({ length: 1_000 }, (_, index) => `key-${index}`)) } as const;

let server: TestPostgres;
let client: pg.Client;
before(async () => {
  server = await startPostgres();
  const databaseUrl = await server.newDatabase();
  const { store } = await openStore(databaseUrl, { log: silentLog });
  await store.close();
  client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(leases.insertMissing.sql, [...leases.insertMissing.bind(units)]);
});
after(async () => {
  await client?.end();
  await server?.stop();
});

async function planOf<P extends object>(statement: Statement<P, never>, values: P): Promise<string> {
  const { rows } = await client.query(`explain ${statement.sql}`, [...statement.bind(values)]);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

for (const [name, plan] of [
  ['take', () => planOf(leases.take, { ...units, holder: 1 })],
  ['give', () => planOf(leases.give, { ...units, holder: 1 })],
  ['dropOthers', () => planOf(leases.dropOthers, units)],
] as const) {
  it(`leases: ${name} hashes the keys before the table has statistics, so its cost does not grow with the square of their number`, async () => {
    const text = await plan();
    assert.match(text, /hashed SubPlan/);
    assert.doesNotMatch(text, /Nested Loop/);
  });
}
