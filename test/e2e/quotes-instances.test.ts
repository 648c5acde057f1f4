import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

it('quote: the instance that runs the lane and the other one answer the same about what is ahead', async (test) => {
  const [anvil, postgres] = await Promise.all([startAnvil({ noMining: true }), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const home = await createServiceHome({
    rpcUrl: anvil.url,
    policies: { max_in_flight: 3 },
    env: { DATABASE_URL: await postgres.newDatabase() },
  });
  test.after(() => home.remove());
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  const instances = await startInstances(home, 2);
  test.after(() => instances.stop());
  const path = `/relayers/${home.relayerId}/transactions`;
  const askAll = async (verb: string, at: string, body?: object) =>
    Promise.all(
      instances.all.map(async ({ baseUrl }) => {
        const { status, body: answer, text } = await rest(baseUrl, verb, `${path}${at}`, body);
        assert.equal(status, 200, text);
        return answer.data;
      }),
    );
  const quotes = () => askAll('POST', '/quote', { to, value: 1, external_id: 'order-2' });

  const values = [1, 2, 3, 4, 5];
  for (const value of values) {
    const url = instances.all[value % 2]?.baseUrl ?? assert.fail();
    const sent = await rest(url, 'POST', path, { to, value, external_id: `order-${value}` });
    assert.equal(sent.status, 200, sent.text);
  }
  const submitted = await waitFor('three to be in flight, and two to wait for them', async () => {
    const [records] = await askAll('GET', '?per_page=100&status=submitted');
    return records.length === 3 ? records : undefined;
  });
  let reserved = 0n;
  for (const { id, value } of submitted) {
    const [[attempt]] = await askAll('GET', `/${id}/attempts`);
    reserved += BigInt(value) + BigInt(attempt.gas_limit) * BigInt(attempt.max_fee_per_gas);
  }
  for (const quote of await quotes()) {
    assert.deepEqual([quote.transactions_ahead, quote.funds.reserved, quote.funds.sufficient], [5, String(reserved), true]);
    assert.deepEqual(
      quote.refusals.map(({ reason }: { reason: string }) => reason),
      ['EXTERNAL_ID_TAKEN'],
    );
  }

  await instances.all[0]?.process().kill();
  await waitFor('both to be ready again', async () =>
    (await Promise.all(instances.all.map((one) => one.isReady()))).every(Boolean) ? true : undefined,
  );
  for (const quote of await quotes()) assert.deepEqual([quote.transactions_ahead, quote.funds.reserved], [5, String(reserved)]);
  await waitFor('all to be mined', async () => {
    await anvil.mine();
    const [records] = await askAll('GET', '?per_page=100&status=confirmed');
    return records.length === values.length ? true : undefined;
  });
  for (const quote of await quotes()) assert.deepEqual([quote.transactions_ahead, quote.funds.reserved], [0, '0']);
});
