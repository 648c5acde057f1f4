import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseEther } from 'ethers';
import { obstacleKind } from '../../src/core/transaction/delays.js';
import { listPostgresInstances } from '../../src/storage/postgres/postgres-instances.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const count = 200;

for (const strike of ['SIGKILL', 'SIGSTOP'] as const)
  it(`delays: of two instances, one is struck by ${strike} while it reports: each obstacle is reported once`, async (test) => {
    const [anvil, postgres] = await Promise.all([startAnvil({ noMining: true }), startPostgres()]);
    test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
    const databaseUrl = await postgres.newDatabase();
    /** The obstacles that events report, by transaction and event: a delivery may be repeated. */
    const told = new Map<string, Map<string, string>>();
    /** The process with the lane; `isStruck` when it has been struck. */
    const holder = { pid: 0, isStruck: false };
    const receiver = await startHttpReceiver(test, (response, { body }) => {
      const { id, event, payload } = JSON.parse(body.toString());
      if (event === 'transaction_delayed') {
        const events = told.get(payload.id) ?? new Map<string, string>();
        told.set(payload.id, events.set(id, obstacleKind(payload.status_reason)));
        // The first report has just been committed; the other commits of the look are under way.
        if (!holder.isStruck) process.kill(holder.pid, strike);
        holder.isStruck = true;
      }
      response.writeHead(204).end();
    });
    const home = await createServiceHome({
      rpcUrl: anvil.url,
      policies: { max_in_flight: 20 },
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/hook') }],
      notificationId: 'hook',
      env: { DATABASE_URL: databaseUrl, DELAYED_AFTER_SECONDS: 'fast=15', WEBHOOK_RETRY_SECONDS: Array<string>(100).fill('0.5').join() },
    });
    test.after(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const instances = await startInstances(home, 2);
    test.after(() => instances.stop());
    holder.pid = await waitFor(
      'one to hold the lane',
      async () => (await listPostgresInstances(databaseUrl)).find(({ lanes }) => lanes === 1)?.pid,
    );
    for (let sent = 0; sent < count; sent += 100) {
      const transactions = Array.from({ length: 100 }, () => ({ to, value: 1, speed: 'fast' }));
      const { baseUrl } = instances.all[(sent / 100) % 2] ?? assert.fail();
      const { status, text } = await rest(baseUrl, 'POST', '/relayers/r1/transactions/batch', { transactions });
      assert.equal(status, 200, text.slice(0, 300));
    }
    await waitFor('the strike', () => holder.isStruck || undefined, 120_000);
    await waitFor('every transaction to be reported', () => (told.size === count ? true : undefined), 180_000);
    if (strike === 'SIGSTOP') process.kill(holder.pid, 'SIGCONT');
    await waitFor(
      'both to be ready',
      async () => ((await Promise.all(instances.all.map((one) => one.isReady()))).every(Boolean) ? true : undefined),
      120_000,
    );
    // The one that was stopped would report at its next look, every five seconds.
    await waitFor(
      'all to be mined',
      async () => {
        await anvil.mine();
        const { body } = await rest((await instances.ready()).baseUrl, 'GET', '/relayers/r1/transactions?per_page=1&status=confirmed');
        return body.pagination?.total_items === count || undefined;
      },
      180_000,
    );
    for (const [id, events] of told) {
      const kinds = [...events.values()];
      assert.equal(new Set(kinds).size, kinds.length, `${id}: ${kinds.join(' | ')}`);
    }
  });
