import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { waitFor } from '../support/wait-for.js';

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly allowed_addresses: readonly string[];
  readonly last_used_at: string | null;
}

describe('addresses and last use of API keys', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig({ env: { TRUSTED_PROXIES: '127.0.0.1,::1' } });
  });
  after(() => rig?.stop());

  async function newKey(over: object, headers: Record<string, string> = {}) {
    const body = JSON.stringify({ name: 'key', scopes: ['sign'], ...over });
    const { status, text, headers: told } = await rig.ask('POST', '/api/v1/api-keys', { body, headers });
    return { status, reason: told['x-error-reason'], text, data: JSON.parse(text).data as KeyAnswer };
  }

  const from = (key: string, address: string) => ({ authorization: `Bearer ${key}`, 'x-forwarded-for': address });

  async function listed(id: string): Promise<KeyAnswer> {
    const { text } = await rig.ask('GET', '/api/v1/api-keys?per_page=100');
    return (JSON.parse(text).data as KeyAnswer[]).find((key) => key.id === id) ?? assert.fail(id);
  }

  it('a key with addresses is refused from others on every protocol, with 403 and an audit line that names it', async () => {
    const ranges = ['10.0.0.0/8', '2001:db8::/32'];
    const { data } = await newKey({ allowed_addresses: ranges });
    assert.deepEqual(data.allowed_addresses, ranges);
    const sign = (address: string) =>
      rig.ask('POST', '/api/v1/relayers/r1/sign', { body: '{"message":"m"}', headers: from(data.key, address) });
    for (const inside of ['10.9.9.9', '::ffff:10.9.9.9', '[2001:db8::5]:443', '10.9.9.9:5000'])
      assert.equal((await sign(inside)).status, 200, inside);
    for (const [outside, shown] of [
      ['11.0.0.1', '11.0.0.1'],
      ['2001:db9::1', '2001:db9::1'],
      // What is left of a list that the caller itself wrote.
      ['10.9.9.9, 11.0.0.1', '11.0.0.1'],
      // No address: that of the proxy counts.
      ['unknown', '127.0.0.1'],
    ] as const) {
      const begun = rig.audited.length;
      const { status, headers, text } = await sign(outside);
      assert.deepEqual([status, headers['x-error-reason']], [403, 'ADDRESS_NOT_ALLOWED'], outside);
      assert.match(text, new RegExp(`the key may not be used from ${shown}`));
      const line = rig.audited[begun] as Record<string, unknown>;
      assert.deepEqual([line.keyId, line.address, line.outcome], [data.id, shown, 'ADDRESS_NOT_ALLOWED']);
    }
    for (const asker of rpcAskers(rig.baseUrl)) {
      const message = { relayerId: 'r1', message: 'm' };
      const ok = await asker.ask(SigningService.method.signData, message, from(data.key, '10.9.9.9'));
      assert.ok(ok.ok, asker.protocol);
      const refused = await asker.ask(SigningService.method.signData, message, from(data.key, '11.0.0.1'));
      asker.close();
      assert.ok(!refused.ok, asker.protocol);
      assert.deepEqual(
        [refused.code, refused.info?.reason, refused.info?.metadata.address],
        ['PermissionDenied', 'ADDRESS_NOT_ALLOWED', '11.0.0.1'],
      );
    }
    for (const path of ['/api/v1/caller', '/metrics'])
      assert.equal((await rig.ask('GET', path, { headers: from(data.key, '11.0.0.1') })).status, 403, path);
    assert.equal((await rig.ask('GET', '/api/v1/caller', { headers: { 'x-forwarded-for': '11.0.0.1' } })).status, 200, 'the bootstrap key');
  });

  it('a key with addresses creates only keys within them', async () => {
    const { data } = await newKey({ scopes: ['admin', 'sign'], allowed_addresses: ['10.0.0.0/8'] });
    const headers = from(data.key, '10.0.0.1');
    for (const [allowed_addresses, sentence] of [
      [undefined, /^allowed_addresses must be set/],
      [['10.1.0.0/16', '10.0.0.0/7'], /^allowed_addresses\[1\] 10\.0\.0\.0\/7 is not within/],
      [['::/0'], /^allowed_addresses\[0\] /],
    ] as const) {
      const { status, text } = await newKey({ allowed_addresses }, headers);
      assert.equal(status, 400, text);
      assert.match(JSON.parse(text).error, sentence);
    }
    assert.equal((await newKey({ allowed_addresses: ['10.1.0.0/16'] }, headers)).status, 201);
  });

  it('what is no address or range is refused, each by its place', async () => {
    for (const bad of ['10.0.0.0/33', 'example.com', '::1/129', '10.0.0/8', '', '10.0.0.1/', 'fe80::1%eth0']) {
      const { status, text } = await newKey({ allowed_addresses: ['10.0.0.1', bad] });
      assert.equal(status, 400, bad);
      assert.match(JSON.parse(text).error, /^allowed_addresses\[1\] must be an IP address/, bad);
    }
  });

  it('the list shows when a key was last used, and null for one that was not', async () => {
    const [used, idle] = [await newKey({}), await newKey({})];
    assert.deepEqual([used.data.last_used_at, idle.data.last_used_at], [null, null]);
    const begun = Date.now();
    const body = '{"message":"m"}';
    assert.equal((await rig.ask('POST', '/api/v1/relayers/r1/sign', { body, headers: from(used.data.key, '1.1.1.1') })).status, 200);
    const lastUsed = await waitFor('the last use', async () => (await listed(used.data.id)).last_used_at ?? undefined, 60_000);
    assert.ok(Math.abs(Date.parse(lastUsed) - begun) < 10_000, lastUsed);
    assert.equal((await listed(idle.data.id)).last_used_at, null);
    const [overRpc] = rpcAskers(rig.baseUrl);
    const answer = (await overRpc?.ask(ApiKeyService.method.listApiKeys, { pageSize: 100 })) ?? assert.fail();
    overRpc?.close();
    assert.ok(
      answer.ok &&
        JSON.stringify(answer.response, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes('"lastUsedAt":'),
    );
  });
});
