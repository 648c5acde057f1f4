import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../src/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { compileApi } from '../../src/open-api.js';
import { openStore } from '../../src/storage/open-store.js';
import { createServiceHome } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';

it('a standby compiles the API once, before it has the database', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const { settings, config } = await loadConfiguration(home.env);
  const steps: string[] = [];
  const app = await startApp({ ...settings, standby: true }, config, silentLog, {
    compileApi() {
      steps.push('compiles the API');
      return compileApi();
    },
    openStore(...args) {
      steps.push('waits for the database');
      return openStore(...args);
    },
  });
  test.after(() => app.stop());
  assert.deepEqual(steps, ['compiles the API', 'waits for the database']);
});
