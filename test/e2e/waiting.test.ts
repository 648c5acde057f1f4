import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { restClient } from '../support/rest-client.js';
import { runs } from '../support/runs.js';
import { createServiceHome, startService } from '../support/service.js';

const isNightly = runs(1) > 1;
/** How many transactions wait, and the heap in megabytes: a fraction of what their data takes. The nightly run goes to the limit. */
const { count, heap } = isNightly ? { count: 10_000, heap: 512 } : { count: 320, heap: 96 };
/** As much as nodes take, of bytes that are not free. */
const data = `0x${'11'.repeat(128 * 1024 - 512)}`;
const atOnce = 8;

it('waiting transactions of 128 KB: the service runs, starts, lists and cancels in a small heap', { timeout: 3_600_000 }, async (test) => {
  const anvil = await startAnvil();
  // The account is empty, so that everything waits.
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { NODE_OPTIONS: `--max-old-space-size=${heap}` } });
  let service = await startService(home);
  test.after(async () => {
    await service.kill();
    await home.remove();
    await anvil.stop();
  });
  const rest = restClient(() => service.baseUrl);
  const send = () => rest('POST', '/relayers/r1/transactions', { to: `0x${'22'.repeat(20)}`, value: 1, data, gas_limit: 10_000_000 });
  const waiting = async (): Promise<number> => {
    const { status, body } = await rest('GET', '/relayers/r1/transactions?status=pending&per_page=2');
    assert.equal(status, 200);
    assert.equal(body.data[0].data, data);
    return body.pagination.total_items;
  };
  for (let sent = 0; sent < count; sent += atOnce) {
    const answers = await Promise.all(Array.from({ length: Math.min(atOnce, count - sent) }, send));
    for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body.error));
  }
  assert.equal(await waiting(), count);
  if (isNightly) {
    const { status, reason } = await send();
    assert.deepEqual([status, reason], [429, 'TOO_MANY_TRANSACTIONS']);
  }
  assert.equal(await service.stop(), 0);

  service = await startService(home);
  assert.equal(await waiting(), count);
  const [newest] = (await rest('GET', '/relayers/r1/transactions?per_page=1')).body.data;
  const canceled = await rest('DELETE', `/relayers/r1/transactions/${newest.id}`);
  assert.deepEqual([canceled.status, canceled.body.data.status], [200, 'canceled']);
  assert.equal((await send()).status, 200);
  const all = await rest('DELETE', '/relayers/r1/transactions/pending');
  assert.equal(all.status, 200, JSON.stringify(all.body));
  const left = await rest('GET', '/relayers/r1/transactions?status=pending');
  assert.equal(left.body.pagination.total_items, 0);
  assert.equal(await service.stop(), 0);
});
