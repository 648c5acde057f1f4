import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../../../support/anvil.js';
import { type ApiDocument, ask, type Operation, pathOf, readApiDocument } from '../../../support/api-document.js';
import { type AppRig, keys, startAppRig } from '../../../support/app-rig.js';
import { startHttpReceiver } from '../../../support/http-receiver.js';
import { waitFor } from '../../../support/wait-for.js';

let anvil: Anvil;
let rig: AppRig;
let document: ApiDocument;
before(async () => {
  anvil = await startAnvil({ noMining: true });
  // With a limit that nobody reaches, since its headers are a part of what is told.
  rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '100000', RATE_LIMIT_BURST_SIZE: '100000' } });
  await anvil.rpc('anvil_setBalance', [rig.home.address, '0x3635c9adc5dea00000']);
  document = await readApiDocument(rig.port);
});
after(async () => {
  await rig.stop();
  await anvil.stop();
});

/** What examples are about is called otherwise in the rig. */
const namesInRig: Readonly<Record<string, string>> = {
  sandbox: 'r1',
  treasury: 's1',
  sepolia: 'local',
  '"network":"testnet"': '"network":"local"',
};

/** Examples of networks that the rig has no relayer on. */
const otherNetworks = /^(?:stellar|solana)/;

describe('each example of the document', () => {
  it('is answered as the document says by the live service', async (t) => {
    const succeeded = new Set<string>();
    // What is deleted is deleted last.
    const inOrder = document.operations.toSorted((left, right) => Number(left.verb === 'DELETE') - Number(right.verb === 'DELETE'));
    for (const operation of inOrder) {
      const requests = operation.hasBody ? Object.entries(operation.requests) : [['without a body', undefined] as const];
      for (const [name, body] of requests) {
        const answer = await ask(rig, operation, await freshPath(operation), inRig(body));
        document.check(operation, answer);
        const { success } =
          answer.headers['content-type'] === 'application/json' ? JSON.parse(answer.text) : { success: answer.status === 200 };
        if (success !== false) succeeded.add(operation.id);
        else if (answer.status !== 501 && !otherNetworks.test(name))
          t.diagnostic(`${operation.id} (${name}): ${answer.status} ${answer.text}`);
      }
    }
    for (const id of [
      'sendTransaction',
      'replaceTransaction',
      'cancelTransaction',
      'deletePendingTransactions',
      'getTransaction',
      'listTransactions',
      'listAttempts',
      'signTypedData',
      'signData',
      'createNotification',
      'updateNotification',
      'getNotification',
      'listNotifications',
      'deleteNotification',
      'listDeliveries',
      'redeliverDelivery',
      'testNotification',
      'getRelayer',
      'listRelayers',
      'updateRelayer',
      'getRelayerStatus',
      'getRelayerBalance',
      'callRpc',
      'getSigner',
      'listSigners',
      'getNetwork',
      'listNetworks',
      'updateNetwork',
      'createApiKey',
      'listApiKeys',
      'deleteApiKey',
      'health',
      'ready',
      'metrics',
    ]) {
      assert.ok(succeeded.has(id), `${id} succeeded: ${[...succeeded]}`);
    }
  });

  it('would be found out where an answer has what the document does not tell of', async () => {
    const operation = document.operation('getRelayer');
    const answer = await rig.ask('GET', '/api/v1/relayers/r1');
    assert.throws(() => document.check(operation, { ...answer, text: answer.text.replace('"id":', '"more":1,"id":') }), /unevaluated/);
    assert.throws(() => document.check(operation, { ...answer, status: 418 }), /does not tell of it/);
  });

  it('says in its record what a mined transaction says', async () => {
    // An example has given the network other nodes.
    await rig.ask('PATCH', '/api/v1/networks/evm:local', { body: JSON.stringify({ rpc_urls: [anvil.url] }) });
    const operation = document.operation('sendTransaction');
    const sent = JSON.parse((await ask(rig, operation, '/api/v1/relayers/r1/transactions', operation.requests.evm)).text);
    const nonce = await waitFor(
      'the confirmation',
      async () => {
        await anvil.mine();
        const answer = await rig.ask('GET', `/api/v1/relayers/r1/transactions/${sent.data.id}`);
        document.check(document.operation('getTransaction'), answer);
        const { data } = JSON.parse(answer.text);
        return data.status === 'confirmed' ? (data.nonce as number) : undefined;
      },
      120_000,
    );
    const byNonce = await rig.ask('GET', `/api/v1/relayers/r1/transactions/by-nonce/${nonce}`);
    document.check(document.operation('getTransactionByNonce'), byNonce);
    assert.equal(byNonce.status, 200);
    document.check(document.operation('listAttempts'), await rig.ask('GET', `/api/v1/relayers/r1/transactions/${sent.data.id}/attempts`));
  });
});

describe('each webhook of the document', () => {
  it('is what the service posts', async (t) => {
    const receiver = await startHttpReceiver(t, (response) => response.writeHead(204).end());
    const telling = await startAppRig({ rpcUrl: anvil.url, notifications: [{ id: 'mine', type: 'webhook', url: receiver.url('/hook') }] });
    try {
      await telling.ask('POST', '/api/v1/notifications/mine/test');
      await telling.ask('POST', '/api/v1/relayers/r1/transactions', { body: JSON.stringify({ to: telling.home.address, value: 1 }) });
      // Nobody has funded it.
      await telling.ask('PATCH', '/api/v1/relayers/r1', { body: '{"policies":{"min_balance":1000000000000000000}}' });
      const told = () => new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).event as string));
      await waitFor('each kind of event', async () => {
        await anvil.mine();
        return told().size >= 3 ? true : undefined;
      });
      for (const { headers, body } of receiver.requests) {
        const event = JSON.parse(body.toString());
        const place = ['webhooks', event.event, 'post', 'requestBody', 'content', 'application/json', 'schema'];
        assert.equal(document.problems(place, event), null, body.toString());
        assert.notEqual(document.problems(place, { ...event, more: 1 }), null);
        assert.ok(headers['webhook-id'] && headers['webhook-timestamp']);
      }
      assert.deepEqual([...told()].sort(), ['relayer_state_update', 'test', 'transaction_update']);
    } finally {
      await telling.stop();
    }
  });
});

