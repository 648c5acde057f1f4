import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { addRelayers } from '../support/more-relayers.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const [alice, bob] = ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'];

it('find: a list across relayers shows what its key may see, on each of two instances and on every protocol', async (test) => {
  const [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
  const relayers = (await addRelayers(home, 2)).map(({ id }) => id) as [string, string, string];
  const instances = await startInstances(home, 2);
  test.after(async () => {
    await instances.stop();
    await home.remove();
  });
  const urlAt = (index: number) => instances.all[index % 2]?.baseUrl ?? assert.fail();
  const ask = async (index: number, method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const answer = await rest(urlAt(index), method, path, body, headers);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const keyOf = async (body: object): Promise<Record<string, string>> => {
    const { data } = await ask(0, 'POST', '/api-keys', { name: 'some', ...body });
    return { authorization: `Bearer ${data.key}` };
  };
  const send = async (at: number, body: object): Promise<string> =>
    (await ask(at, 'POST', `/relayers/${relayers[at % 3]}/transactions`, { value: 1, ...body })).data.id;
  const sent: string[] = [];
  for (let at = 0; at < 9; at += 1)
    sent.push(await send(at, { to: at % 2 === 0 ? alice : bob, external_id: `order-${Math.floor(at / 3)}` }));
  const newestFirst = sent.toReversed();
  const list = async (query: string, headers?: Record<string, string>) => {
    const found = await Promise.all(
      instances.all.map((_, index) => ask(index, 'GET', `/transactions?per_page=20${query}`, undefined, headers)),
    );
    const ids = found.map(({ data }) => data.map(({ id }: { id: string }) => id) as string[]);
    assert.deepEqual(ids[0], ids[1], 'both instances show the same');
    return ids[0] ?? [];
  };

  assert.deepEqual(await list(''), newestFirst);
  assert.deepEqual(await list('&external_id=order-1'), sent.slice(3, 6).toReversed());
  assert.deepEqual(
    await list(`&to=${alice}`),
    newestFirst.filter((id) => sent.indexOf(id) % 2 === 0),
  );
  assert.deepEqual(await list(`&to=${bob?.toLowerCase()}&external_id=order-2`), [sent[7]]);
  const page = await ask(1, 'GET', '/transactions?per_page=4&page=2');
  assert.deepEqual([page.data.map(({ id }: { id: string }) => id), page.pagination.total_items], [newestFirst.slice(4, 8), 8]);

  const readsSecond = await keyOf({ scopes: ['transactions:read'], relayer_ids: [relayers[1]] });
  const readsNone = await keyOf({ scopes: ['transactions:read'], relayer_ids: ['other'] });
  const signs = await keyOf({ scopes: ['sign'] });
  await waitFor(
    'the second instance to know the keys',
    async () => (await rest(urlAt(1), 'GET', '/caller', undefined, signs)).status === 200 || undefined,
  );
  assert.deepEqual(
    await list('', readsSecond),
    newestFirst.filter((id) => sent.indexOf(id) % 3 === 1),
  );
  assert.deepEqual(await list('&external_id=order-1', readsSecond), [sent[4]]);
  assert.deepEqual(await list('', readsNone), []);
  assert.equal((await rest(urlAt(0), 'GET', '/transactions', undefined, signs)).status, 403);
  for (const query of ['to=0x12', 'relayer_id=r1', 'status=done', 'page=0'])
    assert.equal((await rest(urlAt(0), 'GET', `/transactions?${query}`)).status, 400, query);

  for (const caller of rpcCallers(urlAt(1))) {
    test.after(() => caller.close());
    const read = async (request: object) => {
      const answer = await caller.call('TransactionService', 'FindTransactions', request);
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      return answer.response as { transactions: { id: string }[]; next_page_token: string };
    };
    const ids: string[] = [];
    for (let token = '', pages = 0; pages === 0 || token !== ''; pages += 1) {
      const next = await read({ page_size: 4, page_token: token });
      ids.push(...next.transactions.map(({ id }) => id));
      token = next.next_page_token ?? '';
    }
    assert.deepEqual(ids, newestFirst, caller.protocol);
  }
  const foreign = Buffer.from(sent[0] ?? '').toString('base64url');
  const refused = await fetch(`${urlAt(0)}/relayer.v1.TransactionService/FindTransactions`, {
    method: 'POST',
    headers: { ...readsSecond, 'content-type': 'application/json' },
    body: JSON.stringify({ page_token: foreign }),
  });
  assert.equal(refused.status, 400, 'a token of a relayer that the key may not see');

  // A paused relayer is listed, replaced content is found, and a deleted relayer is not listed.
  await ask(0, 'PATCH', `/relayers/${relayers[0]}`, { paused: true });
  const waiting = await ask(0, 'POST', `/relayers/${relayers[1]}/transactions`, { to: alice, value: 10 ** 30 });
  await ask(1, 'PUT', `/relayers/${relayers[1]}/transactions/${waiting.data.id}`, { to: home.address, value: 1 });
  assert.deepEqual(await list(`&to=${home.address}`), [waiting.data.id]);
  assert.equal((await list(`&to=${alice}`))[0], waiting.data.id);
  assert.deepEqual((await list('')).slice(1), newestFirst);
  const path = `/relayers/${relayers[2]}/transactions`;
  await ask(0, 'DELETE', `${path}/pending`);
  await waitFor('the third relayer to be idle', async () => {
    const { data } = await ask(0, 'GET', path);
    return data.every(({ status }: { status: string }) => ['confirmed', 'canceled', 'failed', 'expired'].includes(status)) || undefined;
  });
  await ask(0, 'DELETE', `/relayers/${relayers[2]}`);
  await waitFor('the second instance to know of it', async () => (await rest(urlAt(1), 'GET', path)).status === 404 || undefined);
  assert.deepEqual(
    (await list('')).slice(1),
    newestFirst.filter((id) => sent.indexOf(id) % 3 !== 2),
  );
});
