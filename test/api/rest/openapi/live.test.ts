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
  // A limit that no call reaches, because its headers are part of the document.
  rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '100000', RATE_LIMIT_BURST_SIZE: '100000' } });
  await anvil.rpc('anvil_setBalance', [rig.home.address, '0x3635c9adc5dea00000']);
  document = await readApiDocument(rig.port);
});
after(async () => {
  await rig.stop();
  await anvil.stop();
});

describe('the check of a response', () => {
  it('the check of a response: rejects a field and a status that the document does not define', async () => {
    const operation = document.operation('getRelayer');
    const answer = await rig.ask('GET', '/api/v1/relayers/r1');
    assert.throws(
      () => document.check(operation, { ...answer, text: answer.text.replace('"id":', '"more":1,"id":') }),
      /additional properties/,
    );
    assert.throws(() => document.check(operation, { ...answer, status: 418 }), /does not define this status/);
  });
});

describe('each webhook of the document', () => {
  it('each webhook of the document: matches what the service posts', async (t) => {
    const receiver = await startHttpReceiver(t, (response) => response.writeHead(204).end());
    const env = { DELAYED_AFTER_SECONDS: 'fast=1' };
    const posting = await startAppRig({
      rpcUrl: anvil.url,
      env,
      notifications: [{ id: 'mine', type: 'webhook', url: receiver.url('/hook') }],
    });
    try {
      await posting.ask('POST', '/api/v1/notifications/mine/test');
      for (const rules of ['[{"id":"all","effect":"approve"}]', 'null']) {
        await posting.ask('PATCH', '/api/v1/relayers/r1', { body: `{"policies":{"rules":${rules}}}` });
        await posting.ask('POST', '/api/v1/relayers/r1/transactions', { body: JSON.stringify({ to: posting.home.address, value: 1 }) });
      }
      // Its account has no balance.
      await posting.ask('PATCH', '/api/v1/relayers/r1', { body: '{"policies":{"min_balance":1000000000000000000}}' });
      const posted = () => new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).event as string));
      await waitFor('each kind of event', async () => {
        await anvil.mine();
        return posted().size >= 5 ? true : undefined;
      });
      for (const { headers, body } of receiver.requests) {
        const event = JSON.parse(body.toString());
        const place = ['webhooks', event.event, 'post', 'requestBody', 'content', 'application/json', 'schema'];
        assert.equal(document.problems(place, event), null, body.toString());
        assert.notEqual(document.problems(place, { ...event, more: 1 }), null);
        assert.ok(headers['webhook-id'] && headers['webhook-timestamp']);
      }
      assert.deepEqual([...posted()].sort(), [
        'approval_required',
        'relayer_state_update',
        'test',
        'transaction_delayed',
        'transaction_update',
      ]);
    } finally {
      await posting.stop();
    }
  });
});

describe('each error of the document', () => {
  it('each error of the document: matches responses to a missing key, scope or resource, and to a malformed, mistyped or oversized body', async () => {
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
      const body = operation.hasBody ? JSON.stringify(Object.values(operation.requests)[0]) : undefined;
      if (isBuilt && missing.includes('missing')) await expect(404, missing, {}, body);
      if (operation.id === 'callPlugin') {
        // The query, the type and the content of the body are the plugin's.
        await expect(502, `${await freshPath(operation)}?nothing=1`, { 'content-type': 'text/plain' }, '{"a":1,"a":2}');
        await expect(413, await freshPath(operation), {}, 'x'.repeat(1_100_000));
        continue;
      }
      if (isBuilt && '400' in operation.responses) await expect(400, `${await freshPath(operation)}?nothing=1`, {}, body);
      if (!operation.hasBody) continue;
      const path = await freshPath(operation);
      await expect(400, path, {}, '{"a":1,"a":2}');
      // JSON-RPC has errors of its own.
      if (operation.id !== 'callRpc') await expect(400, path, {}, '{"no_such_field":1}');
      await expect(415, path, { 'content-type': 'text/plain' }, '{}');
      await expect(413, path, {}, `{"a":"${'x'.repeat(1_100_000)}"}`);
    }
    assert.deepEqual([...statuses.keys()].sort(), [400, 401, 403, 404, 413, 415, 502]);
  });

  it('each error of the document: matches responses to a reused and to an invalid idempotency key', async () => {
    for (const operation of document.operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'))) {
      const path = await freshPath(operation);
      const headers = { 'idempotency-key': `key-${operation.id}` };
      const [body] = Object.values(operation.requests);
      const first = await ask(rig, operation, path, body, headers);
      document.check(operation, first);
      if (first.status > 299) continue;
      document.check(
        operation,
        await ask(rig, operation, path, { ...(body as object), id: undefined, value: '77', url: 'https://example.com/other' }, headers),
      );
      const badKey = await ask(rig, operation, path, body, { 'idempotency-key': 'a b' });
      assert.equal(badKey.status, 400);
      document.check(operation, badKey);
    }
  });

  it('each error of the document: matches responses for a paused relayer, a taken id, an exceeded rate limit and a broken store', async () => {
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

/** The operation's path with newly made resources. PATCH and DELETE get the relayer that no other call needs. */
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
  if (template.includes('{plugin_id}')) values.plugin_id = await make('/plugins', { url: 'http://127.0.0.1:9' });
  if (template.includes('{api_key_id}')) values.api_key_id = await make('/api-keys', { name: 'mine', scopes: ['sign'] });
  return pathOf(operation, values);
}
