import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DescMethodUnary, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { envelope, errorIn, rawRpc } from '../support/raw-rpc.js';
import { type RpcAnswer, type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

/* What one call may cost: values, mistakes, bytes and tests of a notification, over REST and every RPC protocol and encoding. */

const { sendTransaction, listTransactions } = TransactionService.method;
const { createNotification, testNotification } = NotificationService.method;

/** Every pair of a protocol and an encoding whose bodies the service reads itself. */
const forms = [
  ['application/grpc', envelope],
  ['application/grpc+json', envelope],
  ['application/grpc-web+proto', envelope],
  ['application/grpc-web+json', envelope],
  ['application/proto', (body: Buffer) => body],
  ['application/json', (body: Buffer) => body],
] as const;

let rig: AppRig;
let askers: readonly RpcAsker[];

before(async () => {
  rig = await startAppRig({ notifications: [{ id: 'hook', type: 'webhook', url: 'https://hooks.example.com' }] });
  askers = rpcAskers(rig.baseUrl);
});
after(async () => {
  for (const asker of askers ?? []) asker.close();
  await rig?.stop();
});

/** Sends protobuf JSON in every form, and returns what each answered. */
async function inEveryForm(method: DescMethodUnary, message: JsonValue): Promise<[string, RpcAnswer][]> {
  const path = `/${method.parent.typeName}/${method.name}`;
  const answers: [string, RpcAnswer][] = [];
  for (const [type, form] of forms) {
    const body = type.endsWith('json') ? Buffer.from(JSON.stringify(message)) : toBinary(method.input, fromJson(method.input, message));
    answers.push([type, errorIn(await rawRpc(rig.baseUrl, path, type, form(Buffer.from(body))))]);
  }
  return answers;
}

describe('limits of one call', () => {
  it('limits: more than 25000 values in a message are refused in every encoding of every protocol', async () => {
    const statuses = (count: number) => ({ relayer_id: 'r1', status: Array<string>(count).fill('TRANSACTION_STATUS_SENT') });
    const operations = { relayer_id: 'r1', stellar: { network: 'local', operations: Array(30_000).fill({}) } };
    for (const [method, message] of [
      [listTransactions, statuses(26_000)],
      [sendTransaction, operations],
    ] as const) {
      for (const [type, answer] of await inEveryForm(method, message)) {
        assert.ok(!answer.ok, type);
        assert.deepEqual([answer.code, answer.info?.reason], ['InvalidArgument', 'BODY_MALFORMED'], type);
        assert.match(answer.sentence, /has more than 25000 values$/, type);
      }
    }
    for (const { protocol, ask } of askers) assert.ok((await ask(listTransactions, statuses(20_000))).ok, protocol);
  });

  it('limits: a list above its maximum is one mistake over every protocol', async () => {
    const relayerIds = Array.from({ length: 1_001 }, (_, index) => `r${index}`);
    const key = { name: 'many', scopes: ['sign'], relayer_ids: relayerIds };
    const created = await rig.ask('POST', '/api/v1/api-keys', { body: JSON.stringify(key) });
    assert.equal(created.status, 400, created.text);
    assert.match(JSON.parse(created.text).error, /^relayer_ids must name at most 1000 relayers$/);
    for (const [type, answer] of await inEveryForm(ApiKeyService.method.createApiKey, { ...key, scopes: ['API_KEY_SCOPE_SIGN'] })) {
      assert.ok(!answer.ok, type);
      assert.deepEqual(
        answer.fields.map(({ field }) => field),
        ['relayer_ids'],
        type,
      );
    }
  });

  it('limits: reading stops at 40 mistakes over every protocol', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`key${index}`, index]));
    for (const type of ['application/grpc+json', 'application/grpc-web+json', 'application/json'] as const) {
      const body = Buffer.from(JSON.stringify({ relayerId: 'r1', evm: unknown }));
      const answer = errorIn(
        await rawRpc(
          rig.baseUrl,
          '/relayer.v1.TransactionService/SendTransaction',
          type,
          type === 'application/json' ? body : envelope(body),
        ),
      );
      assert.ok(!answer.ok, type);
      assert.deepEqual([answer.code, answer.fields.length], ['InvalidArgument', 40], type);
    }
  });

  it('limits: a body of a method without rate limit has at most 64 KiB over every protocol', async () => {
    const id = 'x'.repeat(66_000);
    const rest = await rig.ask('POST', '/api/v1/notifications', { body: JSON.stringify({ id, url: 'https://hooks.example.com' }) });
    assert.deepEqual([rest.status, rest.headers['x-error-reason']], [413, 'BODY_TOO_LARGE']);
    for (const [type, answer] of await inEveryForm(createNotification, { id, url: 'https://hooks.example.com' })) {
      assert.ok(!answer.ok, type);
      assert.deepEqual([answer.code, answer.info?.reason], ['ResourceExhausted', 'BODY_TOO_LARGE'], type);
    }
  });

  it('limits: tests of a notification beyond ten at once are refused over every protocol together', async () => {
    const outcomes: string[] = [];
    for (let round = 0; round < 30 && !outcomes.includes('refused'); round += 1) {
      const { status } = await rig.ask('POST', '/api/v1/notifications/hook/test');
      outcomes.push(status === 200 ? 'accepted' : 'refused');
    }
    assert.ok(outcomes.length > 10 && outcomes.at(-1) === 'refused', outcomes.join());
    for (const { protocol, ask } of askers) {
      // The bucket gets a place each second, which one of the earlier calls may have left.
      const answers = [await ask(testNotification, { notification_id: 'hook' }), await ask(testNotification, { notification_id: 'hook' })];
      const answer = answers.find((one) => !one.ok);
      assert.ok(answer !== undefined && !answer.ok, protocol);
      assert.deepEqual([answer.code, answer.info?.reason], ['ResourceExhausted', 'RATE_LIMITED'], protocol);
    }
  });
});

