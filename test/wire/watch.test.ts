import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as requestHttp1 } from 'node:http';
import { connect } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { create, toBinary, toJsonString } from '@bufbuild/protobuf';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import { WatchTransactionsRequestSchema } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { apiKey } from '../support/service.js';
import { watchersByName } from '../support/watchers.js';

const path = '/relayer.v1.TransactionService/WatchTransactions';
const message = create(WatchTransactionsRequestSchema, { relayerId: 'r1' });
const binary = toBinary(WatchTransactionsRequestSchema, message);
const json = Buffer.from(toJsonString(WatchTransactionsRequestSchema, message));
/** The contract's limit, and room for a busy machine. */
const limitMs = 100;

const enveloped = ['application/connect+proto', 'application/connect+json', 'application/grpc-web+proto', 'application/grpc-web+json'];

describe('WatchTransactions on an idle relayer', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig();
  });

  after(() => rig.stop());

  for (const type of enveloped) {
    it(`watch: ${type} over HTTP/1.1 gets its response headers within ${limitMs} ms`, async () => {
      await quickest(() => headersOverHttp1(rig.port, type));
    });
  }

  for (const type of [...enveloped, 'application/grpc+proto', 'application/grpc+json']) {
    it(`watch: ${type} over HTTP/2 gets its response headers within ${limitMs} ms`, async () => {
      await quickest(() => headersOverHttp2(rig.baseUrl, type));
    });
  }
});

describe('a watch with a deadline', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig();
  });

  after(() => rig.stop());

  it('watch: ends with DEADLINE_EXCEEDED at a deadline that its caller does not enforce itself', async () => {
    const session = connect(rig.baseUrl);
    try {
      const authorization = `Bearer ${apiKey}`;
      const headers = { 'content-type': 'application/grpc+proto', te: 'trailers', authorization, 'grpc-timeout': '200m' };
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      stream.resume().end(bodyOf('application/grpc+proto'));
      const [trailers] = await once(stream, 'trailers', { signal: AbortSignal.timeout(patienceMs) });
      assert.equal(trailers['grpc-status'], '4');
    } finally {
      session.destroy();
    }
  });
});

describe('a silent watch', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig({ watchHeartbeatMs: 50 });
  });

  after(() => rig.stop());

  for (const [name, create] of Object.entries(watchersByName)) {
    it(`watch with ${name}: heartbeats follow snapshot_complete, each with a token`, async () => {
      const watcher = create(rig.baseUrl);
      const events: string[] = [];
      const watch = watcher.watch();
      for await (const { event, resumeToken } of watch) {
        assert.notEqual(resumeToken, '');
        if (events.push(event) === 3) break;
      }
      watch.cancel();
      watcher.close();
      assert.deepEqual(events, ['snapshot_complete', 'heartbeat', 'heartbeat']);
    });
  }
});

/** The machine may be busy once, so the best of ten calls counts. */
async function quickest(call: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  while (times.length < 10 && (times.at(-1) ?? limitMs) >= limitMs) times.push(await call());
  assert.ok(Math.min(...times) < limitMs, `the headers came after ${times.map(Math.round)} ms`);
}

function bodyOf(type: string): Uint8Array {
  return encodeEnvelope(0, type.endsWith('json') ? json : binary);
}

/** Longer than any heartbeat may take to rescue a call without headers. */
const patienceMs = 5_000;

async function headersOverHttp1(port: number, type: string): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': type };
  const begunMs = performance.now();
  const request = requestHttp1({ port, host: '127.0.0.1', method: 'POST', path, headers, agent: false });
  request.end(bodyOf(type));
  try {
    const [response] = await once(request, 'response', { signal: AbortSignal.timeout(patienceMs) });
    assert.equal(response.statusCode, 200);
    return performance.now() - begunMs;
  } finally {
    request.on('error', () => undefined).destroy();
  }
}

async function headersOverHttp2(origin: string, type: string): Promise<number> {
  const session = connect(origin);
  try {
    const begunMs = performance.now();
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': type,
      te: 'trailers',
      authorization: `Bearer ${apiKey}`,
    });
    stream.on('error', () => undefined).end(bodyOf(type));
    const [headers] = await once(stream, 'response', { signal: AbortSignal.timeout(patienceMs) });
    assert.equal(headers[':status'], 200);
    assert.equal(headers['grpc-status'], undefined, 'an answer of headers alone is an error');
    return performance.now() - begunMs;
  } finally {
    session.destroy();
  }
}
