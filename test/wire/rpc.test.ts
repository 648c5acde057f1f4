import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ConnectError } from '@connectrpc/connect';
import { errorFromJson } from '@connectrpc/connect/protocol-connect';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, type Ask, keys, type RestAnswer, startAppRig } from '../support/app-rig.js';
import type { Http2Answer } from '../support/raw-http.js';
import { envelope, errorIn, rawRpc } from '../support/raw-rpc.js';
import { type RpcAsker, rpcAnswerOf, rpcAskers } from '../support/rpc-askers.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const service = '/relayer.v1.TransactionService';
const { sendTransaction, getTransaction, listTransactions } = TransactionService.method;

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

/** Connect JSON by plain HTTP. */
const json = (method: string, body: string | Uint8Array, ask: Ask = {}): Promise<RestAnswer> =>
  rig.ask('POST', `${service}/${method}`, { ...ask, body });

/** Code, reason and fields of an answer in Connect's unary form. */
function toldBy({ text }: RestAnswer) {
  const answer = rpcAnswerOf(errorFromJson(JSON.parse(text), undefined, new ConnectError('no error')));
  assert.ok(!answer.ok);
  return { code: answer.code, reason: answer.info?.reason, sentence: answer.sentence, fields: answer.fields.map(({ field }) => field) };
}

