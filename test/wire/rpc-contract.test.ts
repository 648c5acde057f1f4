import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue, Message } from '@bufbuild/protobuf';
import { toJson } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService, type UpdateNotificationResponse } from '../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../gen/relayer/v1/overview_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
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

/** Calls a method on every protocol, and returns their common error: `InvalidArgument FIELD_INVALID: sentence`. */
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
    const fields = ['id', 'name', 'scopes', 'relayer_ids', 'created_at', 'expires_at', 'created_by', 'allowed_addresses', 'last_used_at'];
    assert.deepEqual(Object.keys(data), [...fields, 'former_secrets_expire_at', 'key']);
    assert.match(data.key, /^\S{32,}$/);
    const [listed] = await responsesOf(ApiKeyService.method.listApiKeys, {});
    assert.ok(!JSON.stringify(listed).includes('"key"'));
  });

  it('exactly the methods that send, replace, create or rotate take an idempotency key, as the header and as a field', () => {
    const services = [
      ApiKeyService,
      InstanceService,
      NetworkService,
      NotificationService,
      OverviewService,
      AuditService,
      RelayerService,
      SignerService,
      SigningService,
      TransactionService,
    ];
    const plans = compileMethodPlans(services);
    const taking = plans.filter(({ idempotent, method }) => idempotent && 'idempotencyKey' in method.input.field);
    assert.deepEqual(
      taking.map(({ label }) => label.replace(/.*\./, '')),
      [
        'CreateApiKey',
        'RotateApiKey',
        'CreateNotification',
        'CreateRelayer',
        'CreateSigner',
        'SendTransaction',
        'SendTransactions',
        'ReplaceTransaction',
      ],
    );
    for (const plan of plans) {
      assert.equal('idempotencyKey' in plan.method.input.field, plan.idempotent, plan.label);
      if (plan.http?.successStatus === 201) assert.ok(plan.idempotent, plan.label);
    }
  });

  it('an update changes what its mask names, and names a path that cannot change', async () => {
    const { createNotification, updateNotification } = NotificationService.method;
    const url = 'https://example.com/';
    const second = 'https://two.example.com/';
    for (const asker of askers) {
      const id = asker.protocol.replaceAll(/[ -]/g, '_');
      assert.ok((await asker.ask(createNotification, { id, url, signing_key: 'k'.repeat(32) })).ok);
      const change = async (changes: { readonly [key: string]: JsonValue }) => {
        const answer = await asker.ask(updateNotification, { notification_id: id, ...changes });
        if (!answer.ok) return `${answer.info?.reason}: ${answer.sentence}`;
        const { notification } = answer.response as UpdateNotificationResponse;
        return `${notification?.url} ${notification?.hasSigningKey}`;
      };
      assert.equal(await change({ url: second, signing_key: '', update_mask: 'url' }), `${second} true`);
      assert.equal(await change({ url, update_mask: 'signingKey' }), `${second} false`);
      assert.equal(await change({ url, signing_key: 'k'.repeat(32), update_mask: '*' }), `${url} true`);
      assert.equal(await change({ signing_key: 'x'.repeat(32), update_mask: '*' }), 'FIELD_INVALID: url cannot be removed');
      assert.equal(
        await change({ update_mask: 'hasSigningKey' }),
        'FIELD_INVALID: update_mask has the path has_signing_key, which cannot change; valid paths: *, signing_key, url, type',
      );
    }
    // In REST a signing key of null keeps its value, as an absent one does.
    const kept = await rig.ask('PATCH', '/api/v1/notifications/gRPC', { body: '{"signing_key":null}' });
    assert.equal(JSON.parse(kept.text).data.has_signing_key, true);
    assert.equal(
      await refusalOf(NetworkService.method.updateNetwork, { network_id: 'evm:local', update_mask: 'chainId' }),
      'InvalidArgument FIELD_INVALID: update_mask has the path chain_id, which cannot change; valid paths: *, rpc_urls',
    );
  });

  it('an update mask in JSON takes proto names as well as lowerCamelCase, and names a wrong path in either', async () => {
    const url = 'https://example.com/';
    const [second, third] = ['https://two.example.com/', 'https://three.example.com/'];
    const create = JSON.stringify({ id: 'mask', url, signing_key: 'k'.repeat(32) });
    assert.equal((await rig.ask('POST', '/relayer.v1.NotificationService/CreateNotification', { body: create })).status, 200);
    const change = async (changes: object) => {
      const body = JSON.stringify({ notification_id: 'mask', ...changes });
      const { status, text } = await rig.ask('POST', '/relayer.v1.NotificationService/UpdateNotification', { body });
      const { notification, message } = JSON.parse(text);
      return status === 200 ? `${notification.url} ${notification.hasSigningKey === true}` : `${status} ${message}`;
    };
    assert.equal(await change({ url: second, update_mask: 'url' }), `${second} true`);
    assert.equal(await change({ url: third, update_mask: 'url,signing_key' }), `${third} false`);
    assert.equal(await change({ url, signingKey: 'update_mask: "a_b"', updateMask: 'signing_key,url' }), `${url} true`);
    for (const path of ['has_signing_key', 'hasSigningKey', 'url,has_signing_key', '*,hasSigningKey']) {
      assert.equal(
        await change({ url, update_mask: path }),
        '400 update_mask has the path has_signing_key, which cannot change; valid paths: *, signing_key, url, type',
      );
    }
  });

  it('a violation has the path of the field as the caller wrote it', async () => {
    const send = (evm: JsonValue) => refusalOf(TransactionService.method.sendTransaction, { relayer_id: 'r1', evm });
    const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    assert.match(await send({ to, value: '-1' }), /^InvalidArgument FIELD_INVALID: evm\.value must be an integer from 0/);
    assert.match(await send({ to }), /FIELD_INVALID: evm\.value is required/);
    assert.match(await send({ to, value: '1', gas_limit: '18446744073709551615' }), /: evm\.gas_limit must be an integer/);
    assert.match(
      await send({ to, value: '1', speed: 99 }),
      /: evm\.speed must be one of SPEED_FASTEST, SPEED_FAST, SPEED_AVERAGE, SPEED_SAFE_LOW$/,
    );
    assert.match(await send({ to: '0x12', value: '1' }), /: evm\.to must be 0x and 40 hex digits$/);
    const policies = { network_type: 'NETWORK_TYPE_EVM', name: 'n', network: 'local', signer_id: 's', evm: { gas_price_cap: '0' } };
    assert.match(await refusalOf(RelayerService.method.createRelayer, policies), /FIELD_INVALID: evm\.gas_price_cap must/);
  });

  it('pages by token repeat and miss no record while new ones arrive, in every list', async () => {
    const { listTransactions } = TransactionService.method;
    const send = async () => {
      const body = '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1,"data":"0xabcd"}';
      return JSON.parse((await rig.ask('POST', '/api/v1/relayers/r2/transactions', { body })).text).data.id as string;
    };
    const sent: string[] = [];
    for (let count = 0; count < 5; count++) sent.unshift(await send());
    for (const status of [[], ['TRANSACTION_STATUS_PENDING', 'TRANSACTION_STATUS_SENT']]) {
      const seen: string[] = [];
      for (let token = '', pages = 0; pages === 0 || token !== ''; pages++) {
        const asked = { relayer_id: 'r2', page_size: 2, page_token: token, status, view: 'RECORD_VIEW_BASIC' };
        const [answer] = await responsesOf(listTransactions, asked);
        const { transactions, next_page_token: next } = answer as { transactions: { id: string; evm: object }[]; next_page_token?: string };
        seen.push(...transactions.map(({ id }) => id));
        for (const { evm } of transactions) assert.ok(!('data' in evm));
        token = next ?? '';
        await send();
      }
      assert.deepEqual(seen.slice(-5), sent);
      assert.equal(new Set(seen).size, seen.length);
    }
    const [whole] = await responsesOf(listTransactions, { relayer_id: 'r2', page_size: 1 });
    assert.equal((whole as { transactions: { evm: { data: string } }[] }).transactions[0]?.evm.data, '0xabcd');
    const stranger = Buffer.from(sent[0] ?? '').toString('base64url');
    assert.match(await refusalOf(listTransactions, { relayer_id: 'r1', page_token: stranger }), /FIELD_INVALID: page_token is not a token/);
    const byRest = await rig.ask('GET', '/api/v1/relayers/r2/transactions?page_size=1');
    assert.equal(byRest.headers['x-error-reason'], 'FIELD_UNKNOWN');
    assert.deepEqual(Object.keys(JSON.parse((await rig.ask('GET', '/api/v1/relayers/r2/transactions')).text)), [
      'success',
      'data',
      'error',
      'pagination',
    ]);
    // The other lists.
    for (const [method, name] of [
      [RelayerService.method.listRelayers, 'relayers'],
      [NotificationService.method.listNotifications, 'notifications'],
      [ApiKeyService.method.listApiKeys, 'api_keys'],
    ] as const) {
      const [all] = await responsesOf(method, { page_size: 100 });
      const ids = (page: Record<string, JsonValue> | undefined) =>
        (page?.[name] as { id: string }[] | undefined)?.map(({ id }) => id) ?? [];
      assert.ok(ids(all).length > 1, name);
      const seen: string[] = [];
      for (let token = '', pages = 0; pages === 0 || token !== ''; pages++) {
        const [page] = await responsesOf(method, { page_size: 1, page_token: token });
        seen.push(...ids(page));
        token = String(page?.next_page_token ?? '');
      }
      assert.deepEqual(seen, ids(all), name);
    }
  });

  it('a page that gRPC clients would refuse for its size has fewer records, a warning and a token', async () => {
    const body = `{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1,"data":"0x${'ab'.repeat(120_000)}"}`;
    for (let count = 0; count < 20; count++) await rig.ask('POST', '/api/v1/relayers/r1/transactions', { body });
    const { listTransactions } = TransactionService.method;
    for (const answer of await responsesOf(listTransactions, { relayer_id: 'r1', page_size: 20 })) {
      const { transactions, metadata, next_page_token: token } = answer as Record<string, JsonValue>;
      const { length } = transactions as JsonValue[];
      assert.ok(length > 5 && length < 20, String(length));
      assert.match(JSON.stringify(metadata), /since more would exceed 3 MiB/);
      const [next] = await responsesOf(listTransactions, { relayer_id: 'r1', page_size: 20, page_token: String(token) });
      assert.equal((next?.transactions as JsonValue[] | undefined)?.length, 20 - length);
    }
    const [basic] = await responsesOf(listTransactions, { relayer_id: 'r1', page_size: 20, view: 'RECORD_VIEW_BASIC' });
    assert.equal((basic?.transactions as JsonValue[] | undefined)?.length, 20);
    const byRest = await rig.ask('GET', '/api/v1/relayers/r1/transactions?per_page=20');
    assert.equal(JSON.parse(byRest.text).data.length, 20);
  });

  it('a nonce that is not set is refused, and 0 is a nonce', async () => {
    assert.equal(await refusalOf(getTransactionByNonce, { relayer_id: 'r1' }), 'InvalidArgument FIELD_INVALID: nonce is required');
    assert.match(await refusalOf(getTransactionByNonce, { relayer_id: 'r1', nonce: 0 }), /^NotFound TRANSACTION_NOT_FOUND/);
  });
});
