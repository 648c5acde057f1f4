import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { type AppRig, type Ask, startAppRig } from '../support/app-rig.js';
import { apiKey } from '../support/service.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const secret = 'a signing key that no log may have';
const who = { keyId: 'bootstrap', keyName: 'bootstrap' };

describe('the audit log', () => {
  let rig: AppRig;
  before(async () => {
    rig = await startAppRig();
  });
  after(() => rig?.stop());

  /** The lines that this call wrote. */
  async function linesOf(verb: string, path: string, ask: Ask): Promise<readonly object[]> {
    const before = rig.audited.length;
    await rig.ask(verb, `/api/v1${path}`, { ...ask, headers: { 'x-request-id': 'my-request', ...ask.headers } });
    return rig.audited.slice(before);
  }

  it('audit: each write has one line with the key, the method, the outcome and the request ID', async () => {
    const body = JSON.stringify({ id: 'hook', url: 'https://hooks.acme.com/secret-path', signing_key: secret });
    const method = '/relayer.v1.NotificationService/CreateNotification';
    const line = { requestId: 'my-request', ...who, method, notification_id: 'hook' };
    assert.deepEqual(await linesOf('POST', '/notifications', { body }), [{ ...line, outcome: 'OK' }]);
    assert.deepEqual(await linesOf('POST', '/notifications', { body }), [{ ...line, outcome: 'NOTIFICATION_EXISTS' }]);
  });

  it('audit: a line names what the call created and shows a replay by an idempotency key', async () => {
    const ask = { body: JSON.stringify({ to, value: 1 }), headers: { 'idempotency-key': 'one' } };
    const [first, ...others] = await linesOf('POST', '/relayers/r1/transactions', ask);
    assert.deepEqual(others, []);
    const { transaction_id: id, ...line } = first as { readonly transaction_id: string };
    assert.match(id, /^[0-9a-f-]{36}$/);
    const expected = {
      requestId: 'my-request',
      ...who,
      method: '/relayer.v1.TransactionService/SendTransaction',
      relayer_id: 'r1',
      outcome: 'OK',
    };
    assert.deepEqual(line, expected);
    assert.deepEqual(await linesOf('POST', '/relayers/r1/transactions', ask), [{ ...expected, transaction_id: id, replayed: true }]);
  });

  it('audit: a refused call has a line, with names from the caller cut to a limit', async () => {
    const [line] = await linesOf('DELETE', `/relayers/r1/transactions/${'x'.repeat(100)}`, {});
    const method = '/relayer.v1.TransactionService/CancelTransaction';
    const ids = { relayer_id: 'r1', transaction_id: 'x'.repeat(64) };
    assert.deepEqual(line, { requestId: 'my-request', ...who, method, ...ids, outcome: 'TRANSACTION_NOT_FOUND' });
  });

  it('audit: a line names the calling key and the created key but never shows a key', async () => {
    const [made] = await linesOf('POST', '/api-keys', { body: '{"name":"signing only","scopes":["sign"]}' });
    assert.match((made as { readonly api_key_id: string }).api_key_id, /^[0-9a-f-]{36}$/);
    const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"signing only","scopes":["sign"]}' });
    const { id, key } = JSON.parse(text).data as { readonly id: string; readonly key: string };
    const headers = { authorization: `Bearer ${key}` };
    const [line] = await linesOf('POST', '/relayers/r1/sign', { body: '{"message":"hello"}', headers });
    const method = '/relayer.v1.SigningService/SignData';
    assert.deepEqual(line, { requestId: 'my-request', keyId: id, keyName: 'signing only', method, relayer_id: 'r1', outcome: 'OK' });
  });

  it('audit: reads have no line', async () => {
    assert.deepEqual(await linesOf('GET', '/relayers', {}), []);
    assert.deepEqual(await linesOf('POST', '/relayers/r1/rpc', { body: '{"method":"eth_chainId"}' }), []);
  });

  it('audit: calls over RPC have the same lines as over REST', async () => {
    const client = createClient(NotificationService, createGrpcTransport({ baseUrl: rig.baseUrl }));
    const headers = { authorization: `Bearer ${apiKey}`, 'x-request-id': 'by-grpc' };
    await client.deleteNotification({ notificationId: 'hook' }, { headers });
    const method = '/relayer.v1.NotificationService/DeleteNotification';
    assert.deepEqual(rig.audited.at(-1), { requestId: 'by-grpc', ...who, method, notification_id: 'hook', outcome: 'OK' });
  });

  it('audit: no line holds a secret', () => {
    const text = JSON.stringify(rig.audited);
    for (const word of [secret, 'secret-path', 'rk_', apiKey]) assert.ok(!text.includes(word));
  });
});
