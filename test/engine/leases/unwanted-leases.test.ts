import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import pg from 'pg';
import { openInstance } from '../../../src/app/open-instance.js';
import type { Work } from '../../../src/core/ports/leases.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** The units that an instance works on now, and those whose work began, in order. */
interface Member {
  readonly worked: ReadonlySet<string>;
  readonly begun: readonly string[];
}

async function startMember(test: TestContext, databaseUrl: string, keys: readonly string[]): Promise<Member> {
  const { store, leases } = await openInstance(databaseUrl, { log: silentLog, instance: { version: '1', files: noFiles } });
  test.after(async () => {
    await leases.stop();
    await store.close();
  });
  const worked = new Set<string>();
  const begun: string[] = [];
  const workOn = (key: string): Work => ({
    begin: async () => {
      worked.add(key);
      begun.push(key);
    },
    end: async () => void worked.delete(key),
  });
  await leases.add('lane', new Map(keys.map((key) => [key, workOn(key)])));
  await leases.start();
  return { worked, begun };
}

it('a lease that changed while every notification was lost is seen all the same', async (test) => {
  const databaseUrl = await server.newDatabase();
  const { worked, begun } = await startMember(test, databaseUrl, ['a', 'b']);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  test.after(() => client.end());
  await client.query("update leases set holder = null where key = 'b'");
  // Its work ends, since the lease is not this instance's, and begins again when it has taken the lease.
  await waitFor('the work to begin again', () => (begun.filter((key) => key === 'b').length > 1 ? true : undefined));
  assert.deepEqual([...worked].sort(), ['a', 'b']);
  assert.equal(begun.filter((key) => key === 'a').length, 1);
});

it('work that only one instance can do is done, also beyond its share', async (test) => {
  const databaseUrl = await server.newDatabase();
  const keys = ['a', 'b', 'c', 'd'];
  const { worked: able } = await startMember(test, databaseUrl, keys);
  assert.equal(able.size, 4);
  // It takes part, and knows nothing of the others: it could not open their signers, or learns of them later.
  const { worked: unable } = await startMember(test, databaseUrl, ['a']);
  // A lease that is given up as more than a share is free for a moment.
  await waitFor('the other instance to be seen', () => (able.size < keys.length ? true : undefined));
  await waitFor('all work to be done', () => (new Set([...able, ...unable]).size === keys.length ? true : undefined));
  // What was left over stays, whenever the leases are read.
  const isAnyIdle = () => (new Set([...able, ...unable]).size < keys.length ? true : undefined);
  await assert.rejects(waitFor('work to be given up again', isAnyIdle, 12_000), /in vain/);
});
