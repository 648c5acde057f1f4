import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { type RpcAsker, rpcAnswerOf, rpcAskers } from '../support/rpc-askers.js';
import { apiKey } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const id = '01900000-0000-7000-8000-000000000000';
const hash = 'ab'.repeat(32);
const sentence = 'the database of the service is unavailable; retry later';
const url = 'https://example.org/';
const transactions = '/api/v1/relayers/r1/transactions';

interface Row {
  readonly rest: readonly [verb: string, path: string, body?: object];
  readonly rpc: readonly [method: DescMethodUnary, request: JsonValue];
  readonly headers?: Readonly<Record<string, string>>;
  /** 500 if the published API lists 500 for the method. */
  readonly status: 500 | 503;
}

const { method: transaction } = TransactionService;
const { method: notification } = NotificationService;
const evm = { to, value: '1' };
const rows: Readonly<Record<string, Row>> = {
  send: { rest: ['POST', transactions, evm], rpc: [transaction.sendTransaction, { relayerId: 'r1', evm }], status: 503 },
  'send with an idempotency key': {
    rest: ['POST', transactions, evm],
    rpc: [transaction.sendTransaction, { relayerId: 'r1', evm }],
    headers: { 'idempotency-key': 'k' },
    status: 503,
  },
  replace: {
    rest: ['PUT', `${transactions}/${id}`, evm],
    rpc: [transaction.replaceTransaction, { relayerId: 'r1', transactionId: id, evm }],
    status: 500,
  },
  cancel: {
    rest: ['DELETE', `${transactions}/${id}`],
    rpc: [transaction.cancelTransaction, { relayerId: 'r1', transactionId: id }],
    status: 503,
  },
  read: { rest: ['GET', `${transactions}/${id}`], rpc: [transaction.getTransaction, { relayerId: 'r1', transactionId: id }], status: 503 },
  list: { rest: ['GET', transactions], rpc: [transaction.listTransactions, { relayerId: 'r1' }], status: 503 },
  'create a notification': {
    rest: ['POST', '/api/v1/notifications', { url }],
    rpc: [notification.createNotification, { url }],
    status: 500,
  },
  'update a notification': {
    rest: ['PATCH', '/api/v1/notifications/n1', { url }],
    rpc: [notification.updateNotification, { notificationId: 'n1', url }],
    status: 500,
  },
  'list notifications': { rest: ['GET', '/api/v1/notifications'], rpc: [notification.listNotifications, {}], status: 503 },
  'create an API key': {
    rest: ['POST', '/api/v1/api-keys', { name: 'k', scopes: ['sign'] }],
    rpc: [ApiKeyService.method.createApiKey, { name: 'k', scopes: ['API_KEY_SCOPE_SIGN'] }],
    status: 503,
  },
};

describe('store away: PostgreSQL stops under a running service', () => {
  let server: TestPostgres;
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    server = await startPostgres();
    rig = await startAppRig({ env: { DATABASE_URL: await server.newDatabase() } });
    askers = rpcAskers(rig.baseUrl);
    const accepted = await rig.ask('POST', transactions, { body: JSON.stringify(evm) });
    assert.equal(accepted.status, 200, accepted.text);
    await server.stop();
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
    await server?.stop().catch(() => undefined);
  });

  for (const [name, { rest, rpc, headers = {}, status }] of Object.entries(rows)) {
    it(`store away: ${name} answers ${status} over REST and UNAVAILABLE over every RPC protocol`, async () => {
      const [verb, path, body] = rest;
      const answer = await rig.ask(verb, path, { body: body && JSON.stringify(body), headers });
      assert.equal(answer.status, status, answer.text);
      const { success, data, message, error } = JSON.parse(answer.text);
      const told = { success, data, message, error, reason: answer.headers['x-error-reason'] };
      const internal = { success: false, data: null, message: 'Internal Server Error', error: 'Internal Server Error', reason: 'INTERNAL' };
      const away = { success: false, data: null, message: 'Service Unavailable', error: sentence, reason: 'SERVICE_UNAVAILABLE' };
      assert.deepEqual(told, status === 500 ? internal : away);
      for (const asker of askers) {
        const refused = await asker.ask(...rpc, headers);
        assert.ok(!refused.ok, asker.protocol);
        assert.deepEqual(
          [refused.code, refused.sentence, refused.info?.reason, refused.info?.metadata.message, refused.retryDelayMs],
          ['Unavailable', sentence, 'SERVICE_UNAVAILABLE', 'Service Unavailable', 1_000],
          asker.protocol,
        );
      }
    });
  }

  it('store away: a watch ends with UNAVAILABLE', async () => {
    const transport = createGrpcTransport({ baseUrl: rig.baseUrl });
    const watch = createClient(TransactionService, transport).watchTransactions(
      { relayerId: 'r1', transactionId: id },
      { headers: { authorization: `Bearer ${apiKey}` } },
    );
    const error = await watch[Symbol.asyncIterator]()
      .next()
      .then(
        () => assert.fail('the watch goes on'),
        (thrown: unknown) => ConnectError.from(thrown),
      );
    assert.equal(error.code, Code.Unavailable);
    const answer = rpcAnswerOf(error);
    assert.equal(!answer.ok && answer.info?.reason, 'SERVICE_UNAVAILABLE');
  });

  it('store away: signing goes on, and readiness says that the store is not working', async () => {
    const signed = await rig.ask('POST', '/api/v1/relayers/r1/sign-typed-data', {
      body: JSON.stringify({ domain_separator: hash, hash_struct_message: hash }),
    });
    assert.equal(signed.status, 200, signed.text);
    for (const asker of askers) {
      const { ok } = await asker.ask(SigningService.method.signTypedData, {
        relayerId: 'r1',
        domainSeparator: hash,
        hashStructMessage: hash,
      });
      assert.ok(ok, asker.protocol);
    }
    const ready = await waitFor('the measurement before the stop to expire', async () => {
      const answer = await rig.ask('GET', '/api/v1/ready');
      return answer.status === 503 ? answer : undefined;
    });
    assert.match(ready.text, /not working/);
  });

  it('store away: the log has the cause of each failed call, and no answer has it', async () => {
    assert.ok(rig.errors.filter((message) => message === 'a call failed').length > 0);
    const { text } = await rig.ask('GET', transactions);
    assert.doesNotMatch(text, /127\.0\.0\.1|ECONN|terminat|postgres/i);
  });
});
