import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { hashMessage } from 'ethers';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, type Ask, askRest, keys, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { apiKey, createServiceHome, launchService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const secret = 'a signing key that no log may have';
const address = '127.0.0.1';
const who = { address, keyId: 'bootstrap', keyName: 'bootstrap' };

function withoutRequestFacts(line: object): object {
  const { path, status, ms, traceId, requestDigest, ...others } = line as Record<string, unknown>;
  return others;
}

describe('the audit log', () => {
  let rig: AppRig;
  before(async () => {
    rig = await startAppRig();
  });
  after(() => rig?.stop());

  /** The lines that this call wrote, without the facts of its request. */
  async function linesOf(verb: string, path: string, ask: Ask): Promise<readonly object[]> {
    const before = rig.audited.length;
    await rig.ask(verb, `/api/v1${path}`, { ...ask, headers: { 'x-request-id': 'my-request', ...ask.headers } });
    return rig.audited.slice(before).map(withoutRequestFacts);
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
      to,
      value: '1',
      outcome: 'OK',
    };
    assert.deepEqual(line, expected);
    assert.deepEqual(await linesOf('POST', '/relayers/r1/transactions', ask), [{ ...expected, transaction_id: id, replayed: true }]);
  });

  it('audit: a line names all that were sent together, with their receivers and values', async () => {
    const body = JSON.stringify({
      transactions: [
        { to, value: 1 },
        { value: 0, data: '0x00' },
      ],
    });
    const [line, ...others] = await linesOf('POST', '/relayers/r1/transactions/batch', { body });
    assert.deepEqual(others, []);
    const { transaction_ids: ids, ...rest } = line as { readonly transaction_ids: readonly string[] };
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      requestId: 'my-request',
      ...who,
      method: '/relayer.v1.TransactionService/SendTransactions',
      relayer_id: 'r1',
      to: [to, ''],
      value: ['1', '0'],
      outcome: 'OK',
    });
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
    const digest = hashMessage('hello');
    assert.deepEqual(line, {
      requestId: 'my-request',
      address,
      keyId: id,
      keyName: 'signing only',
      method,
      relayer_id: 'r1',
      digest,
      outcome: 'OK',
    });
  });

  it('audit: a line says what was changed, and what a created key may do', async () => {
    const facts = async (verb: string, path: string, body: object) => {
      const [{ requestId, address, keyId, keyName, method, ...rest }] = (await linesOf(verb, path, { body: JSON.stringify(body) })) as [
        Record<string, string>,
      ];
      return rest;
    };
    const rpcUrls = ['http://127.0.0.1:7/provider-key'];
    assert.deepEqual(await facts('PATCH', '/networks/evm:local', { rpc_urls: rpcUrls }), {
      network_id: 'evm:local',
      from: 'http://127.0.0.1:9',
      to: 'http://127.0.0.1:7/***',
      outcome: 'OK',
    });
    const { api_key_id: _, ...key } = await facts('POST', '/api-keys', { name: 'x', scopes: ['sign'], relayer_ids: ['r1', 'r2'] });
    assert.deepEqual(key, { name: 'x', scopes: 'sign', relayers: 'r1 r2', expires_at: 'never', addresses: 'all', outcome: 'OK' });
    assert.deepEqual(await facts('PATCH', '/relayers/r2', { paused: true }), {
      relayer_id: 'r2',
      changed: 'paused',
      from: '{"paused":false}',
      to: '{"paused":true}',
      outcome: 'OK',
    });
    await rig.ask('PATCH', '/api/v1/relayers/r2', { body: '{"paused":false}' });
    const policies = { gas_price_cap: 7, rules: [{ id: 'small', effect: 'allow', max_value: 9 }], signing: { messages: 'allow' } };
    const { from, to, ...changed } = await facts('PATCH', '/relayers/r2', { policies });
    assert.deepEqual(changed, { relayer_id: 'r2', changed: 'policies', policiesVersion: '2', outcome: 'OK' });
    assert.deepEqual(JSON.parse(from ?? ''), { policies: { gasPriceCapWei: null, rules: null, signing: null } }, 'of what changed alone');
    const after = JSON.parse(to ?? '').policies;
    assert.deepEqual([after.gasPriceCapWei, after.rules[0].maxValueWei, after.signing.messages], ['7', '9', true]);
    const signed = await facts('POST', '/relayers/r2/sign', { message: 'hello' });
    assert.equal(signed.policiesVersion, 2, 'the line of a call names the policies that decided');
    await rig.ask('PATCH', '/api/v1/relayers/r2', { body: '{"policies":null}' });
    const update = { url: 'https://hooks.acme.com/secret-path-2', signing_key: secret };
    assert.deepEqual(await facts('PATCH', '/notifications/hook', update), {
      notification_id: 'hook',
      changed: 'url signing_key',
      outcome: 'OK',
    });
  });

  it('audit: a read of a relayer that the key may not use has a line over every protocol', async () => {
    const limited = { authorization: `Bearer ${keys.onlyR2}` };
    const refused = { address, keyId: 'only-r2', keyName: 'only-r2', relayer_id: 'r1', outcome: 'RELAYER_NOT_ALLOWED' };
    const asked = (method: string) => ({ requestId: 'my-request', ...refused, method });
    for (const [path, method] of [
      ['/relayers/r1', 'RelayerService.GetRelayer'],
      ['/relayers/r1/transactions', 'TransactionService.ListTransactions'],
      ['/relayers/r1/transactions/x', 'TransactionService.GetTransaction'],
    ] as const)
      assert.deepEqual(await linesOf('GET', path, { headers: limited }), [asked(method)]);
    const call = { method: TransactionService.method.listTransactions, request: { relayerId: 'r1' } };
    for (const asker of rpcAskers(rig.baseUrl)) {
      const before = rig.audited.length;
      const answer = await asker.ask(call.method, call.request, { ...limited, 'x-request-id': 'my-request' });
      assert.ok(!answer.ok && answer.code === 'PermissionDenied', asker.protocol);
      assert.deepEqual(rig.audited.slice(before), [asked('TransactionService.ListTransactions')], asker.protocol);
      asker.close();
    }
    const before = rig.audited.length;
    const watch = createClient(TransactionService, createGrpcTransport({ baseUrl: rig.baseUrl })).watchTransactions(
      { relayerId: 'r1' },
      { headers: { ...limited, 'x-request-id': 'my-request' } },
    );
    await assert.rejects(watch[Symbol.asyncIterator]().next());
    assert.deepEqual(rig.audited.slice(before), [asked('TransactionService.WatchTransactions')]);
  });

  it('audit: refused keys have a line without the key, and cannot flood the log', async () => {
    const headers = { authorization: 'Bearer rk_guessed-guessed-guessed-guessed' };
    const refused = { requestId: 'my-request', address, keyId: null, keyName: null };
    assert.deepEqual(await linesOf('GET', '/relayers', { headers }), [
      { ...refused, method: 'RelayerService.ListRelayers', outcome: 'CREDENTIALS_INVALID' },
    ]);
    const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"reader","scopes":["transactions:read"]}' });
    const { id, key } = JSON.parse(text).data as { readonly id: string; readonly key: string };
    const [line] = await linesOf('POST', '/relayers/r1/sign', { body: '{}', headers: { authorization: `Bearer ${key}` } });
    assert.deepEqual(line, {
      ...refused,
      keyId: id,
      keyName: 'reader',
      method: 'SigningService.SignData',
      outcome: 'SCOPE_MISSING',
    });
    const before = rig.audited.length;
    const startedAt = performance.now();
    for (let count = 0; count < 500; count += 1) await rig.ask('GET', '/api/v1/relayers', { headers });
    // 50 at once and 5 per second, on a machine of any speed.
    const allowed = 50 + 5 * Math.ceil((performance.now() - startedAt) / 1_000);
    assert.ok(rig.audited.length - before <= allowed, `${rig.audited.length - before} lines, at most ${allowed} allowed`);
    const later = await waitFor('a line that counts those left out', async () => {
      await rig.ask('GET', '/api/v1/relayers', { headers });
      return (rig.audited as readonly { readonly suppressed?: number }[]).find(({ suppressed = 0 }) => suppressed > 0);
    });
    assert.ok(later);
  });

  it('audit: lines are written at every LOG_LEVEL, to AUDIT_LOG_FILE if it is set', async (test) => {
    const file = join(await temporaryFolder(), 'audit.log');
    for (const env of [{ LOG_LEVEL: 'error' }, { LOG_LEVEL: 'error', AUDIT_LOG_FILE: file }]) {
      const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
      test.after(() => home.remove());
      const service = await startServiceHere(home);
      const { status } = await askRest(service.port, 'POST', '/api/v1/relayers/r1/sign', { body: '{"message":"hello"}' });
      assert.equal(status, 200);
      await service.stop();
      const lines = () => ('AUDIT_LOG_FILE' in env ? readFileSync(file, 'utf8') : service.output());
      const line = await waitFor('the line', () => /^.*"msg":"audit".*$/m.exec(lines())?.[0]);
      const { level, time, digest } = JSON.parse(line) as Record<string, string>;
      assert.deepEqual([level, digest], ['audit', hashMessage('hello')]);
      assert.match(time ?? '', /^\d{4}-.*Z$/);
    }
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it('audit: a line in the log replaces the request line; with AUDIT_LOG_FILE, both are written', async (test) => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = { 'x-request-id': 'mine', traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const path = '/api/v1/relayers/r1/sign';
    for (const file of [null, join(await temporaryFolder(), 'audit.log')]) {
      const env = { LOG_LEVEL: 'info', ...(file !== null && { AUDIT_LOG_FILE: file }) };
      const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
      test.after(() => home.remove());
      const service = await startServiceHere(home);
      await askRest(service.port, 'POST', path, { body: '{"message":"hello"}', headers });
      await askRest(service.port, 'POST', path, { body: '{"message":1}', headers });
      await askRest(service.port, 'GET', '/api/v1/relayers', { headers });
      await service.stop();
      const lines = `${service.output()}${file === null ? '' : readFileSync(file, 'utf8')}`
        .split('\n')
        .filter((line) => line.includes('"requestId":"mine"'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        lines.filter(({ msg }) => msg === 'audit').map((line) => [line.path, line.status, line.outcome, line.traceId, typeof line.ms]),
        [
          [path, 200, 'OK', traceId, 'number'],
          [path, 400, 'FIELD_INVALID', traceId, 'number'],
        ],
      );
      const requests = lines.filter(({ msg }) => msg === 'request').map(({ method }) => method);
      assert.deepEqual(requests, file === null ? ['GET'] : ['POST', 'POST', 'GET']);
    }
  });

  it('audit: a pipe as AUDIT_LOG_FILE ends the start with a clear error instead of blocking it', async (test) => {
    const pipe = join(await temporaryFolder(), 'audit.fifo');
    execFileSync('mkfifo', [pipe]);
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { AUDIT_LOG_FILE: pipe } });
    test.after(() => home.remove());
    const launched = launchService(home);
    test.after(() => launched.kill());
    await assert.rejects(launched.listening, /AUDIT_LOG_FILE .*audit\.fifo is a pipe or a socket; must be a file/);
    assert.equal(await launched.exited, 1);
  });

  it('audit: calls that move money or sign have the digest of their request, the same over REST and RPC and with any idempotency key', async () => {
    const digestOf = () => (rig.audited.at(-1) as { readonly requestDigest?: string }).requestDigest;
    const ask = (value: number, key?: string) =>
      rig.ask('POST', '/api/v1/relayers/r1/transactions', {
        body: JSON.stringify({ to, value }),
        headers: key === undefined ? {} : { 'idempotency-key': key },
      });
    await ask(7);
    const digest = digestOf();
    assert.match(digest ?? '', /^[0-9a-f]{64}$/);
    await ask(7, 'digest-by-header');
    assert.equal(digestOf(), digest);
    const client = createClient(TransactionService, createGrpcTransport({ baseUrl: rig.baseUrl }));
    const transaction = { case: 'evm' as const, value: { to, value: '7' } };
    const headers = { authorization: `Bearer ${apiKey}` };
    await client.sendTransaction({ relayerId: 'r1', transaction, idempotencyKey: 'digest-by-field' }, { headers });
    assert.equal(digestOf(), digest);
    await ask(8);
    assert.notEqual(digestOf(), digest);
    await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"x","scopes":["sign"]}' });
    assert.equal(digestOf(), undefined);
  });

  it('audit: a write that is refused for its syntax, type or size has one line', async () => {
    const who = {
      requestId: 'my-request',
      address,
      keyId: 'bootstrap',
      keyName: 'bootstrap',
      method: 'TransactionService.SendTransaction',
    };
    const refused = async (ask: Ask) => linesOf('POST', '/relayers/r1/transactions', ask);
    assert.deepEqual(await refused({ body: '{' }), [{ ...who, outcome: 'BODY_MALFORMED' }]);
    assert.deepEqual(await refused({ body: '{}', headers: { 'content-type': 'text/plain' } }), [
      { ...who, outcome: 'CONTENT_TYPE_UNSUPPORTED' },
    ]);
    assert.deepEqual(await refused({ body: ' '.repeat(1_100_000) }), [{ ...who, outcome: 'BODY_TOO_LARGE' }]);
  });

  it('audit: a stranger who floods the log hides no refusal of a known key', async () => {
    const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"stolen","scopes":["transactions:read"]}' });
    const { id, key } = JSON.parse(text).data as { readonly id: string; readonly key: string };
    const stranger = { authorization: 'Bearer rk_guessed-guessed-guessed-guessed' };
    const before = rig.audited.length;
    for (let count = 0; count < 40; count += 1) {
      for (let noise = 0; noise < 5; noise += 1) await rig.ask('GET', '/api/v1/relayers', { headers: stranger });
      await rig.ask('POST', '/api/v1/relayers/r1/sign', { body: '{}', headers: { authorization: `Bearer ${key}` } });
    }
    const lines = rig.audited.slice(before) as readonly { readonly keyId: string | null }[];
    assert.equal(lines.filter(({ keyId }) => keyId === id).length, 40);
  });

  it('audit: with AUDIT_FAIL=closed, a file that cannot be written stops writes and signatures, and nothing else', async (test) => {
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { AUDIT_LOG_FILE: '/dev/full', AUDIT_FAIL: 'closed' } });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const ask = (verb: string, path: string, body?: string) => askRest(service.port, verb, `/api/v1${path}`, { body });
    for (let count = 0; count < 2; count += 1) {
      const signed = await ask('POST', '/relayers/r1/sign', '{"message":"hello"}');
      assert.equal(signed.status, 503);
      assert.doesNotMatch(signed.text, /"sig"/);
      assert.equal((await ask('POST', '/relayers/r1/transactions', JSON.stringify({ to, value: 1 }))).status, 503);
      assert.equal((await ask('GET', '/relayers')).status, 200);
    }
    const { status, text } = await ask('GET', '/ready');
    assert.equal(status, 503);
    assert.match(text, /"audit":"the audit log cannot be written"/);
  });

  it('audit: with AUDIT_FAIL=closed, a waiting transaction says that the audit log cannot be written, until it can', async (test) => {
    const folder = join(await temporaryFolder(), 'audit');
    mkdirSync(folder);
    const env = { AUDIT_LOG_FILE: join(folder, 'audit.log'), AUDIT_FAIL: 'closed' };
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const ask = (verb: string, path: string, body?: string) => askRest(service.port, verb, `/api/v1${path}`, { body });
    const sent = await ask('POST', '/relayers/r1/transactions', JSON.stringify({ to, value: 1 }));
    const { id } = JSON.parse(sent.text).data as { readonly id: string };
    const reasonIs = (reason: RegExp) =>
      waitFor(String(reason), async () => {
        const { text } = await ask('GET', `/relayers/r1/transactions/${id}`);
        return reason.test(JSON.parse(text).data.status_reason) || undefined;
      });
    await reasonIs(/no RPC node is reachable/);
    rmSync(folder, { recursive: true });
    assert.equal((await ask('POST', '/relayers/r1/sign', '{"message":"hello"}')).status, 503);
    await reasonIs(/queued for signing: the service cannot write its audit log/);
    const ready = await ask('GET', '/ready');
    assert.equal(ready.status, 503);
    assert.match(ready.text, /"lanes":"signing stopped: the service cannot write its audit log"/);
    mkdirSync(folder);
    await reasonIs(/no RPC node is reachable/);
    assert.equal((await ask('POST', '/relayers/r1/sign', '{"message":"hello"}')).status, 200);
  });

  it('audit: with AUDIT_FAIL=open, a file that cannot be written stops nothing', async (test) => {
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { AUDIT_LOG_FILE: '/dev/full' } });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    for (let count = 0; count < 3; count += 1)
      assert.equal((await askRest(service.port, 'POST', '/api/v1/relayers/r1/sign', { body: '{"message":"hello"}' })).status, 200);
    const { text } = await askRest(service.port, 'GET', '/api/v1/ready', {});
    assert.match(text, /"audit":"the audit log cannot be written"/);
    assert.match(service.output(), /the audit log cannot be written; its lines wait in memory/);
  });

  it('audit: a write that goes on after the deadline of its caller has one line, about its end', async () => {
    const before = rig.audited.length;
    const release = rig.holdCommits(({ name }) => name === 'insertTransaction');
    const client = createClient(TransactionService, createGrpcTransport({ baseUrl: rig.baseUrl }));
    const request = { relayerId: 'r1', transaction: { case: 'evm' as const, value: { to, value: '1' } } };
    const headers = { authorization: `Bearer ${apiKey}` };
    await assert.rejects(client.sendTransaction(request, { headers, timeoutMs: 500 }), /deadline/);
    await waitFor('the write', () => rig.heldCommits() > 0 || undefined);
    release();
    await waitFor('the line', () => rig.audited.length > before || undefined);
    const outcomes = (rig.audited.slice(before) as readonly { readonly outcome: string }[]).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['OK']);
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
    const line = withoutRequestFacts(rig.audited.at(-1) ?? {});
    assert.deepEqual(line, { requestId: 'by-grpc', ...who, method, notification_id: 'hook', outcome: 'OK' });
  });

  it('audit: no line holds a secret', () => {
    const text = JSON.stringify(rig.audited);
    for (const word of [secret, 'secret-path', '"rk_', ' rk_', 'provider-key', 'guessed', apiKey]) assert.ok(!text.includes(word));
  });
});
