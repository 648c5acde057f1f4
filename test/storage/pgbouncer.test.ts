import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openInstance } from '../../src/app/open-instance.js';
import type { News } from '../../src/core/ports/news.js';
import { openStore } from '../../src/storage/open-store.js';
import { noFiles } from '../support/no-files.js';
import { skipWithoutPgbouncer, startPgbouncer } from '../support/pgbouncer.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

describe('PostgreSQL behind PgBouncer', { skip: skipWithoutPgbouncer }, () => {
  let server: TestPostgres;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  it('in session mode instances share the work, and hear of each other', async (test) => {
    const databaseUrl = await server.newDatabase();
    const { url, stop } = await startPgbouncer(databaseUrl, { pool_mode: 'session' });
    test.after(stop);
    const instance = { version: '1.0.0', files: noFiles };
    const [a, b] = [await openInstance(url, { log: silentLog, instance }), await openInstance(url, { log: silentLog, instance })];
    for (const { store, leases } of [a, b])
      test.after(async () => {
        await leases.stop();
        await store.close();
      });
    const heard: News[] = [];
    b.sharing.onNews((news) => heard.push(news));
    for (const { leases } of [a, b]) await leases.start();
    await waitFor('both to be seen', () => (a.sharing.instances().length === 2 ? true : undefined));
    await a.store.commit([a.store.change.insertTransaction(aTransaction({ id: '1' }))]);
    await waitFor('the news', () => (heard.some(({ relayers }) => relayers !== 'all' && relayers.has('relayer-1')) ? true : undefined));
    await assert.rejects(openStore(url, { log: silentLog }), /in use by process/);
  });

  it('in session mode a command works, and keeps others out', async (test) => {
    const { url, stop } = await startPgbouncer(await server.newDatabase(), { pool_mode: 'session' });
    test.after(stop);
    const { store } = await openStore(url, { log: silentLog });
    await store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]);
    assert.notEqual(await store.read.transaction('1'), undefined);
    await assert.rejects(openStore(url, { log: silentLog }), /in use by process/);
    await store.close();
    await (await openStore(url, { log: silentLog })).store.close();
  });

  for (const [name, settings] of Object.entries({
    'in transaction mode': {},
    'in transaction mode with connections that take turns': { server_round_robin: 1, min_pool_size: 5 },
    'in transaction mode with one connection': { default_pool_size: 1 },
  })) {
    it(`${name} the start is refused with what must be direct, and no lock is left behind`, async (test) => {
      const databaseUrl = await server.newDatabase();
      const { url, stop } = await startPgbouncer(databaseUrl, { pool_mode: 'transaction', ...settings });
      test.after(stop);
      for (const _ of [1, 2]) {
        await assert.rejects(
          openStore(url, { log: silentLog }),
          /DATABASE_URL leads through a pooler in transaction mode.*need direct connections/,
        );
      }
      await (await openStore(databaseUrl, { log: silentLog })).store.close();
    });
  }
});
