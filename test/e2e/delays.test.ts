import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { startAppRig } from '../support/app-rig.js';
import { rest } from '../support/callers.js';
import { openEvents } from '../support/event-stream.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { apiKey, createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('delayed transactions', () => {
  it('delays: each is reported once, by webhook, stream, record and metric, also after SIGKILL, and again for another obstacle', async (t) => {
    const receiver = await startHttpReceiver(t, (response) => response.writeHead(204).end());
    const anvil = await startAnvil({ noMining: true });
    t.after(() => anvil.stop());
    const home = await createServiceHome({
      rpcUrl: anvil.url,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/hook') }],
      notificationId: 'hook',
      env: { DELAYED_AFTER_SECONDS: 'fast=1,safeLow=3600', WEBHOOK_RETRY_SECONDS: '0.05,3600' },
    });
    t.after(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    let service = await startService(home);
    t.after(() => service.stop());
    const watch = await openEvents(service.baseUrl, '/api/v1/relayers/r1/transactions/watch');
    const send = async (speed: string) =>
      (await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to, value: '1', speed })).body.data.id as string;
    const delaysOf = (id: string) =>
      receiver.requests
        .map(({ body }) => JSON.parse(body.toString()))
        .filter(({ event, payload }) => event === 'transaction_delayed' && payload.id === id);

    const [late, patient] = [await send('fast'), await send('safeLow')];
    const event = await waitFor('the event', () => delaysOf(late)[0], 30_000);
    assert.equal(event.payload.payload_type, 'transaction');
    assert.match(event.payload.status_reason, /^waiting: /);
    assert.ok(event.payload.delayed_at);
    for await (const { data } of watch.events) if (JSON.parse(data).id === late && JSON.parse(data).delayed_at) break;
    watch.cancel();
    const metrics = async () => (await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } })).text();
    assert.match(await metrics(), /relayer_transaction_delays_total\{relayer="r1"\} 1\n/);
    const listed = await rest(service.baseUrl, 'GET', '/notifications/hook/deliveries?per_page=100');
    assert.equal(listed.body.data.filter((one: { event: string }) => one.event === 'transaction_delayed').length, 1);

    await service.kill();
    service = await startService(home);
    // A later delay is reported by a later look, at which the first one is not reported again.
    const second = await send('fast');
    await waitFor('the event of the second', () => delaysOf(second)[0], 30_000);
    assert.equal(new Set(delaysOf(late).map(({ payload }) => payload.status_reason)).size, delaysOf(late).length, 'one for each obstacle');
    assert.deepEqual(delaysOf(patient), []);
    await anvil.mine(2);
    await waitFor('the end', async () => {
      const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${late}`);
      return body.data.status === 'confirmed' || undefined;
    });
  });

  it('delays: a lane of 2,000 that waits is reported in commits of many, and every transaction once', async (t) => {
    const rig = await startAppRig({ env: { DELAYED_AFTER_SECONDS: 'fast=1', RATE_LIMIT_REQUESTS_PER_SECOND: '0' } });
    t.after(() => rig.stop());
    const transactions = Array.from({ length: 100 }, () => ({ to, value: 1 }));
    for (let sent = 0; sent < 2_000; sent += 100) {
      const { status, text } = await rig.ask('POST', '/api/v1/relayers/r1/transactions/batch', { body: JSON.stringify({ transactions }) });
      assert.equal(status, 200, text.slice(0, 300));
    }
    const figure = async (name: string) => {
      const { text } = await rig.ask('GET', '/metrics');
      return Number(new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    };
    const delays = () => figure('relayer_transaction_delays_total{relayer="r1"}');
    const before = await figure('relayer_commits_total{result="written"}');
    await waitFor('all to be reported', async () => ((await delays()) >= 2_000 ? true : undefined), 60_000);
    const commits = (await figure('relayer_commits_total{result="written"}')) - before;
    t.diagnostic(`${await delays()} delays in at most ${commits} commits`);
    assert.ok(commits < 200, `${commits} commits`);
  });
});
