import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPagesHandler } from '../../../src/api/http/pages-handler.js';
import { createServer } from '../../../src/api/http/server.js';
import { deferred } from '../../support/deferred.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

test('public pages: at most eight answers are made at a time, and the next comes when one has ended', async (test) => {
  const released = deferred();
  let begun = 0;
  const handler = createPagesHandler([
    {
      path: '/slow',
      scope: 'public',
      async render() {
        begun += 1;
        await released.promise;
        return { status: 200, contentType: 'text/plain', body: 'done' };
      },
    },
  ]);
  const server = createServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    handler,
    newRequestId: () => 'id',
    log: silentLog,
    shutdownDeadlineMs: 0,
  });
  test.after(() => server.stop());
  const { port } = await server.listen();
  const ask = () => fetch(`http://127.0.0.1:${port}/slow`);
  const first = Array.from({ length: 8 }, ask);
  await waitFor('eight to begin', async () => begun === 8 || undefined);
  const refused = await ask();
  assert.deepEqual([refused.status, await refused.text()], [503, 'busy: 8 answers are being written; retry\n']);
  assert.equal(begun, 8);
  released.resolve();
  for (const answer of await Promise.all(first)) assert.equal(await answer.text(), 'done');
  await waitFor('another answer', async () => ((await ask()).status === 200 ? true : undefined));
});