describe('Connect JSON has the rules of protobuf JSON', () => {
  it('Connect JSON: reads snake_case and lowerCamelCase, and reads null as absent', async () => {
    for (const body of [
      `{"relayer_id":"r1","evm":{"to":"${to}","value":"1","gas_limit":"21000"}}`,
      `{"relayerId":"r1","evm":{"to":"${to}","value":"1","gasLimit":21000,"data":null}}`,
      `{"relayerId":"r1","evm":{"to":"${to}","value":"1","gasLimit":"21000","speed":"SPEED_FAST"}}`,
    ]) {
      const answer = await json('SendTransaction', body);
      assert.equal(answer.status, 200, answer.text);
      const { transaction, metadata } = JSON.parse(answer.text);
      assert.equal(transaction.evm.gasLimit, '21000', '64-bit integers are strings');
      assert.equal(transaction.status, 'TRANSACTION_STATUS_PENDING');
      assert.equal(transaction.evm.speed, 'SPEED_FAST');
      assert.match(transaction.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      assert.equal(metadata, undefined);
    }
  });

  it('Connect JSON: has no envelope; lists have pagination and metadata next to the records', async () => {
    const answer = await json('ListTransactions', '{"relayerId":"paused","perPage":101}');
    assert.deepEqual(JSON.parse(answer.text), {
      pagination: { currentPage: 1, perPage: 100 },
      metadata: { logs: [{ level: 'LOG_LEVEL_WARN', message: 'per_page is at most 100; 100 was used' }] },
    });
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f-]{36}$/);
  });

  it('Connect JSON: refuses an unknown field and an unknown enum text, and names it', async () => {
    for (const [body, reason, sentence] of [
      [
        `{"relayerId":"r1","evm":{"to":"${to}","value":"1","vallue":"2"}}`,
        'FIELD_UNKNOWN',
        'evm.vallue is not a known field; did you mean `value`?',
      ],
      [
        `{"relayerId":"r1","evm":{"to":"${to}","value":"1","speed":"safeLow"}}`,
        'FIELD_INVALID',
        'evm.speed must be one of SPEED_FASTEST, SPEED_FAST, SPEED_AVERAGE, SPEED_SAFE_LOW',
      ],
      [`{"relayerId":"r1","evm":{"to":"${to}","value":"1"},"unknown":{"deep":[1]}}`, 'FIELD_UNKNOWN', 'unknown is not a known field'],
    ] as const) {
      const told = toldBy(await json('SendTransaction', body));
      assert.deepEqual([told.code, told.reason, told.sentence], ['InvalidArgument', reason, sentence]);
    }
  });

  const mistaken = JSON.stringify({
    relayerId: 'r1',
    idempotencyKye: 'k',
    evm: { to: to.toLowerCase().replace('c8', 'C8'), value: 1, gasLimit: 'x', speed: 'safeLow', vallue: '2', validUntil: 'soon' },
  });
  const mistakes = ['idempotencyKye', 'evm.vallue', 'evm.value', 'evm.gas_limit', 'evm.speed', 'evm.valid_until'];

  it('JSON over RPC: names every mistake at once, those that only the network knows included', async () => {
    const told = toldBy(await json('SendTransaction', mistaken));
    assert.deepEqual([told.code, told.reason, told.fields], ['InvalidArgument', 'FIELD_UNKNOWN', [...mistakes, 'evm.to']]);
    const grpc = errorIn(await rawRpc(rig.baseUrl, `${service}/SendTransaction`, 'application/grpc+json', envelope(Buffer.from(mistaken))));
    assert.ok(!grpc.ok);
    assert.deepEqual(
      grpc.fields.map(({ field }) => field),
      [...mistakes, 'evm.to'],
    );
  });

  it('JSON over RPC: names every mistake of a message that is compressed or opens a stream', async () => {
    const compressed = await json('SendTransaction', gzipSync(mistaken), {
      headers: { 'content-encoding': 'gzip', 'accept-encoding': 'identity' },
    });
    assert.deepEqual([toldBy(compressed).reason, toldBy(compressed).fields], ['FIELD_UNKNOWN', mistakes]);
    const watch = Buffer.from('{"relayerId":5,"resumeTokn":"x","transactionId":[]}');
    const stream = errorIn(await rawRpc(rig.baseUrl, `${service}/WatchTransactions`, 'application/connect+json', envelope(watch)));
    assert.ok(!stream.ok);
    assert.deepEqual(
      [stream.info?.reason, stream.fields.map(({ field }) => field)],
      ['FIELD_UNKNOWN', ['resumeTokn', 'relayer_id', 'transaction_id']],
    );
  });

  it('Connect JSON: a field that does not fit is judged after the relayer', async () => {
    const send = (relayerId: string, ask: Ask = {}) =>
      json('SendTransaction', JSON.stringify({ relayerId, evm: { to, value: '1', vallue: '2' } }), ask);
    const other = await send('r1', { headers: { authorization: `Bearer ${keys.onlyR2}` } });
    for (const [answer, code, reason] of [
      [other, 'PermissionDenied', 'RELAYER_NOT_ALLOWED'],
      [await send('nowhere'), 'NotFound', 'RELAYER_NOT_FOUND'],
      [await send('paused'), 'FailedPrecondition', 'RELAYER_PAUSED'],
      [await send('r1'), 'InvalidArgument', 'FIELD_UNKNOWN'],
      [await json('SendTransaction', '{"relayerId":5,"evm":5}'), 'InvalidArgument', 'FIELD_INVALID'],
      [await json('SendTransaction', '{"relayerId":"r1","evm":5}'), 'InvalidArgument', 'FIELD_INVALID'],
    ] as const)
      assert.deepEqual([toldBy(answer).code, toldBy(answer).reason], [code, reason]);
  });

  it('Connect JSON: every digit of a 64-bit integer counts, in a number as in a string', async () => {
    const body = (gasLimit: string) => `{"relayerId":"r1","evm":{"to":"${to}","value":"1","gasLimit":${gasLimit}}}`;
    const gzip = { headers: { 'content-encoding': 'gzip', 'accept-encoding': 'identity' } };
    for (const gasLimit of [
      '9007199254740993',
      '"9007199254740993"',
      '9007199254740993.0',
      '900719925474099.3e1',
      '9.007199254740993e15',
    ]) {
      for (const answer of [await json('SendTransaction', body(gasLimit)), await json('SendTransaction', gzipSync(body(gasLimit)), gzip)]) {
        assert.equal(answer.status, 200, answer.text);
        assert.equal(JSON.parse(answer.text).transaction.evm.gasLimit, '9007199254740993', gasLimit);
      }
    }
  });

  it('Connect JSON: two names or two cases of one thing are refused, and lists of what does not fit name each item', async () => {
    const list = (body: string) => json('ListTransactions', body).then((answer) => toldBy(answer).sentence);
    assert.equal(await list('{"relayerId":"r1","relayer_id":"r2"}'), 'relayer_id is given twice, by both of its names');
    const statuses = await json('ListTransactions', '{"relayerId":"r1","status":["pending","TRANSACTION_STATUS_SENT",7.5]}');
    assert.deepEqual(toldBy(statuses).fields, ['status[0]', 'status[2]']);
    const health = await rig.ask('POST', '/grpc.health.v1.Health/Check', { body: '{"servce":"x"}' });
    assert.deepEqual(toldBy(health).reason, 'FIELD_UNKNOWN', 'methods without rules refuse it too');
  });

  it('gRPC-Web JSON: refuses half of a surrogate pair in a key or a value', async () => {
    for (const body of ['{"relayerId":"r1","message":"a","\\udc00":1}', '{"relayerId":"r1","message":"\\ud800"}']) {
      const frame = Buffer.alloc(5 + Buffer.byteLength(body));
      frame.writeUInt32BE(Buffer.byteLength(body), 1);
      frame.write(body, 5);
      const headers = { 'content-type': 'application/grpc-web+json' };
      const answer = await rig.ask('POST', '/relayer.v1.SigningService/SignData', { body: frame, headers });
      assert.match(JSON.stringify(answer.headers) + answer.text, /grpc-status"?:"? ?3/);
    }
  });

  it('Connect JSON: amounts must be strings', async () => {
    const told = toldBy(await json('SendTransaction', `{"relayerId":"r1","evm":{"to":"${to}","value":1}}`));
    assert.deepEqual([told.code, told.reason, told.sentence], ['InvalidArgument', 'FIELD_INVALID', 'evm.value must be a string']);
  });
});

