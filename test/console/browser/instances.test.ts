import { it } from 'node:test';
import { skipWithoutChromium, startChromium } from '../../support/chromium.js';
import { openConsole } from '../../support/console-page.js';
import { startConsoleRig } from '../../support/console-rig.js';
import { startPostgres } from '../../support/postgres.js';

it('the page of instances warns of a database that can lose answered commits', { skip: skipWithoutChromium }, async (test) => {
  // It runs without fsync.
  const postgres = await startPostgres();
  test.after(() => postgres.stop());
  const rig = await startConsoleRig({ env: { DATABASE_URL: await postgres.newDatabase() } });
  test.after(() => rig.stop());
  const browser = await startChromium();
  test.after(() => browser.close());
  const { page, visit } = await openConsole(browser, { baseUrl: rig.baseUrl, key: rig.keys.all });
  await visit({ location: '#/instances', loaded: () => page.getByText(/^fsync is off: a crash of the database server loses commits/) });
});
