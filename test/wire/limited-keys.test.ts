import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DescMethodUnary, toJson } from '@bufbuild/protobuf';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { waitFor } from '../support/wait-for.js';

/**
 * A key with a list of relayers sees and changes only notifications that are for its relayers. `own` is such a one, `shared` is for all
 * relayers, and `foreign` is for another one.
 */
describe('keys that are limited to relayers', () => {
  let rig: AppRig;
  let limited: { readonly authorization: string };
  const elsewhere = 'https://example.com/elsewhere';

  async function newKey(over: object) {
    const body = JSON.stringify({ name: 'key', scopes: ['transactions:read', 'notifications'], ...over });
    const { status, text } = await rig.ask('POST', '/api/v1/api-keys', { body });
    assert.equal(status, 201, text);
    return JSON.parse(text).data as { readonly id: string; readonly key: string; readonly created_by: string | null };
  }

  async function ask(verb: string, path: string, body?: object, headers: object = limited) {
    const answer = await rig.ask(verb, `/api/v1${path}`, { ...(body && { body: JSON.stringify(body) }), headers: { ...headers } });
    return { status: answer.status, reason: answer.headers['x-error-reason'], ...JSON.parse(answer.text) };
  }

  before(async () => {
    // The events of r1 and r2 go to a receiver that does not answer, so their deliveries stay.
    rig = await startAppRig({
      notifications: [{ id: 'shared', type: 'webhook', url: 'http://127.0.0.1:9/secret-of-all' }],
      env: { WEBHOOK_ALLOW_PRIVATE: 'true' },
    });
    limited = { authorization: `Bearer ${(await newKey({ relayer_ids: ['r2'] })).key}` };
    const foreign = { id: 'foreign', type: 'webhook', url: elsewhere, relayer_ids: ['r1'] };
    assert.equal((await ask('POST', '/notifications', foreign, {})).status, 201);
    assert.equal((await ask('POST', '/notifications', { id: 'own', type: 'webhook', url: elsewhere })).status, 201);
    const sent = await ask('POST', '/relayers/r1/transactions', { to: `0x${'7'.repeat(40)}`, value: 1 }, {});
    assert.equal(sent.status, 200, JSON.stringify(sent));
  });

  after(() => rig?.stop());

  it('a notification that such a key creates is for its relayers, and no other one is listed for it', async () => {
    assert.deepEqual((await ask('GET', '/notifications/own')).data.relayer_ids, ['r2']);
    const { data, pagination } = await ask('GET', '/notifications');
    const listed = data.map(({ id, url }: { id: string; url: string }) => [id, url]);
    assert.deepEqual([listed, pagination.total_items], [[['own', 'https://example.com/***']], 1]);
    const all = await ask('GET', '/notifications', undefined, {});
    assert.deepEqual(all.data.map(({ id }: { id: string }) => id).sort(), ['foreign', 'own', 'shared']);
    assert.ok(!('relayer_ids' in all.data.find(({ id }: { id: string }) => id === 'shared')), 'for all relayers');
  });

  it('such a key cannot name a relayer that it may not use, and an operator can name any', async () => {
    const refused = await ask('POST', '/notifications', { id: 'more', type: 'webhook', url: elsewhere, relayer_ids: ['r2', 'r1'] });
    assert.deepEqual([refused.status, refused.reason], [403, 'RELAYER_NOT_ALLOWED']);
    assert.equal((await ask('GET', '/notifications/more', undefined, {})).status, 404, 'nothing was stored');
    const bad = await ask('POST', '/notifications', { type: 'webhook', url: elsewhere, relayer_ids: ['not an id'] }, {});
    assert.match(bad.error, /^relayer_ids\[0\] /);
  });

  for (const id of ['shared', 'foreign']) {
    it(`to such a key the notification "${id}" does not exist, by any method over REST and RPC`, async () => {
      const { data } = await ask('GET', `/notifications/${id}/deliveries`, undefined, {});
      const deliveryId = data[0]?.id ?? '01a22574-a4db-7555-bc37-4f6a8882b216';
      assert.equal(data.length > 0, id === 'shared', 'the shared one has a delivery of the relayer r1');
      const message = { notificationId: id, deliveryId, url: 'https://example.com/steal' };
      const seen: string[] = [];
      for (const method of Object.values(NotificationService.method) as DescMethodUnary[]) {
        if (!('notificationId' in method.input.field)) continue;
        const known = Object.fromEntries(Object.entries(message).filter(([field]) => field in method.input.field));
        for (const asker of rpcAskers(rig.baseUrl)) {
          const answer = await asker.ask(method, known, limited);
          asker.close();
          assert.ok(!answer.ok, `${method.name} answered ${JSON.stringify(answer.ok && toJson(method.output, answer.response))}`);
          assert.equal(answer.info?.reason, 'NOTIFICATION_NOT_FOUND', method.name);
        }
        seen.push(method.name);
      }
      assert.equal(seen.length, 7);
      for (const [verb, path, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { url: 'https://example.com/steal' }],
        ['DELETE', '', undefined],
        ['GET', '/deliveries', undefined],
        ['GET', `/deliveries/${deliveryId}`, undefined],
        ['POST', `/deliveries/${deliveryId}/redeliver`, undefined],
        ['POST', '/test', undefined],
      ] as const) {
        const { status, reason } = await ask(verb, `/notifications/${id}${path}`, body);
        assert.deepEqual([status, reason], [404, 'NOTIFICATION_NOT_FOUND'], `${verb} ${path}`);
      }
      assert.equal((await ask('GET', `/notifications/${id}`, undefined, {})).status, 200);
    });
  }

  it('a relayer uses only notifications that are for it or for all', async () => {
    const set = (relayer: string, id: string) => ask('PATCH', `/relayers/${relayer}`, { notification_id: id }, {});
    const refused = await set('r2', 'foreign');
    assert.deepEqual([refused.status, refused.reason], [400, 'FIELD_INVALID']);
    assert.match(refused.error, /^notification_id must be the id of an existing notification, which is for this relayer or for all/);
    assert.equal((await set('r2', 'own')).status, 200);
    assert.equal((await set('r2', 'shared')).status, 200);
  });

  it('such a key changes, tests and deletes what is its own', async () => {
    assert.equal((await ask('PATCH', '/notifications/own', { url: 'https://new.example.com/x' })).data.url, 'https://new.example.com/***');
    assert.equal((await ask('POST', '/notifications/own/test')).status, 200);
    assert.equal((await ask('GET', '/notifications/own/deliveries')).data.length, 1);
    assert.equal((await ask('DELETE', '/notifications/own')).status, 200);
    assert.equal((await ask('GET', '/notifications')).data.length, 0);
  });

  it('such a key sees the metrics of its relayers and of their nodes alone', async () => {
    const linesFor = async (headers: object) => {
      const { text } = await rig.ask('GET', '/metrics', { headers: { ...headers } });
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    };
    await waitFor('the node to be counted', async () =>
      (await linesFor({})).some((line) => line.startsWith('relayer_node_requests_total')) ? true : undefined,
    );
    const lines = await linesFor(limited);
    assert.ok(lines.some((line) => line.includes('relayer="r2"')));
    assert.ok(lines.some((line) => line.startsWith('relayer_node_requests_total{network="local",host="127.0.0.1:9"')));
    assert.deepEqual(
      lines.filter((line) => !line.includes('relayer="r2"') && !line.includes('network="local"')),
      [],
    );
    const nowhere = { authorization: `Bearer ${(await newKey({ relayer_ids: ['none'] })).key}` };
    assert.deepEqual(await linesFor(nowhere), []);
  });

  it('a key shows which key created it, and can be revoked with all that it created', async () => {
    const scopes = ['admin', 'transactions:read'];
    const parent = await newKey({ scopes });
    assert.equal(parent.created_by, 'bootstrap');
    const by = (key: string) => ({ authorization: `Bearer ${key}` });
    const child = await ask('POST', '/api-keys', { name: 'child', scopes }, by(parent.key));
    assert.equal(child.data.created_by, parent.id);
    const grandchild = await ask('POST', '/api-keys', { name: 'grandchild', scopes }, by(child.data.key));
    const other = await newKey({ scopes });
    const revoked = await ask('DELETE', `/api-keys/${parent.id}?with_created=true`, undefined, {});
    assert.deepEqual([revoked.status, revoked.data], [200, { api_key_ids: [parent.id, child.data.id, grandchild.data.id] }]);
    for (const { key } of [parent, child.data, grandchild.data])
      assert.equal((await ask('GET', '/relayers', undefined, by(key))).status, 401);
    assert.equal((await ask('GET', '/relayers', undefined, by(other.key))).status, 200);
    assert.equal((await ask('DELETE', `/api-keys/${parent.id}?with_created=true`, undefined, {})).reason, 'API_KEY_NOT_FOUND');
    assert.deepEqual((await ask('DELETE', `/api-keys/${other.id}`, undefined, {})).data, null);
    const line = rig.audited.find((fields) => 'revoked' in fields) as { readonly revoked?: string } | undefined;
    assert.equal(line?.revoked, [parent.id, child.data.id, grandchild.data.id].join(' '));
  });

  it('a key that is revoked while it creates another one creates none', async () => {
    const parent = await newKey({ scopes: ['admin'] });
    const release = rig.holdCommits(({ name }) => name === 'insertApiKey');
    const creating = ask('POST', '/api-keys', { name: 'late', scopes: ['admin'] }, { authorization: `Bearer ${parent.key}` });
    await waitFor('the creation to reach its commit', async () => (rig.heldCommits() === 1 ? true : undefined));
    assert.equal((await ask('DELETE', `/api-keys/${parent.id}?with_created=true`, undefined, {})).status, 200);
    release();
    assert.equal((await creating).status, 401);
    const { data } = await ask('GET', '/api-keys?per_page=100', undefined, {});
    assert.ok(!data.some(({ name }: { readonly name: string }) => name === 'late'));
  });
});