describe('the transaction’s shape over RPC', () => {
  it('transaction shape: one of another network is WRONG_NETWORK_SHAPE', async () => {
    for (const asker of askers) {
      for (const shape of ['stellar', 'solana']) {
        const answer = await asker.ask(sendTransaction, { relayer_id: 'r1', [shape]: {} });
        assert.ok(!answer.ok);
        assert.deepEqual(
          [answer.code, answer.info?.reason, answer.info?.metadata.message, answer.sentence],
          [
            'InvalidArgument',
            'WRONG_NETWORK_SHAPE',
            'Bad Request',
            `transaction has the ${shape} shape, but the relayer's network type is evm`,
          ],
        );
      }
    }
  });

  it('transaction shape: an unset one is FIELD_INVALID; of two, protobuf takes the last and JSON is refused', async () => {
    for (const asker of askers) {
      const answer = await asker.ask(sendTransaction, { relayer_id: 'r1' });
      assert.ok(!answer.ok);
      assert.deepEqual([answer.code, answer.info?.reason], ['InvalidArgument', 'FIELD_INVALID']);
      assert.deepEqual(answer.fields, [{ field: 'transaction', description: 'is required' }]);
    }
    const twice = toldBy(await json('SendTransaction', `{"relayerId":"r1","evm":{"to":"${to}","value":"1"},"solana":{}}`));
    assert.deepEqual([twice.reason, twice.sentence], ['FIELD_INVALID', 'solana must not be set together with evm']);
  });
});

describe('unknown enum numbers', () => {
  it('enum: an unknown or unspecified status to filter by is refused', async () => {
    const statuses = `must be one of ${['PENDING', 'SENT', 'SUBMITTED', 'MINED', 'CONFIRMED', 'FAILED', 'EXPIRED', 'CANCELED'].map((name) => `TRANSACTION_STATUS_${name}`).join(', ')}`;
    for (const asker of askers) {
      for (const status of [99, 0, -1]) {
        const answer = await asker.ask(listTransactions, { relayer_id: 'r1', status: [1, status] });
        assert.ok(!answer.ok, asker.protocol);
        assert.deepEqual(answer.fields, [{ field: 'status[1]', description: statuses }]);
      }
    }
  });

  it('enum: an unknown speed is refused', async () => {
    for (const asker of askers) {
      const answer = await asker.ask(sendTransaction, { relayer_id: 'r1', evm: { to, value: '1', speed: 99 } });
      assert.ok(!answer.ok, asker.protocol);
      assert.deepEqual(answer.fields, [
        { field: 'evm.speed', description: 'must be one of SPEED_FASTEST, SPEED_FAST, SPEED_AVERAGE, SPEED_SAFE_LOW' },
      ]);
    }
  });
});

