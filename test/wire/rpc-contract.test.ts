import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue, Message } from '@bufbuild/protobuf';
import { toJson } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

const { getTransactionByNonce } = TransactionService.method;

let rig: AppRig;
let askers: readonly RpcAsker[];

before(async () => {
  rig = await startAppRig();
  askers = rpcAskers(rig.baseUrl);
});

after(async () => {
  for (const asker of askers ?? []) asker.close();
  await rig?.stop();
});

/** Calls a method on every protocol, and returns the responses as protobuf JSON with proto names. */
async function responsesOf(method: DescMethodUnary, message: JsonValue): Promise<readonly Record<string, JsonValue>[]> {
  return Promise.all(
    askers.map(async (asker) => {
      const answer = await asker.ask(method, message);
      assert.ok(answer.ok, answer.ok ? undefined : `${asker.protocol}: ${answer.sentence}`);
      return toJson(method.output, answer.response as Message, { useProtoFieldName: true }) as Record<string, JsonValue>;
    }),
  );
}

/** Calls a method on every protocol, and returns what they say, all the same: `InvalidArgument FIELD_INVALID: sentence`. */
async function refusalOf(method: DescMethodUnary, message: JsonValue): Promise<string> {
  const told = await Promise.all(
    askers.map(async (asker) => {
      const answer = await asker.ask(method, message);
      assert.ok(!answer.ok, asker.protocol);
      for (const { field, description } of answer.fields) assert.ok(answer.sentence.includes(`${field} ${description}`), answer.sentence);
      return `${answer.code} ${answer.info?.reason}: ${answer.sentence}`;
    }),
  );
  assert.equal(new Set(told).size, 1, told.join('\n'));
  return told[0] ?? '';
}

describe('messages of the RPC contract', () => {
  it('the secret of a new API key is beside the key, and in no record', async () => {
    for (const created of await responsesOf(ApiKeyService.method.createApiKey, { name: 'n', scopes: ['API_KEY_SCOPE_SIGN'] })) {
      assert.match(String(created.key), /^\S{32,}$/);
      assert.ok(!JSON.stringify(created.api_key).includes(String(created.key)));
    }
    const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"n","scopes":["sign"]}' });
    const { data } = JSON.parse(text);
    assert.deepEqual(Object.keys(data), ['id', 'name', 'scopes', 'relayer_ids', 'created_at', 'expires_at', 'key']);
    assert.match(data.key, /^\S{32,}$/);
    const [listed] = await responsesOf(ApiKeyService.method.listApiKeys, {});
    assert.ok(!JSON.stringify(listed).includes('"key"'));
  });

  it('a nonce that is not set is refused, and 0 is a nonce', async () => {
    assert.equal(await refusalOf(getTransactionByNonce, { relayer_id: 'r1' }), 'InvalidArgument FIELD_INVALID: nonce is required');
    assert.match(await refusalOf(getTransactionByNonce, { relayer_id: 'r1', nonce: 0 }), /^NotFound TRANSACTION_NOT_FOUND/);
  });
});
