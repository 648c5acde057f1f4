import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue, Message } from '@bufbuild/protobuf';
import { toJson } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService, type UpdateNotificationResponse } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
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

  it('an update changes what its mask names, and names a path that cannot change', async () => {
    const { createNotification, updateNotification } = NotificationService.method;
    const url = 'https://example.com/hook';
    for (const asker of askers) {
      const id = asker.protocol.replaceAll(/[ -]/g, '_');
      assert.ok((await asker.ask(createNotification, { id, url, signing_key: 'k'.repeat(32) })).ok);
      const change = async (changes: { readonly [key: string]: JsonValue }) => {
        const answer = await asker.ask(updateNotification, { notification_id: id, ...changes });
        if (!answer.ok) return `${answer.info?.reason}: ${answer.sentence}`;
        const { notification } = answer.response as UpdateNotificationResponse;
        return `${notification?.url} ${notification?.hasSigningKey}`;
      };
      assert.equal(await change({ url: `${url}/2`, signing_key: '', update_mask: 'url' }), `${url}/2 true`);
      assert.equal(await change({ url, update_mask: 'signingKey' }), `${url}/2 false`);
      assert.equal(await change({ url, signing_key: 'k'.repeat(32), update_mask: '*' }), `${url} true`);
      assert.equal(await change({ signing_key: 'x'.repeat(32), update_mask: '*' }), 'FIELD_INVALID: url cannot be removed');
      assert.equal(
        await change({ update_mask: 'hasSigningKey' }),
        'FIELD_INVALID: update_mask has the path has_signing_key, which cannot change; allowed are *, signing_key, url, type',
      );
    }
    // In REST a signing key of null keeps its value, as an absent one does.
    const kept = await rig.ask('PATCH', '/api/v1/notifications/gRPC', { body: '{"signing_key":null}' });
    assert.equal(JSON.parse(kept.text).data.has_signing_key, true);
    assert.equal(
      await refusalOf(NetworkService.method.updateNetwork, { network_id: 'evm:local', update_mask: 'chainId' }),
      'InvalidArgument FIELD_INVALID: update_mask has the path chain_id, which cannot change; allowed are *, rpc_urls',
    );
  });

  it('a violation has the path of the field as the caller wrote it', async () => {
    const send = (evm: JsonValue) => refusalOf(TransactionService.method.sendTransaction, { relayer_id: 'r1', evm });
    const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    assert.match(await send({ to, value: '-1' }), /^InvalidArgument FIELD_INVALID: evm\.value must be an integer from 0/);
    assert.match(await send({ to }), /FIELD_INVALID: evm\.value is required/);
    assert.match(await send({ to, value: '1', gas_limit: '18446744073709551615' }), /: evm\.gas_limit must be an integer/);
    const policies = { network_type: 'NETWORK_TYPE_EVM', name: 'n', network: 'local', signer_id: 's', evm: { gas_price_cap: '0' } };
    assert.match(await refusalOf(RelayerService.method.createRelayer, policies), /FIELD_INVALID: evm\.gas_price_cap must/);
  });

  it('a nonce that is not set is refused, and 0 is a nonce', async () => {
    assert.equal(await refusalOf(getTransactionByNonce, { relayer_id: 'r1' }), 'InvalidArgument FIELD_INVALID: nonce is required');
    assert.match(await refusalOf(getTransactionByNonce, { relayer_id: 'r1', nonce: 0 }), /^NotFound TRANSACTION_NOT_FOUND/);
  });
});
