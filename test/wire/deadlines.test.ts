import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import type { Http2Answer } from '../support/raw-http.js';
import { envelope, errorIn, rawRpc } from '../support/raw-rpc.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { apiKey } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const transactions = '/relayer.v1.TransactionService';
const sendTransaction = Buffer.from(JSON.stringify({ relayerId: 'r2', evm: { to, value: '1' } }));
const listTransactions = Buffer.from('{"relayerId":"r1"}');
/** Each unary protocol: its content type, the form of its message, and its deadline header for a number of milliseconds. */
const protocols = {
  gRPC: ['application/grpc+json', envelope, (ms: number) => ({ 'grpc-timeout': `${ms}m` })],
  'gRPC-Web': ['application/grpc-web+json', envelope, (ms: number) => ({ 'grpc-timeout': `${ms}m` })],
  Connect: ['application/json', (message: Buffer) => message, (ms: number) => ({ 'connect-timeout-ms': String(ms) })],
} as const;
/** Much longer than the deadlines below, and much shorter than the calls would wait. */
const soonMs = 5_000;

let rig: AppRig;
let askers: readonly RpcAsker[];
/** A node that accepts every call and answers none. */
let hungNode: Server;
const nodeConnections: Socket[] = [];

before(async () => {
  hungNode = createServer((socket) => nodeConnections.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(hungNode, 'listening');
  rig = await startAppRig({ rpcUrl: `http://127.0.0.1:${(hungNode.address() as AddressInfo).port}` });
  askers = rpcAskers(rig.baseUrl);
});

after(async () => {
  for (const asker of askers ?? []) asker.close();
  await rig?.stop();
  for (const socket of nodeConnections) socket.destroy();
  hungNode?.close();
});

function checkDeadlineExceeded(answer: Http2Answer, protocol: string): void {
  const error = errorIn(answer);
  assert.ok(!error.ok);
  assert.deepEqual(
    [error.code, error.info?.reason, error.info?.metadata.message, error.sentence],
    ['DeadlineExceeded', 'DEADLINE_EXCEEDED', 'Gateway Timeout', 'the deadline passed before the call was answered'],
    protocol,
  );
  assert.equal(answer.headers[':status'], protocol === 'Connect' ? 504 : 200);
}

describe('deadlines of unary calls', () => {
  const wrong: Readonly<Record<string, readonly string[]>> = {
    'grpc-timeout': ['', 'x', '1', '1x', '-1S', '1.5S', '123456789S'],
    'connect-timeout-ms': ['x', '-1', '1.5', '99999999999'],
  };
  for (const [name, values] of Object.entries(wrong)) {
    it(`deadline: ${name} is refused by its name if it is malformed`, async () => {
      const types = name === 'grpc-timeout' ? ['application/grpc', 'application/grpc-web'] : ['application/json', 'application/proto'];
      for (const value of values) {
        for (const type of types) {
          const error = errorIn(await rawRpc(rig.baseUrl, `${transactions}/ListTransactions`, type, Buffer.from('{}'), { [name]: value }));
          assert.ok(!error.ok);
          assert.deepEqual([error.code, error.info?.reason, error.fields[0]?.field], ['InvalidArgument', 'FIELD_INVALID', name], value);
        }
      }
    });
  }

  it('deadline: one above 24 hours is cut to 24 hours', async () => {
    for (const [name, [type, form]] of Object.entries(protocols)) {
      const values = name === 'Connect' ? ['86400001', '9999999999'] : ['25H', '99999999H', '86400001m'];
      for (const value of values) {
        const header = { [name === 'Connect' ? 'connect-timeout-ms' : 'grpc-timeout']: value };
        const answer = await rawRpc(rig.baseUrl, `${transactions}/ListTransactions`, type, form(listTransactions), header);
        assert.equal(answer.headers[':status'], 200, `${name} ${value}`);
        assert.ok(answer.body.toString().includes('"pagination":'), `${name} ${value}`);
      }
    }
  });

  it('deadline: zero has passed before the method runs', async () => {
    for (const [name, [type, form, header]] of Object.entries(protocols)) {
      const answer = await rawRpc(rig.baseUrl, `${transactions}/SendTransaction`, type, form(sendTransaction), header(0));
      checkDeadlineExceeded(answer, name);
    }
    const listed = await rig.ask('GET', '/api/v1/relayers/r2/transactions');
    assert.equal(JSON.parse(listed.text).pagination.total_items, 0);
  });

  it('deadline: a call that waits for the store is answered at the deadline, and takes effect', async () => {
    const release = rig.holdCommits(({ name }) => name === 'insertTransaction');
    try {
      for (const [name, [type, form, header]] of Object.entries(protocols)) {
        const startedAtMs = performance.now();
        const answer = await rawRpc(rig.baseUrl, `${transactions}/SendTransaction`, type, form(sendTransaction), header(200));
        checkDeadlineExceeded(answer, name);
        const tookMs = performance.now() - startedAtMs;
        assert.ok(tookMs >= 195 && tookMs < soonMs, `${name} answered after ${tookMs} ms`);
      }
    } finally {
      release();
    }
    await waitFor('the transactions to be stored', async () => {
      const listed = await rig.ask('GET', '/api/v1/relayers/r2/transactions');
      return JSON.parse(listed.text).pagination.total_items === 3 ? true : undefined;
    });
    assert.deepEqual(rig.errors, []);
  });

  it('deadline: a call that waits for a node that never answers is answered at the deadline', async () => {
    const message = Buffer.from('{"relayerId":"r1","method":"eth_chainId"}');
    for (const [name, [type, form, header]] of Object.entries(protocols)) {
      const startedAtMs = performance.now();
      const answer = await rawRpc(rig.baseUrl, '/relayer.v1.RelayerService/CallRpc', type, form(message), header(300));
      checkDeadlineExceeded(answer, name);
      assert.ok(performance.now() - startedAtMs < soonMs, name);
    }
    assert.ok(nodeConnections.length > 0);
  });

  it('deadline: a body that never ends is answered at the deadline', async () => {
    for (const [name, [type, form, header]] of Object.entries(protocols)) {
      const answer = await rawRpc(rig.baseUrl, `${transactions}/SendTransaction`, type, form(sendTransaction).subarray(0, 8), header(200), {
        isOpen: true,
      });
      checkDeadlineExceeded(answer, name);
    }
  });

  it('deadline: a body that ends after the deadline does not reach its method', async () => {
    const count = async () => JSON.parse((await rig.ask('GET', '/api/v1/relayers/r2/transactions')).text).pagination.total_items;
    const before = await count();
    for (const [name, [type, form, header]] of Object.entries(protocols)) {
      const session = connectHttp2(rig.baseUrl);
      const stream = session.request({
        ':method': 'POST',
        ':path': `${transactions}/SendTransaction`,
        'content-type': type,
        authorization: `Bearer ${apiKey}`,
        te: 'trailers',
        ...header(100),
      });
      const message = form(sendTransaction);
      stream.write(message.subarray(0, 8));
      const [headers] = await once(stream, 'response');
      assert.ok(headers['grpc-status'] === '4' || headers[':status'] !== 200 || name === 'gRPC-Web', name);
      stream.resume();
      stream.end(message.subarray(8));
      await once(stream, 'close');
      session.destroy();
    }
    // Requests are served in turn: one that came after them shows what they did.
    await rig.ask('GET', '/api/v1/relayers/r2/transactions');
    assert.equal(await count(), before);
  });

  it('deadline: every client reads DEADLINE_EXCEEDED', async () => {
    const release = rig.holdCommits(({ name }) => name === 'insertTransaction');
    try {
      for (const asker of askers) {
        const answer = await asker.ask(TransactionService.method.sendTransaction, { relayerId: 'r1', evm: { to, value: '1' } }, {}, 100);
        assert.ok(!answer.ok, asker.protocol);
        assert.equal(answer.code, 'DeadlineExceeded', asker.protocol);
        const balance = await asker.ask(RelayerService.method.getRelayerBalance, { relayerId: 'r1' }, {}, 100);
        assert.ok(!balance.ok, asker.protocol);
        assert.equal(balance.code, 'DeadlineExceeded', asker.protocol);
      }
    } finally {
      release();
    }
  });
});

describe('deadlines of streams', () => {
  const streams = {
    gRPC: ['application/grpc+json', { 'grpc-timeout': '300m' }],
    'gRPC-Web': ['application/grpc-web+json', { 'grpc-timeout': '300m' }],
    'Connect stream': ['application/connect+json', { 'connect-timeout-ms': '300' }],
  } as const;
  for (const [name, [type, header]] of Object.entries(streams)) {
    it(`deadline: a quiet watch over ${name} ends with DEADLINE_EXCEEDED at its deadline`, async () => {
      const startedAtMs = performance.now();
      const watch = `${transactions}/WatchTransactions`;
      checkDeadlineExceeded(await rawRpc(rig.baseUrl, watch, type, envelope(Buffer.from('{"relayerId":"paused"}')), header), name);
      const tookMs = performance.now() - startedAtMs;
      assert.ok(tookMs >= 295 && tookMs < soonMs, `ended after ${tookMs} ms`);
    });

    it(`deadline: a watch over ${name} that has sent messages ends with DEADLINE_EXCEEDED at its deadline`, async () => {
      const body = JSON.stringify({ to, value: '1' });
      await rig.ask('POST', '/api/v1/relayers/r1/transactions', { body });
      const watch = `${transactions}/WatchTransactions`;
      const answer = await rawRpc(rig.baseUrl, watch, type, envelope(Buffer.from('{"relayerId":"r1"}')), header);
      assert.ok(answer.body.toString().includes('"transaction":'), name);
      checkDeadlineExceeded(answer, name);
    });
  }
});
