import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { openInstance } from '../../src/app/open-instance.js';
import { openWhenReachable } from '../../src/app/wait-for-database.js';
import { noFiles } from '../support/no-files.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { silentLog } from '../support/stored-samples.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

/** More than the times that an attempt sends something. */
const manySteps = 200;

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server?.stop());

for (const [fate, firstStep] of [
  ['cut before', 1],
  ['cut after', 2],
] as const)
  it(`an attempt whose connections are lost at any step leaves no connection and no instance to the next one (${fate})`, async (test) => {
    const url = new URL(await server.newDatabase());
    const admin = new pg.Client(url.href);
    await admin.connect();
    const proxy = await startTcpProxy(Number(url.port));
    test.after(async () => {
      await admin.end();
      await proxy.stop();
    });
    url.port = String(proxy.port);
    const countOf = async (from: string): Promise<number> => Number((await admin.query(`select count(*) as n from ${from}`)).rows[0].n);
    const connections = `pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;

    for (let step: number = firstStep, attempts = 0; attempts !== 1; step += 2) {
      assert.ok(step < manySteps);
      let sent = 0;
      proxy.fateOf(() => {
        sent += 1;
        return sent >= step ? fate : 'pass';
      });
      attempts = 0;
      const options = { log: silentLog, instance: { version: '1.0.0', files: noFiles }, attempts: { record: null } };
      const opened = await openWhenReachable(
        url.href,
        async () => {
          attempts += 1;
          if (attempts === 2) {
            proxy.fateOf(() => 'pass');
            await waitFor(`the connections of step ${step} to end`, async () => ((await countOf(connections)) === 0 ? true : undefined));
          }
          return openInstance(url.href, options);
        },
        silentLog,
      );
      proxy.fateOf(() => 'pass');
      assert.equal(await countOf('instances where number > 1'), 1, `after step ${step} this instance alone is there`);
      await opened.store.close();
    }
  });
