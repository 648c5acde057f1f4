import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const payment = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };

describe('finding transactions', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  let path: string;

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
    path = `/relayers/${home.relayerId}/transactions`;
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const send = (body: object) => rest(service.baseUrl, 'POST', path, { ...payment, ...body });

  async function idsWith(query: string): Promise<string[]> {
    const { status, text, body } = await rest(service.baseUrl, 'GET', `${path}?${query}`);
    assert.equal(status, 200, text);
    assert.equal(body.pagination.total_items, body.data.length);
    return body.data.map(({ id }: { id: string }) => id);
  }

  it('find: by external id, label, hash, nonce and time, in REST and RPC, and in each combination', async () => {
    const labels = [
      { key: 'customer', value: '42' },
      { key: 'shop', value: 'Tea & more: 1' },
    ];
    const first = await send({ external_id: 'order-1', labels });
    assert.equal(first.status, 200, first.text);
    assert.deepEqual([first.body.data.external_id, first.body.data.labels], ['order-1', labels]);
    const second = await send({ labels: labels.slice(0, 1) });
    assert.deepEqual(['external_id' in second.body.data, second.body.data.labels], [false, labels.slice(0, 1)]);
    const plain = await send({});
    assert.equal('labels' in plain.body.data, false);
    const [one, two, three] = [first, second, plain].map(({ body }) => body.data.id as string) as [string, string, string];
    const mined = async (id: string) =>
      waitFor(`${id} to be mined`, async () => {
        const { body } = await rest(service.baseUrl, 'GET', `${path}/${id}`);
        return ['mined', 'confirmed'].includes(body.data.status) ? body.data : undefined;
      });
    const [minedOne, minedThree] = [await mined(one), await mined(three)];
    assert.deepEqual([minedOne.external_id, minedOne.labels], ['order-1', labels]);
    const { created_at: created } = minedOne;
    const later = new Date(Date.parse(minedThree.created_at) + 1).toISOString();
    for (const [query, ids] of [
      ['external_id=order-1', [one]],
      ['external_id=order-2', []],
      ['label=customer:42', [two, one]],
      [`label=${encodeURIComponent('shop:Tea & more: 1')}`, [one]],
      ['label=customer:4', []],
      [`hash=${minedOne.hash}`, [one]],
      [`hash=${minedOne.hash.slice(2).toUpperCase()}`, [one]],
      [`hash=0x${'00'.repeat(32)}`, []],
      [`nonce=${minedThree.nonce}`, [three]],
      ['nonce=1000000', []],
      [`created_after=${created}&created_before=${later}`, [three, two, one]],
      [`created_before=${created}`, []],
      [`created_after=${later}`, []],
      [`label=customer:42&external_id=order-1&hash=${minedOne.hash}&nonce=${minedOne.nonce}&status=mined&status=confirmed`, [one]],
      ['external_id=order-1&status=failed', []],
      [`external_id=order-1&hash=${minedThree.hash}`, []],
      ['label=customer:42&status=failed', []],
    ] as const)
      assert.deepEqual(await idsWith(query), ids, query);
    for (const caller of callers) {
      const listed = async (filter: object) => {
        const answer = await caller.call('TransactionService', 'ListTransactions', { relayer_id: home.relayerId, ...filter });
        assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
        return answer.response as { transactions: { id: string; external_id?: string }[]; next_page_token: string };
      };
      const page = await listed({ label: 'customer:42', page_size: 1 });
      assert.deepEqual(
        page.transactions.map(({ id }) => id),
        [two],
        caller.protocol,
      );
      const next = await listed({ label: 'customer:42', page_size: 1, page_token: page.next_page_token });
      assert.deepEqual(
        next.transactions.map(({ id, external_id }) => [id, external_id]),
        [[one, 'order-1']],
      );
      assert.deepEqual(
        (await listed({ external_id: 'order-1' })).transactions.map(({ id }) => id),
        [one],
      );
    }
  });

  it('find: a second send with an external id is a 409 that names the first, on every protocol, and stores nothing', async () => {
    const { body } = await send({ external_id: 'taken' });
    const { id } = body.data;
    const sentence = `external_id taken belongs to transaction ${id}; an external_id is never used twice`;
    const again = await send({ external_id: 'taken', value: 2 });
    assert.deepEqual([again.status, again.body.error, again.body.message], [409, sentence, 'Conflict']);
    assert.equal(again.headers.get('x-error-reason'), 'EXTERNAL_ID_TAKEN');
    for (const caller of callers) {
      const request = { relayer_id: home.relayerId, evm: { ...payment, value: '1' }, external_id: 'taken' };
      const answer = await caller.call('TransactionService', 'SendTransaction', request);
      assert.deepEqual(answer, { ok: false, code: 'ALREADY_EXISTS', message: sentence }, caller.protocol);
    }
    assert.deepEqual(await idsWith('external_id=taken'), [id]);
  });

  it('find: wrong names and filters are a 400 that names them', async () => {
    const label = { key: 'a', value: 'b' };
    for (const [wrong, words] of [
      [{ external_id: '' }, 'external_id must be 1 to 128 visible ASCII characters'],
      [{ external_id: 'a b' }, 'external_id must be 1 to 128 visible ASCII characters'],
      [{ external_id: 'x'.repeat(129) }, 'external_id must be 1 to 128 visible ASCII characters'],
      [{ labels: [label, label] }, 'labels[1].key is a, which labels have already'],
      [{ labels: [{ key: 'a:b', value: 'c' }] }, 'labels[0].key must be 1 to 63 characters'],
      [{ labels: [{ key: 'a' }] }, 'labels[0].value is required'],
      [{ labels: Array.from({ length: 9 }, (_, at) => ({ ...label, key: `k${at}` })) }, 'labels must have at most 8 items; it has 9'],
    ] as const) {
      const refused = await send(wrong);
      assert.equal(refused.status, 400, JSON.stringify(wrong));
      assert.ok(refused.body.error.includes(words), refused.text);
    }
    for (const [query, words] of [
      ['hash=0x12', 'hash must be 64 hex digits'],
      ['label=customer', 'label must be a key and a value'],
      ['nonce=-1', 'nonce'],
      ['created_after=yesterday', 'created_after'],
    ] as const) {
      const refused = await rest(service.baseUrl, 'GET', `${path}?${query}`);
      assert.equal(refused.status, 400, query);
      assert.ok(refused.body.error.includes(words), refused.text);
    }
  });
});

it('find: 100 sends at once with one external id over three instances are one transaction', async (test) => {
  const [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
  const instances = await startInstances(home, 3);
  test.after(async () => {
    await instances.stop();
    await home.remove();
  });
  const path = `/relayers/${home.relayerId}/transactions`;
  const urlAt = (index: number) => instances.all[index % 3]?.baseUrl ?? assert.fail();
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => rest(urlAt(index), 'POST', path, { ...payment, external_id: 'once' })),
  );
  const accepted = answers.filter(({ status }) => status === 200);
  assert.equal(accepted.length, 1, answers.map(({ status }) => status).join());
  const { id } = accepted[0]?.body.data ?? assert.fail();
  const refused = answers.filter(({ status }) => status === 409);
  assert.equal(
    refused.length,
    99,
    answers.map(({ text }) => text).find((text) => !text.includes('EXTERNAL') && !text.includes(id)),
  );
  assert.ok(refused.every(({ body }) => body.error.includes(id)));
  for (const index of [0, 1, 2]) assert.equal((await rest(urlAt(index), 'GET', path)).body.pagination.total_items, 1);
});