describe('ids that cannot exist, over RPC', () => {
  it('unknown ID over RPC: is not found, and the error repeats at most 64 characters of it', async () => {
    for (const [id, shown] of [
      ['\0', '\0'],
      ['🙂'.repeat(65), '🙂'.repeat(64)],
      ['', ''],
      ['a\nb\r\n: c', 'a\nb\r\n: c'],
    ] as const) {
      for (const asker of askers) {
        const transaction = await asker.ask(getTransaction, { relayer_id: 'r1', transaction_id: id });
        assert.ok(!transaction.ok, asker.protocol);
        assert.deepEqual([transaction.code, transaction.sentence], ['NotFound', `Transaction with ID ${shown} not found`], asker.protocol);
        const relayer = await asker.ask(getTransaction, { relayer_id: id, transaction_id: 'x' });
        assert.ok(!relayer.ok, asker.protocol);
        assert.deepEqual([relayer.code, relayer.info?.reason], ['NotFound', 'RELAYER_NOT_FOUND'], asker.protocol);
      }
    }
  });
});

const raw = (method: string, contentType: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<Http2Answer> =>
  rawRpc(rig.baseUrl, `${service}/${method}`, contentType, body, headers);

describe('unreadable messages', () => {
  const truncated = Buffer.from([0x0a, 0xff, 0x01]);
  const notUtf8 = Buffer.from([0x0a, 0x02, 0xff, 0xfe]);
  const cases: readonly (readonly [what: string, contentType: string, body: Uint8Array, headers?: Record<string, string>])[] = [
    ['Connect: a field that is cut off', 'application/proto', truncated],
    ['Connect: text that is not UTF-8', 'application/proto', notUtf8],
    ['Connect JSON: not JSON', 'application/json', Buffer.from('{"relayerId":')],
    ['Connect JSON: nothing', 'application/json', Buffer.alloc(0)],
    ['Connect JSON: not an object', 'application/json', Buffer.from('[]')],
    ['Connect JSON: text that is not UTF-8', 'application/json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['Connect JSON: a key twice', 'application/json', Buffer.from('{"relayerId":"r1","relayerId":"r2"}')],
    ['Connect: compression that is none', 'application/json', Buffer.from('{}'), { 'content-encoding': 'gzip' }],
    ['gRPC: a field that is cut off', 'application/grpc', envelope(truncated)],
    ['gRPC: an envelope that is cut off', 'application/grpc', envelope(Buffer.alloc(10)).subarray(0, 9)],
    ['gRPC: compression that is none', 'application/grpc', envelope(Buffer.from('x'), 1), { 'grpc-encoding': 'gzip' }],
    ['gRPC with JSON: not JSON', 'application/grpc+json', envelope(Buffer.from('{'))],
    ['gRPC-Web: a field that is cut off', 'application/grpc-web', envelope(truncated)],
    ['gRPC-Web: text that is not UTF-8', 'application/grpc-web+proto', envelope(notUtf8)],
  ];
  for (const [what, contentType, body, headers] of cases) {
    it(`unreadable message, ${what}: is answered INVALID_ARGUMENT with a reason`, async () => {
      const error = errorIn(await raw('SendTransaction', contentType, body, headers));
      assert.ok(!error.ok);
      assert.deepEqual(
        [error.code, error.info],
        ['InvalidArgument', { reason: 'BODY_MALFORMED', domain: 'relayer.v1', metadata: { message: 'Bad Request' } }],
        error.sentence,
      );
      assert.match(error.sentence, /^the body (?:is not well-formed: |is not valid |has the key |must be a JSON object)/);
    });
  }

  it('protocol error: is answered as the protocol defines, without a reason', async () => {
    for (const [body, headers] of [
      [Buffer.alloc(0), {}],
      [Buffer.concat([envelope(Buffer.alloc(0)), envelope(Buffer.alloc(0))]), {}],
    ] as const) {
      for (const contentType of ['application/grpc', 'application/grpc-web']) {
        const error = errorIn(await raw('SendTransaction', contentType, body, headers));
        assert.ok(!error.ok);
        assert.equal(error.code, 'Unimplemented', error.sentence);
      }
    }
  });

  it('unreadable messages: none is logged as an error', () => assert.deepEqual(rig.errors, []));
});
