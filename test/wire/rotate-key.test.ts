import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { toJson } from '@bufbuild/protobuf';
import {
  ApiKeyService,
  type DeleteApiKeyResponse,
  DeleteApiKeyResponseSchema,
  type RotateApiKeyResponse,
} from '../../gen/relayer/v1/api_key_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { waitFor } from '../support/wait-for.js';

describe('the rotation of API keys', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig();
  });
  after(() => rig?.stop());

  const by = (key: string) => ({ authorization: `Bearer ${key}` });

  async function ask(verb: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const answer = await rig.ask(verb, `/api/v1${path}`, { ...(body && { body: JSON.stringify(body) }), headers });
    return { status: answer.status, headers: answer.headers, reason: answer.headers['x-error-reason'], ...JSON.parse(answer.text) };
  }

  async function newKey(over: object = {}, headers: Readonly<Record<string, string>> = {}) {
    const { status, data, error } = await ask('POST', '/api-keys', { name: 'shop', scopes: ['sign'], ...over }, headers);
    assert.equal(status, 201, error);
    return data as { readonly id: string; readonly key: string };
  }

  const rotate = (id: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    ask('POST', `/api-keys/${id}/rotate`, body, headers);
  const callerOf = async (key: string) => {
    const { status, data } = await ask('GET', '/caller', undefined, by(key));
    return status === 200 ? data : status;
  };

  it('the new secret has the same rights, and the former one until its end, which both it and the list say', async () => {
    const rights = { scopes: ['sign'], relayer_ids: ['r1'], allowed_addresses: ['127.0.0.0/8'], expires_at: '2999-01-01T00:00:00.000Z' };
    const { id, key: former } = await newKey(rights);
    const before = await callerOf(former);
    const begunMs = Date.now();
    const { status, data } = await rotate(id, { overlap_seconds: 60 });
    assert.equal(status, 200);
    const { key, former_secrets_expire_at: end, ...record } = data;
    assert.ok(Math.abs(Date.parse(end) - begunMs - 60_000) < 30_000, end);
    const [listed] = (await ask('GET', '/api-keys')).data;
    const { former_secrets_expire_at, last_used_at, ...shown } = listed;
    assert.deepEqual([{ ...record, last_used_at: undefined }, end], [{ ...shown, last_used_at: undefined }, former_secrets_expire_at]);
    assert.ok(!JSON.stringify(listed).includes(key));
    assert.deepEqual({ ...record, ...rights }, record);
    assert.deepEqual(await callerOf(key), before);
    assert.deepEqual(await callerOf(former), { ...before, name: 'shop (former secret)', expires_at: end });
    const sign = (secret: string) => rig.ask('POST', '/api/v1/relayers/r1/sign', { body: '{"message":"m"}', headers: by(secret) });
    assert.equal((await sign(former)).status, 200);
    const line = rig.audited.at(-1) as Record<string, unknown>;
    assert.deepEqual([line.keyId, line.keyName], [id, 'shop (former secret)'], 'who has not moved yet');
    const rotated = rig.audited.find((one) => (one as Record<string, unknown>).former_valid_until !== undefined) as Record<string, unknown>;
    assert.deepEqual([rotated.api_key_id, rotated.former_valid_until, rotated.outcome], [id, end, 'OK']);
    assert.ok(!JSON.stringify(rig.audited).includes(key));
    const last = (await rotate(id, { overlap_seconds: 0 })).data;
    assert.equal(last.former_secrets_expire_at, null);
    assert.deepEqual([await callerOf(former), await callerOf(key)], [401, 401]);
    assert.deepEqual(await callerOf(last.key), before);
  });

  it('the former secret and its streams end by the clock, and those of the new one go on', async () => {
    const { id, key: former } = await newKey({ scopes: ['transactions:read'] });
    const watch = async (key: string) => {
      const answer = await fetch(`${rig.baseUrl}/api/v1/relayers/r1/transactions/watch`, { headers: by(key) });
      assert.equal(answer.status, 200);
      const state = { hasEnded: false };
      void answer.text().then(
        () => (state.hasEnded = true),
        () => (state.hasEnded = true),
      );
      return state;
    };
    const { key } = (await rotate(id, { overlap_seconds: 2 })).data;
    const [old, now] = [await watch(former), await watch(key)];
    await waitFor('the end of the former secret', async () => ((await callerOf(former)) === 401 ? true : undefined));
    await waitFor('the end of its stream', async () => (old.hasEnded ? true : undefined));
    assert.equal(now.hasEnded, false);
    assert.equal((await callerOf(key)).api_key_id, id);
  });

  it('a repeated call gets the same secret, also by the secret that it replaced, and nothing is rotated again', async () => {
    const { id, key: former } = await newKey({ scopes: ['admin'] });
    const headers = { ...by(former), 'idempotency-key': 'once' };
    const first = await rotate(id, { overlap_seconds: 60 }, headers);
    assert.equal(first.status, 200, first.error);
    for (const secret of [former, first.data.key]) {
      const again = await rotate(id, { overlap_seconds: 60 }, { ...headers, ...by(secret) });
      assert.deepEqual([again.status, again.headers['idempotency-replayed'], again.data], [200, 'true', first.data]);
    }
    assert.equal((await rotate(id, { overlap_seconds: 61 }, headers)).reason, 'IDEMPOTENCY_KEY_REUSED');
    assert.ok(typeof (await callerOf(former)) === 'object');
  });

  it('what cannot be rotated, and by whom, is refused', async () => {
    const admin = await newKey({ scopes: ['admin'] });
    const child = await newKey({ scopes: ['admin'] }, by(admin.key));
    const other = await newKey();
    for (const overlap_seconds of [604_801, -1, 1.5, 'x']) {
      const { status, error } = await rotate(other.id, { overlap_seconds });
      assert.deepEqual([status, /^overlap_seconds must be/.test(error)], [400, true], error);
    }
    for (const id of ['bootstrap', '0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a60', '%20'])
      assert.deepEqual([(await rotate(id)).status, (await rotate(id)).reason], [404, 'API_KEY_NOT_FOUND'], id);
    assert.equal((await rotate(other.id, {}, by(other.key))).reason, 'SCOPE_MISSING');
    assert.match((await rotate(other.id, {}, by(admin.key))).error, /^api_key_id must be your own key, or one that it created$/);
    assert.match((await rotate(admin.id, {}, by(child.key))).error, /^api_key_id must be your own key/);
    assert.equal((await rotate(child.id, {}, by(admin.key))).status, 200);
    const { key } = (await rotate(admin.id, {}, by(admin.key))).data;
    for (const id of [admin.id, child.id])
      assert.match(
        (await rotate(id, {}, by(admin.key))).error,
        /^api_key_id must be a key that expires at \S+ or earlier/,
        'a former secret',
      );
    const created = await ask('POST', '/api-keys', { name: 'n', scopes: ['admin'] }, by(admin.key));
    assert.match(created.error, /^expires_at must be set to /, 'nor does it create a key that outlives it');
    assert.equal((await rotate(admin.id, {}, by(key))).status, 200);
  });

  it('over every RPC protocol, as is the revocation of what a key created', async () => {
    for (const asker of rpcAskers(rig.baseUrl)) {
      const parent = await newKey({ scopes: ['admin'] });
      const child = await newKey({ scopes: ['admin'] }, by(parent.key));
      const answer = await asker.ask(ApiKeyService.method.rotateApiKey, { apiKeyId: parent.id, overlapSeconds: 60 });
      assert.ok(answer.ok, asker.protocol);
      const { key, apiKey } = answer.response as RotateApiKeyResponse;
      assert.ok(apiKey?.formerSecretsExpireAt !== undefined);
      for (const secret of [key, parent.key]) assert.equal((await callerOf(secret)).api_key_id, parent.id, asker.protocol);
      const revoked = await asker.ask(ApiKeyService.method.deleteApiKey, { apiKeyId: parent.id, withCreated: true });
      asker.close();
      assert.ok(revoked.ok, asker.protocol);
      const json = toJson(DeleteApiKeyResponseSchema, revoked.response as DeleteApiKeyResponse);
      assert.deepEqual(json, { revoked: { apiKeyIds: [parent.id, child.id] } }, asker.protocol);
      for (const secret of [key, parent.key, child.key]) assert.equal(await callerOf(secret), 401, asker.protocol);
    }
  });
});
