import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { after, before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { errorFromJson } from '@connectrpc/connect/protocol-connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../gen/relayer/v1/overview_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import {
  ListTransactionsRequestSchema,
  ListTransactionsResponseSchema,
  TransactionService,
} from '../../gen/relayer/v1/transaction_service_pb.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { type AppRig, keys, type RestAnswer, startAppRig } from '../support/app-rig.js';
import { type RpcAnswer, rpcAnswerOf } from '../support/rpc-askers.js';
import { apiKey } from '../support/service.js';

const list = '/relayer.v1.TransactionService/ListTransactions';
const listJson = encodeURIComponent('{"relayerId":"r1"}');

let rig: AppRig;

before(async () => {
  rig = await startAppRig({ env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1000', RATE_LIMIT_BURST_SIZE: '1000' } });
});

after(() => rig?.stop());

function errorOf({ text }: RestAnswer): RpcAnswer & { ok: false } {
  const answer = rpcAnswerOf(errorFromJson(JSON.parse(text), undefined, new ConnectError('no error')));
  assert.ok(!answer.ok);
  return answer;
}

it('Connect GET: exactly the unary methods that change nothing declare NO_SIDE_EFFECTS', () => {
  const services = [
    TransactionService,
    SigningService,
    NotificationService,
    RelayerService,
    SignerService,
    NetworkService,
    ApiKeyService,
    InstanceService,
    OverviewService,
    AuditService,
  ];
  for (const { method, writes } of compileMethodPlans(services)) {
    if (method.methodKind !== 'unary') continue;
    const isDeclared = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    assert.equal(isDeclared, !writes, method.name);
  }
});

for (const httpVersion of ['1.1', '2'] as const) {
  for (const useBinaryFormat of [true, false]) {
    it(`Connect GET: Connect's own client reads over HTTP/${httpVersion}, ${useBinaryFormat ? 'binary' : 'JSON'}`, async () => {
      const verbs: string[] = [];
      const noteVerb = (sent: unknown) => void verbs.push((sent as { request: ClientRequest }).request.method);
      subscribe('http.client.request.start', noteVerb);
      const transport = createConnectTransport({ baseUrl: rig.baseUrl, httpVersion, useBinaryFormat, useHttpGet: true });
      const headers = { authorization: `Bearer ${apiKey}` };
      const { relayer } = await createClient(RelayerService, transport).getRelayer({ relayerId: 'r1' }, { headers });
      assert.equal(relayer?.id, 'r1');
      await assert.rejects(createClient(RelayerService, transport).getRelayer({ relayerId: 'nobody' }, { headers }), (error) => {
        assert.equal(ConnectError.from(error).code, Code.NotFound);
        return true;
      });
      await assert.rejects(createClient(RelayerService, transport).getRelayer({ relayerId: 'r1' }), (error) => {
        assert.equal(ConnectError.from(error).code, Code.Unauthenticated);
        return true;
      });
      unsubscribe('http.client.request.start', noteVerb);
      // Node reports the requests of HTTP/1.1 only.
      assert.deepEqual(new Set(verbs), new Set(httpVersion === '2' ? [] : ['GET']));
    });
  }
}

it('Connect GET: the message may be base64, padded or not, and compressed', async () => {
  const binary = toBinary(ListTransactionsRequestSchema, create(ListTransactionsRequestSchema, { relayerId: 'r1' }));
  const base64 = Buffer.from(binary).toString('base64');
  for (const query of [
    `encoding=proto&base64=1&message=${encodeURIComponent(base64)}`,
    `encoding=proto&base64=1&message=${Buffer.from(binary).toString('base64url')}`,
    `encoding=proto&base64=1&compression=gzip&message=${gzipSync(binary).toString('base64url')}`,
    `encoding=json&base64=1&message=${Buffer.from('{"relayerId":"r1"}').toString('base64url')}`,
    `encoding=json&message=${listJson}&connect=v1&compression=identity`,
  ]) {
    const answer = await rig.ask('GET', `${list}?${query}`);
    assert.equal(answer.status, 200, query);
    const read = query.startsWith('encoding=json')
      ? fromJson(ListTransactionsResponseSchema, JSON.parse(answer.text))
      : fromBinary(ListTransactionsResponseSchema, Buffer.from(answer.text));
    assert.equal(read.pagination?.currentPage, 1, query);
  }
});

it('Connect GET: a method that writes answers 405 and allows POST', async () => {
  const message = encodeURIComponent('{"relayerId":"r1","evm":{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":"1"}}');
  for (const path of ['TransactionService/SendTransaction', 'SigningService/SignTypedData', 'TransactionService/WatchTransactions']) {
    const answer = await rig.ask('GET', `/relayer.v1.${path}?connect=v1&encoding=json&message=${message}`);
    assert.equal(answer.status, 405, path);
    assert.equal(answer.headers.allow, 'POST');
    assert.deepEqual([errorOf(answer).code, errorOf(answer).info?.reason], ['Unknown', 'METHOD_NOT_ALLOWED']);
  }
});

it('Connect GET: the guards and the rules of JSON hold as for POST', async () => {
  const ask = (query: string, key: string = apiKey) => rig.ask('GET', `${list}?${query}`, { headers: { authorization: `Bearer ${key}` } });
  const cases: readonly (readonly [query: string, key: string, code: string, reason: string])[] = [
    [`encoding=json&message=${listJson}`, 'no-key', 'Unauthenticated', 'CREDENTIALS_INVALID'],
    [`encoding=json&message=${listJson}`, keys.notifier, 'PermissionDenied', 'SCOPE_MISSING'],
    [`encoding=json&message=${listJson}`, keys.onlyR2, 'PermissionDenied', 'RELAYER_NOT_ALLOWED'],
    ['encoding=json', apiKey, 'InvalidArgument', 'FIELD_INVALID'],
    ['encoding=json&message=%7B', apiKey, 'InvalidArgument', 'BODY_MALFORMED'],
    ['encoding=json&message=%7B%22relayer%22%3A1%7D', apiKey, 'InvalidArgument', 'FIELD_UNKNOWN'],
    ['encoding=proto&base64=1&message=%21%21', apiKey, 'InvalidArgument', 'FIELD_INVALID'],
    ['encoding=proto&base64=1&message=A', apiKey, 'InvalidArgument', 'FIELD_INVALID'],
    [`encoding=json&compression=br&message=${listJson}`, apiKey, 'Unimplemented', 'ENCODING_UNSUPPORTED'],
  ];
  for (const [query, key, code, reason] of cases) {
    const error = errorOf(await ask(query, key));
    assert.deepEqual([error.code, error.info?.reason], [code, reason], query);
  }
  for (const query of [`message=${listJson}`, `encoding=text&message=${listJson}`]) assert.equal((await ask(query)).status, 415, query);
  assert.ok((await ask(`encoding=json&message=${listJson}`)).headers.ratelimit !== undefined);
});

it('Connect GET: a message that is too long for a URL answers 431', async () => {
  const answer = await rig.ask('GET', `${list}?encoding=json&message=${listJson}${'%20'.repeat(6_000)}`);
  assert.equal(answer.status, 431);
});
