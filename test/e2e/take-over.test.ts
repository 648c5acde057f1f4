import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../src/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { openStore } from '../../src/storage/open-store.js';
import { createServiceHome } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';

/** The processor time of this process so far. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

it('a standby does most of the work of its start before it has the database', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const { settings, config } = await loadConfiguration(home.env);
  const beganMs = processorMs();
  let waitedFromMs = 0;
  let openedMs = 0;
  const app = await startApp({ ...settings, standby: true }, config, silentLog, {
    async openStore(...args) {
      waitedFromMs = processorMs();
      const opened = await openStore(...args);
      openedMs = processorMs();
      return opened;
    },
  });
  test.after(() => app.stop());
  const [before, after] = [waitedFromMs - beganMs, processorMs() - openedMs];
  test.diagnostic(`${Math.round(before)} ms of processor time before, ${Math.round(after)} ms after`);
  assert.ok(before > after, `${before} ms before, ${after} ms after`);
});