describe('each error of the document', () => {
  it('is answered as it says: no key, no scope, unknown, malformed, of another type, too large', async () => {
    const statuses = new Map<number, number>();
    for (const operation of document.operations) {
      if (operation.security.length === 0) continue;
      const expect = async (status: number, path: string, headers: Record<string, string | undefined>, body?: string) => {
        const answer = await rig.ask(operation.verb, path, { headers, body });
        assert.equal(answer.status, status, `${operation.id}: ${answer.text.slice(0, 300)}`);
        document.check(operation, answer);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      };
      const missing = pathOf(operation, { nonce: '7' });
      await expect(401, missing, { authorization: undefined });
      const [scope] = (operation.security[0]?.key ?? []) as string[];
      if (scope === undefined) continue;
      await expect(403, missing, { authorization: `Bearer ${scope === 'transactions:read' ? keys.notifier : keys.reader}` });
      const isBuilt = (await rig.ask(operation.verb, missing, operation.hasBody ? { body: '{}' } : {})).status !== 501;
      const body = operation.hasBody ? JSON.stringify(inRig(Object.values(operation.requests)[0])) : undefined;
      if (isBuilt && missing.includes('missing')) await expect(404, missing, {}, body);
      if (isBuilt && '400' in operation.responses) await expect(400, `${await freshPath(operation)}?nothing=1`, {}, body);
      if (!operation.hasBody) continue;
      const path = await freshPath(operation);
      await expect(400, path, {}, '{"a":1,"a":2}');
      await expect(400, path, {}, '{"no_such_field":1}');
      await expect(415, path, { 'content-type': 'text/plain' }, '{}');
      await expect(413, path, {}, `{"a":"${'x'.repeat(1_100_000)}"}`);
    }
    assert.deepEqual([...statuses.keys()].sort(), [400, 401, 403, 404, 413, 415]);
  });

  it('is answered so where an idempotency key is used twice, or is none', async () => {
    for (const operation of document.operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'))) {
      const path = await freshPath(operation);
      const headers = { 'idempotency-key': `key-${operation.id}` };
      const [body] = Object.values(operation.requests);
      const first = await ask(rig, operation, path, inRig(body), headers);
      document.check(operation, first);
      if (first.status > 299) continue;
      document.check(
        operation,
        await ask(
          rig,
          operation,
          path,
          { ...(inRig(body) as object), id: undefined, value: '77', url: 'https://example.com/other' },
          headers,
        ),
      );
      const badKey = await ask(rig, operation, path, inRig(body), { 'idempotency-key': 'a b' });
      assert.equal(badKey.status, 400);
      document.check(operation, badKey);
    }
  });

  it('is answered so for a paused relayer, a taken id, a spent rate limit and a broken store', async () => {
    const strict = await startAppRig({ env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '1' } });
    try {
      const statusOf = async (id: string, verb: string, path: string, body?: object) => {
        const answer = await strict.ask(verb, path, { body: body && JSON.stringify(body) });
        document.check(document.operation(id), answer);
        return answer.status;
      };
      assert.equal(
        await statusOf('sendTransaction', 'POST', '/api/v1/relayers/paused/transactions', { value: 1, to: strict.home.address }),
        403,
      );
      assert.equal(await statusOf('getRelayer', 'GET', '/api/v1/relayers/r1'), 429);
      const notification = { id: 'taken', url: 'https://example.com/hook' };
      assert.equal(await statusOf('createNotification', 'POST', '/api/v1/notifications', notification), 201);
      assert.equal(await statusOf('createNotification', 'POST', '/api/v1/notifications', notification), 409);
      await strict.closeStore();
      assert.equal(await statusOf('listNotifications', 'GET', '/api/v1/notifications'), 500);
    } finally {
      await strict.stop();
    }
  });
});

/** The example in the names of the rig. */
function inRig(body: unknown): unknown {
  if (body === undefined) return undefined;
  return JSON.parse(Object.entries(namesInRig).reduce((text, [example, own]) => text.replaceAll(example, own), JSON.stringify(body)));
}

/** The operation's path, with what it names newly made. Relayers are changed and deleted that nothing else needs. */
async function freshPath(operation: Operation): Promise<string> {
  const { template, verb } = operation;
  const values: Record<string, string> = { nonce: '0', signer_id: 's1', network_id: 'evm:local' };
  const isOfRelayer = template === '/api/v1/relayers/{relayer_id}' && verb !== 'GET';
  values.relayer_id = isOfRelayer ? 'r2' : 'r1';
  const make = async (path: string, body: object) => {
    const answer = await rig.ask('POST', `/api/v1${path}`, { body: JSON.stringify(body) });
    return String(JSON.parse(answer.text).data?.id ?? 'not-built');
  };
  if (template.includes('{transaction_id}'))
    values.transaction_id = await make('/relayers/r1/transactions', { to: rig.home.address, value: 1 });
  if (template.includes('{notification_id}')) values.notification_id = await make('/notifications', { url: 'https://example.com/hook' });
  if (template.includes('{delivery_id}')) values.delivery_id = await make(`/notifications/${values.notification_id}/test`, {});
  if (template.includes('{api_key_id}')) values.api_key_id = await make('/api-keys', { name: 'mine', scopes: ['sign'] });
  return pathOf(operation, values);
}
