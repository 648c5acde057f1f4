import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { toJson } from '@bufbuild/protobuf';
import { ApiKeyService, type GetCallerResponse, GetCallerResponseSchema } from '../../gen/relayer/v1/api_key_service_pb.js';
import { packageVersion } from '../../src/config/package-version.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig?.stop());

async function callerOf(key?: string): Promise<unknown> {
  const { status, text } = await rig.ask('GET', '/api/v1/caller', key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
  assert.equal(status, 200, text);
  return JSON.parse(text).data;
}

it('caller: the bootstrap key has no id, every scope and all relayers', async () => {
  assert.deepEqual(await callerOf(), {
    api_key_id: null,
    name: null,
    scopes: [
      'transactions:read',
      'transactions:write',
      'transactions:approve',
      'sign',
      'notifications',
      'plugins:call',
      'audit:read',
      'admin',
    ],
    relayer_ids: [],
    expires_at: null,
    service_version: packageVersion(),
  });
});

it('caller: a stored key learns its own id, scopes, relayers and expiry, with any scope and over every protocol', async () => {
  const fields = { name: 'signer', scopes: ['sign'], relayer_ids: ['r2'], expires_at: '2099-01-01T00:00:00.000Z' };
  const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: JSON.stringify(fields) });
  const { id, key } = JSON.parse(text).data;
  assert.deepEqual(await callerOf(key), { api_key_id: id, ...fields, service_version: packageVersion() });
  for (const asker of rpcAskers(rig.baseUrl)) {
    const answer = await asker.ask(ApiKeyService.method.getCaller, {}, { authorization: `Bearer ${key}` });
    asker.close();
    assert.ok(answer.ok, asker.protocol);
    const { caller } = toJson(GetCallerResponseSchema, answer.response as GetCallerResponse) as { caller: Record<string, unknown> };
    assert.deepEqual([caller.apiKeyId, caller.scopes], [id, ['API_KEY_SCOPE_SIGN']], asker.protocol);
  }
});

it('caller: without a valid key there is none', async () => {
  const { status, headers } = await rig.ask('GET', '/api/v1/caller', { headers: { authorization: undefined } });
  assert.deepEqual([status, headers['x-error-reason']], [401, 'CREDENTIALS_INVALID']);
});
