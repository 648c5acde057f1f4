import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { PluginService } from '../../gen/relayer/v1/plugin_service_pb.js';
import { askRest } from '../support/app-rig.js';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { apiKey, createServiceHome, databaseBytes, type RunningService, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

const secret = 'SECRETMARK-of-the-plugin';
const answerType = 'application/vnd.relayer.plugin+json';

function json(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
}

describe('plugins', () => {
  let home: ServiceHome;
  let service: RunningService;
  let process1: HttpReceiver;
  /** How the process of the plugin `one` answers the next calls. */
  let behave: (response: ServerResponse, path: string) => void;
  const rest: RestClient = (...call) => restClient(() => service.baseUrl)(...call);
  const lastRequest = () => process1.requests.at(-1);

  before(async () => {
    process1 = await startHttpReceiver({ after: (release) => after(release) }, (response, { path = '' }) => behave(response, path));
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { LOG_LEVEL: 'debug' } });
    const file = join(home.dir, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    const headers = [{ name: 'X-Plugin-Secret', value: { type: 'plain', value: secret } }];
    const ofFile = { id: 'of-file', url: process1.url('/of-file'), headers, timeout: 60, allow_get_invocation: true };
    await writeFile(file, JSON.stringify({ ...config, plugins: [ofFile] }));
    service = await startServiceHere(home);
  });
  after(async () => {
    await service?.stop();
    await home?.remove();
  });

  async function made(id: string, fields: object = {}): Promise<void> {
    const { status, body } = await rest('POST', '/plugins', { id, url: process1.url(`/${id}`), ...fields });
    assert.equal(status, 201, JSON.stringify(body));
  }

  /** Makes a plugin whose process is a TCP server that does this with each connection. */
  async function madeRaw(id: string, fields: object, serve: Parameters<typeof createTcpServer>[1]): Promise<void> {
    const server = createTcpServer(serve).listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => server.close());
    await made(id, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...fields });
  }

  it('plugins: one of the file and one of the API are listed, with their secrets masked', async () => {
    await made('listed', { headers: [{ name: 'X-Plugin-Secret', value: secret }], forward_logs: true });
    const { body } = await rest('GET', '/plugins');
    const shown = body.data.map((one: { id: string }) => one.id);
    assert.deepEqual(shown, ['listed', 'of-file']);
    assert.deepEqual((await rest('GET', '/plugins/of-file')).body.data, {
      id: 'of-file',
      url: `${process1.url('')}/***`,
      timeout_seconds: 60,
      timeout: 60,
      headers: [{ name: 'X-Plugin-Secret', value: '***' }],
      allow_get: true,
      allow_get_invocation: true,
      raw_response: false,
      forward_logs: false,
    });
    assert.ok(!JSON.stringify(body).includes('SECRETMARK'));
    assert.equal((await rest('POST', '/plugins', { id: 'listed', url: process1.url('/') })).reason, 'ID_EXISTS');
    assert.equal((await rest('GET', '/plugins/missing')).reason, 'PLUGIN_NOT_FOUND');
    await rest('DELETE', '/plugins/listed');
  });

  it('plugins: an update takes what answers show, keeps what it does not name, and gives no secret to another place', async () => {
    await made('updated', { headers: [{ name: 'X-Plugin-Secret', value: secret }], timeout_seconds: 7 });
    behave = (response) => json(response, 200, {});
    const { data } = (await rest('GET', '/plugins/updated')).body;
    const { url, headers, allow_get, raw_response, forward_logs } = data;
    const same = await rest('PATCH', '/plugins/updated', { url, headers, allow_get, raw_response, forward_logs });
    assert.deepEqual(same.body.data, data);
    await rest('POST', '/plugins/updated/call', {});
    assert.equal(lastRequest()?.path, '/updated');
    assert.equal(lastRequest()?.headers['x-plugin-secret'], secret);

    const elsewhere = process1.url('/elsewhere');
    assert.match((await rest('PATCH', '/plugins/updated', { url: elsewhere })).body.error, /^headers must be sent with another url/);
    assert.match((await rest('PATCH', '/plugins/updated', { url: elsewhere, headers })).body.error, /^headers\[0\]\.value is masked/);
    const moved = await rest('PATCH', '/plugins/updated', { url: elsewhere, headers: null, timeout: null });
    assert.deepEqual(moved.body.data.headers, []);
    assert.equal(moved.body.data.timeout_seconds, 300);
    const grpc = createClient(PluginService, grpcTransport());
    const masked = await grpc.updatePlugin({
      pluginId: 'updated',
      allowGet: true,
      rawResponse: true,
      updateMask: { paths: ['allow_get'] },
    });
    assert.deepEqual([masked.plugin?.allowGet, masked.plugin?.rawResponse], [true, false]);
    await assert.rejects(grpc.updatePlugin({ pluginId: 'updated', updateMask: { paths: ['url'] } }), /url cannot be removed/);
  });

  function grpcTransport() {
    return createGrpcTransport({
      baseUrl: service.baseUrl,
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${apiKey}`);
          return next(request);
        },
      ],
    });
  }

  it('plugins: the file and the API refuse what the other refuses', async () => {
    for (const [fields, sentence] of [
      [{ url: 'ws://127.0.0.1:1' }, /^url must be a URL that begins with http/],
      [{ url: 'http://127.0.0.1:1/#part' }, /^url must not have a fragment/],
      [{ timeout_seconds: 0 }, /^timeout_seconds must be/],
      [{ headers: [{ name: 'Host', value: 'x' }] }, /^headers\[0\]\.name is a header that only the service/],
      [{ emit_logs: true }, /^emit_logs must be false: set forward_logs/],
      [{ path: 'x.ts' }, /path/],
    ] as const) {
      const { status, body } = await rest('POST', '/plugins', { id: 'refused', url: process1.url('/'), ...fields });
      assert.equal(status, 400, JSON.stringify(fields));
      assert.match(body.error, sentence);
    }
  });

  it('call: passes on method, route, query, body and chosen headers, but neither the key nor what belongs to the connection', async () => {
    await made('passing', { url: process1.url('/base?fixed=1'), allow_get: true, headers: [{ name: 'X-Own', value: secret }] });
    behave = (response) => json(response, 200, { seen: true });
    const answer = await askRest(service.port, 'POST', '/api/v1/plugins/passing/call/a%20b/c?q=1&q=%2F', {
      body: '{"params":{"n":12345678901234567890}}',
      headers: {
        'x-api-key': apiKey,
        'x-payment': 'proof',
        'x-own': 'forged',
        'x-relayer-api-key-id': 'forged',
        'x-forwarded-for': '10.0.0.1',
        cookie: `session=${'1'.repeat(5000)}`,
        'x-empty': '',
        'x-request-id': 'request-of-the-test',
        'idempotency-key': 'once',
        te: 'trailers',
      },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(JSON.parse(answer.text), { success: true, data: { seen: true }, error: null });
    const request = lastRequest();
    assert.equal(request?.method, 'POST');
    assert.equal(request?.path, '/base/a%20b/c?fixed=1&q=1&q=%2F');
    assert.equal(request?.body.toString(), '{"params":{"n":12345678901234567890}}');
    const { connection, host, 'content-length': length, traceparent, ...headers } = request?.headers ?? {};
    assert.ok(connection && host && length);
    assert.ok(traceparent === undefined || typeof traceparent === 'string');
    assert.deepEqual(headers, {
      'content-type': 'application/json',
      'idempotency-key': 'once',
      'x-payment': 'proof',
      'x-own': secret,
      'x-relayer-api-key-id': 'bootstrap',
      'x-relayer-plugin-id': 'passing',
      'x-request-id': 'request-of-the-test',
    });
    assert.ok(!JSON.stringify(request?.headers).includes(apiKey));

    assert.equal((await askRest(service.port, 'GET', '/api/v1/plugins/passing/call/x?y=1')).status, 200);
    assert.equal(lastRequest()?.method, 'GET');
    assert.equal(lastRequest()?.path, '/base/x?fixed=1&y=1');
  });

  it('call: a route cannot leave the path of the plugin', async () => {
    await made('held', { url: process1.url('/base') });
    behave = (response) => json(response, 200, {});
    const before = process1.requests.length;
    for (const route of ['%2e%2e/admin', 'a/..%2fadmin', '..%5cadmin', './x', 'a%00b']) {
      const { status, text } = await askRest(service.port, 'POST', `/api/v1/plugins/held/call/${route}`, { body: '{}' });
      assert.equal(status, 400, `${route}: ${text}`);
    }
    assert.equal(process1.requests.length, before);
  });

  it('call: GET is 405 unless the plugin allows it, and a key needs the scope plugins:call', async () => {
    await made('posting');
    const refused = await askRest(service.port, 'GET', '/api/v1/plugins/posting/call');
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.allow, 'POST');
    assert.equal(refused.headers['x-error-reason'], 'METHOD_NOT_ALLOWED');
    const keyWith = async (scopes: string[]) => (await rest('POST', '/api-keys', { name: scopes.join(), scopes })).body.data.key as string;
    behave = (response) => json(response, 200, {});
    const call = async (key: string) => restClient(() => service.baseUrl, key)('POST', '/plugins/posting/call', {});
    assert.equal((await call(await keyWith(['admin', 'transactions:write']))).reason, 'SCOPE_MISSING');
    const caller = await keyWith(['plugins:call']);
    assert.equal((await call(caller)).status, 200);
    assert.equal((await restClient(() => service.baseUrl, caller)('GET', '/plugins')).reason, 'SCOPE_MISSING');
    assert.match(lastRequest()?.headers['x-relayer-api-key-id'] as string, /^[0-9a-f-]{8,}/);
  });

  it('call: an error of the plugin keeps its status, code and details; logs come only if the plugin forwards them', async () => {
    const logs = [{ level: 'warn', message: 'low\u0007' }, { level: 'odd', message: 'second' }, 'no entry'];
    for (const forwards of [true, false]) {
      const id = `logging-${forwards}`;
      await made(id, { forward_logs: forwards });
      behave = (response) => json(response, 200, { result: { n: 1 }, logs }, answerType);
      const shown = forwards
        ? {
            metadata: {
              logs: [
                { level: 'warn', message: 'low\\u{7}' },
                { level: 'log', message: 'second' },
              ],
              traces: [],
            },
          }
        : {};
      assert.deepEqual((await rest('POST', `/plugins/${id}/call`, {})).body, { success: true, data: { n: 1 }, error: null, ...shown });
      behave = (response) => json(response, 422, { message: 'no channel', code: 'POOL', details: { free: 0 }, logs }, answerType);
      const { status, reason, body } = await rest('POST', `/plugins/${id}/call`, {});
      assert.equal(status, 422);
      assert.equal(reason, null);
      const data = { code: 'POOL', details: { free: 0 } };
      assert.deepEqual(body, { success: false, data, error: 'no channel', message: 'Plugin error', ...shown });
    }
  });

  it('call: raw_response passes the body, the status and the type as they are', async () => {
    await made('raw', { raw_response: true });
    behave = (response) =>
      response
        .writeHead(402, { 'content-type': 'image/x-test', 'payment-required': 'exact', 'set-cookie': 'a=b' })
        .end(Buffer.from([0, 255]));
    const answer = await fetch(`${service.baseUrl}/api/v1/plugins/raw/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: '{}',
    });
    assert.equal(answer.status, 402);
    assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [0, 255]);
    assert.equal(answer.headers.get('content-type'), 'image/x-test');
    assert.equal(answer.headers.get('payment-required'), 'exact');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(answer.headers.get('set-cookie'), null);
  });

  it('CallPlugin: does the same over gRPC, and gives a failure of the process its reason', async () => {
    await made('called', { allow_get: true });
    behave = (response, path) => json(response, path.includes('bad') ? 400 : 200, { error: 'bad', at: path });
    const grpc = createClient(PluginService, grpcTransport());
    const headers = [
      { name: 'X-Key', value: apiKey },
      { name: 'X-Mine', value: '1' },
    ];
    const good = await grpc.callPlugin({ pluginId: 'called', route: 'a/b', httpMethod: 'GET', query: 'x=1', headers });
    assert.equal(good.status, 200);
    assert.equal(good.data, '{"error":"bad","at":"/called/a/b?x=1"}');
    assert.equal(lastRequest()?.headers['x-mine'], '1');
    assert.equal(lastRequest()?.headers['x-key'], undefined);
    const bad = await grpc.callPlugin({ pluginId: 'called', route: 'bad', body: Buffer.from('{}') });
    assert.deepEqual([bad.status, bad.error, bad.data], [400, 'bad', undefined]);
    await made('gone', { url: 'http://127.0.0.1:9' });
    await assert.rejects(grpc.callPlugin({ pluginId: 'gone' }), /plugin gone is not reachable/);
    await assert.rejects(grpc.callPlugin({ pluginId: 'called', httpMethod: 'PUT' }), /http_method must be GET or POST/);
  });

  it('call: failures of the process are 502 with the id of the plugin and no text of the process', async () => {
    const big = Buffer.alloc(1024 * 1024 + 1, 'x');
    const failures: Readonly<Record<string, readonly [(response: ServerResponse) => void, RegExp]>> = {
      redirect: [(response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(), /answered 302, and redirects/],
      'too-large': [(response) => response.end(big), /an answer of more than 1048576 bytes/],
      'no-json': [(response) => response.writeHead(200, { 'content-type': 'application/json' }).end('SECRETMARK'), /that is not JSON/],
      crashed: [(response) => response.writeHead(500, { 'content-type': 'text/html' }).end('SECRETMARK'), /answered 500 without a message/],
      'breaks-off': [
        (response) => {
          response.writeHead(200, { 'content-length': '9' }).write('SECRET');
          setTimeout(() => response.destroy(), 20);
        },
        /broke off its answer/,
      ],
      resets: [(response) => response.destroy(), /broke off the connection/],
    };
    for (const [id, [answer, sentence]] of Object.entries(failures)) {
      await made(id);
      behave = answer;
      const before = process1.requests.length;
      const { status, reason, body } = await rest('POST', `/plugins/${id}/call`, {});
      assert.deepEqual([status, reason, body.message], [502, 'PLUGIN_FAILED', 'Bad Gateway'], id);
      assert.match(body.error, sentence, id);
      assert.ok(body.error.startsWith(`plugin ${id} `), body.error);
      assert.ok(!JSON.stringify(body).includes('SECRET'), id);
      assert.equal(process1.requests.length, before + 1, `${id}: asked once`);
    }
    await madeRaw('no-http', {}, (socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('SECRETMARK\r\n\r\n'),
    );
    const { status, body } = await rest('POST', '/plugins/no-http/call', {});
    assert.equal(status, 502);
    assert.match(body.error, /that is not HTTP/);
  });

  it('call: a process that hangs is 504 after its time, and is left alone when the caller leaves', async () => {
    let open = 0;
    let closed = 0;
    await madeRaw('hangs', { timeout_seconds: 1 }, (socket) => {
      open += 1;
      socket
        .on('error', () => undefined)
        .on('close', () => (closed += 1))
        .resume();
    });
    const late = await rest('POST', '/plugins/hangs/call', {});
    assert.deepEqual([late.status, late.reason], [504, 'PLUGIN_TIMED_OUT']);
    assert.equal(late.body.error, 'plugin hangs did not answer within 1 s');
    await waitFor('the end of the connection', () => (closed === 1 ? true : undefined));

    await rest('PATCH', '/plugins/hangs', { timeout_seconds: 900 });
    const leaving = new AbortController();
    const left = fetch(`${service.baseUrl}/api/v1/plugins/hangs/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      signal: leaving.signal,
    }).catch((error: Error) => error.name);
    await waitFor('the call', () => (open === 2 ? true : undefined));
    leaving.abort();
    assert.equal(await left, 'AbortError');
    await waitFor('the end of the connection', () => (closed === 2 ? true : undefined));
  });

  it('call: a process that is killed during a call is 502, and works again when it is back', async () => {
    const script = `require('http').createServer((q, s) => q.url === '/hang' ? process.send('asked') : s.end('done'))
      .listen(Number(process.argv[1]), '127.0.0.1', function () { process.send(this.address().port) })`;
    const start = async (port: number): Promise<{ child: ChildProcess; port: number }> => {
      const child = spawn(process.execPath, ['-e', script, String(port)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      after(() => child.kill('SIGKILL'));
      const [listening] = (await once(child, 'message')) as [number];
      return { child, port: listening };
    };
    const first = await start(0);
    await made('mortal', { url: `http://127.0.0.1:${first.port}` });
    assert.equal((await rest('POST', '/plugins/mortal/call', {})).body.data, 'done');
    const asked = once(first.child, 'message');
    const call = rest('POST', '/plugins/mortal/call/hang', {});
    await asked;
    first.child.kill('SIGKILL');
    const { status, body } = await call;
    assert.equal(status, 502);
    assert.equal(body.error, 'plugin mortal broke off the connection before it answered');
    const second = await start(first.port);
    assert.equal((await rest('POST', '/plugins/mortal/call', {})).body.data, 'done');
    second.child.kill('SIGKILL');
  });

  it('call: at most 100 calls of a plugin run at the same time, and others are not delayed', async () => {
    const waiting: ServerResponse[] = [];
    await made('busy');
    behave = (response, path) => (path === '/busy' ? waiting.push(response) : json(response, 200, {}));
    const calls = Array.from({ length: 100 }, () => rest('POST', '/plugins/busy/call', {}));
    await waitFor('100 calls', () => (waiting.length === 100 ? true : undefined));
    const refused = await rest('POST', '/plugins/busy/call', {});
    assert.deepEqual([refused.status, refused.reason], [503, 'SERVICE_UNAVAILABLE']);
    assert.equal((await rest('POST', '/plugins/of-file/call', {})).status, 200);
    for (const response of waiting) response.end('{}');
    assert.ok((await Promise.all(calls)).every(({ status }) => status === 200));
    behave = (response) => json(response, 200, {});
    assert.equal((await rest('POST', '/plugins/busy/call', {})).status, 200);
  });

  it('plugins: calls and changes have audit lines, and no output, answer or database shows a secret', async () => {
    behave = (response) => json(response, 200, {});
    await made('audited', { headers: [{ name: 'X-Own', value: secret }] });
    await rest('POST', '/plugins/audited/call', { params: 'SECRETMARK' });
    const lines = service
      .output()
      .split('\n')
      .flatMap((line) => (line.includes('"audited"') ? [JSON.parse(line)] : []));
    const created = lines.find(({ method }) => method === '/relayer.v1.PluginService/CreatePlugin');
    assert.equal(created?.to, `${process1.url('')}/*** (header X-Own)`);
    const called = lines.find(({ method }) => method === '/relayer.v1.PluginService/CallPlugin');
    assert.deepEqual(
      [called?.plugin_id, called?.keyId, called?.outcome, called?.httpMethod, called?.pluginStatus],
      ['audited', 'bootstrap', 'OK', 'POST', '200'],
    );
    assert.ok(!service.output().includes('SECRETMARK'));
    assert.ok(!(await databaseBytes(home)).includes('SECRETMARK'));
  });

  it('plugins: a restart keeps what the API made, changed and deleted', async () => {
    behave = (response) => json(response, 200, {});
    await made('kept', { headers: [{ name: 'X-Plugin-Secret', value: secret }], allow_get: true });
    await rest('PATCH', '/plugins/of-file', { timeout_seconds: 11 });
    await service.stop();
    service = await startServiceHere(home);
    assert.equal((await rest('POST', '/plugins/kept/call', {})).status, 200);
    assert.equal(lastRequest()?.headers['x-plugin-secret'], secret);
    assert.equal((await rest('GET', '/plugins/of-file')).body.data.timeout_seconds, 11);
    assert.match(service.output(), /plugin of-file was changed by the API and is kept/);
    await rest('DELETE', '/plugins/of-file');
    await service.stop();
    service = await startServiceHere(home);
    assert.equal((await rest('GET', '/plugins/of-file')).status, 404);
    assert.match(service.output(), /plugin of-file of the configuration file was deleted by the API and stays deleted/);
  });
});

describe('plugins whose addresses are limited', () => {
  it('plugins: the API sets no private address, also behind a name, and the file may', async (context) => {
    const target = await startHttpReceiver(context, (response) => response.end('reached'));
    const env = { RPC_BLOCK_PRIVATE_IPS: 'true' };
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
    const file = join(home.dir, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...config, plugins: [{ id: 'own', url: target.url('/') }] }));
    const service = await startServiceHere(home);
    context.after(async () => {
      await service.stop();
      await home.remove();
    });
    const rest = restClient(() => service.baseUrl);
    assert.equal((await rest('POST', '/plugins/own/call', {})).body.data, 'reached');
    const refused = await rest('POST', '/plugins', { id: 'inner', url: `http://127.0.0.1:${target.port}/x` });
    assert.match(refused.body.error, /^url must not point to a private/);
    // A name is looked up when the service connects.
    assert.equal((await rest('POST', '/plugins', { id: 'named', url: `http://localtest.invalid:${target.port}/` })).status, 201);
    const { status, body } = await rest('POST', '/plugins/named/call', {});
    assert.equal(status, 502);
    assert.equal(body.error, 'plugin named has a URL whose address is not allowed');
    assert.equal(target.requests.length, 1);
  });
});