describe('a key that a mistake would make too powerful', () => {
  const keysNow = async () => JSON.parse((await rig.ask('GET', '/api/v1/api-keys')).text).data.length;

  it('a misspelt list of relayers makes no key for all relayers, over REST and every protocol with JSON', async () => {
    const before = await keysNow();
    for (const misspelt of ['relayers', 'relayerId', 'relayer_id', 'relayerids']) {
      const rest = await rig.ask('POST', '/api/v1/api-keys', { body: JSON.stringify({ name: 'x', scopes: ['sign'], [misspelt]: ['r1'] }) });
      assert.deepEqual([rest.status, rest.headers['x-error-reason']], [400, 'FIELD_UNKNOWN'], misspelt);
      const body = Buffer.from(JSON.stringify({ name: 'x', scopes: ['API_KEY_SCOPE_SIGN'], [misspelt]: ['r1'] }));
      for (const type of ['application/json', 'application/grpc+json', 'application/grpc-web+json']) {
        const sent = type === 'application/json' ? body : envelope(body);
        const answer = errorIn(await rawRpc(rig.baseUrl, '/relayer.v1.ApiKeyService/CreateApiKey', type, sent));
        assert.ok(!answer.ok, type);
        assert.deepEqual([answer.code, answer.info?.reason], ['InvalidArgument', 'FIELD_UNKNOWN'], `${type} ${misspelt}`);
      }
    }
    assert.equal(await keysNow(), before);
  });

  it('admin beside a list of relayers makes no key, over REST and every RPC protocol', async () => {
    const before = await keysNow();
    const body = JSON.stringify({ name: 'x', scopes: ['sign', 'admin'], relayer_ids: ['r1'] });
    assert.equal((await rig.ask('POST', '/api/v1/api-keys', { body })).status, 400);
    const message = { name: 'x', scopes: ['API_KEY_SCOPE_SIGN', 'API_KEY_SCOPE_ADMIN'], relayer_ids: ['r1'] };
    for (const { protocol, ask } of askers) {
      const answer = await ask(ApiKeyService.method.createApiKey, message);
      assert.ok(!answer.ok, protocol);
      assert.deepEqual([answer.code, answer.info?.reason], ['InvalidArgument', 'FIELD_INVALID'], protocol);
      assert.match(answer.sentence, /^scopes must not contain admin if relayer_ids is set/, protocol);
    }
    assert.equal(await keysNow(), before);
  });
});
