import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type AppRig, askRest, startAppRig } from '../support/app-rig.js';
import { sendRaw } from '../support/raw-http.js';
import { envelope, errorIn, rawRpc } from '../support/raw-rpc.js';
import { apiKey } from '../support/service.js';

/* The rules of each RPC protocol about versions of HTTP, content types, encodings and envelopes. */

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const send = '/relayer.v1.TransactionService/SendTransaction';
const list = '/relayer.v1.TransactionService/ListTransactions';
const watch = '/relayer.v1.TransactionService/WatchTransactions';
const reflect = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const sendMessage = Buffer.from(JSON.stringify({ relayerId: 'r2', evm: { to, value: '1' } }));
const listMessage = Buffer.from('{"relayerId":"r1"}');
const maxBodyBytes = 1_048_576;

let rig: AppRig;

before(async () => {
  rig = await startAppRig();
});

after(() => rig?.stop());

async function transactionsOf(relayerId: string): Promise<number> {
  const listed = await rig.ask('GET', `/api/v1/relayers/${relayerId}/transactions`);
  return JSON.parse(listed.text).pagination.total_items;
}

describe('versions of HTTP', () => {
  for (const version of ['1.0', '1.1']) {
    it(`gRPC over HTTP/${version} is refused before the method runs, with a status that its caller can read`, async () => {
      for (const type of ['application/grpc', 'application/grpc+proto', 'application/grpc+json']) {
        const body = envelope(sendMessage);
        const head = `POST ${send} HTTP/${version}\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: ${type}\r\nTE: trailers\r\n`;
        const answer = await sendRaw(rig.port, `${head}Content-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`);
        assert.match(answer, /^HTTP\/1\.1 505 HTTP Version Not Supported\r\n/);
        assert.match(answer, /^content-type: application\/grpc/im);
        assert.match(answer, /^grpc-status: 12\r$/m);
        assert.match(answer, /^grpc-message: gRPC needs HTTP\/2; use gRPC-Web or Connect over HTTP\/1\.1\r$/m);
        assert.match(answer, /^grpc-status-details-bin: .+\r$/m);
      }
      assert.equal(await transactionsOf('r2'), 0);
    });
  }

  it('a call that streams in both directions is refused over HTTP/1.1 with a body and a reason', async () => {
    for (const type of ['application/connect+json', 'application/grpc-web+json', 'application/grpc-web-text']) {
      const answer = await askRest(rig.port, 'POST', reflect, { body: envelope(Buffer.from('{}')), headers: { 'content-type': type } });
      assert.equal(answer.status, 505, type);
      assert.equal(answer.headers['x-error-reason'], 'HTTP_VERSION_NOT_SUPPORTED');
      assert.equal(answer.headers.connection, 'close');
      assert.equal(JSON.parse(answer.text).message, 'a call that streams in both directions needs HTTP/2');
    }
  });
});

describe('content types', () => {
  it('a content type of no protocol is answered 415 with the code unknown and a reason', async () => {
    for (const headers of [{}, { 'connect-protocol-version': '1' }]) {
      const answer = await askRest(rig.port, 'POST', list, {
        body: 'x',
        headers: { 'content-type': 'image/jpeg', authorization: `Bearer ${apiKey}`, ...headers },
      });
      assert.equal(answer.status, 415);
      assert.equal(answer.headers['x-error-reason'], 'CONTENT_TYPE_UNSUPPORTED');
      assert.equal(JSON.parse(answer.text).code, 'unknown');
      assert.match(String(answer.headers['content-type']), 'connect-protocol-version' in headers ? /^application\/json$/ : /^text\/plain/);
    }
  });

  it('an unknown codec of gRPC is answered in gRPC with the code UNKNOWN', async () => {
    for (const type of ['application/grpc+foo', 'application/grpc-web+foo']) {
      const error = errorIn(await rawRpc(rig.baseUrl, list, type, envelope(listMessage)));
      assert.ok(!error.ok);
      assert.deepEqual([error.code, error.info?.reason], ['Unknown', 'CONTENT_TYPE_UNSUPPORTED'], type);
    }
  });

  it('another verb is answered 405 with the code unknown', async () => {
    const answer = await askRest(rig.port, 'DELETE', send, { headers: { 'content-type': 'application/proto' } });
    assert.equal(answer.status, 405);
    assert.equal(JSON.parse(answer.text).code, 'unknown');
  });
});

describe('encodings', () => {
  const protocols = [
    ['application/grpc+json', 'grpc-encoding', 'grpc-accept-encoding'],
    ['application/grpc-web+json', 'grpc-encoding', 'grpc-accept-encoding'],
    ['application/connect+json', 'connect-content-encoding', 'connect-accept-encoding'],
    ['application/json', 'content-encoding', 'accept-encoding'],
  ] as const;
  for (const [type, given, accepted] of protocols) {
    for (const encoding of ['br', 'zstd', 'foo', 'gzip, br']) {
      it(`${type}: the encoding ${encoding} is UNIMPLEMENTED, and the answer names gzip and identity`, async () => {
        const isStreamType = type === 'application/connect+json';
        const bodies: readonly (readonly [path: string, body: Buffer])[] = [
          ...(isStreamType ? [] : [[list, type === 'application/json' ? listMessage : envelope(listMessage, 1)] as const]),
          ...(type === 'application/json' ? [] : [[watch, envelope(listMessage, 1)] as const]),
        ];
        for (const [path, body] of bodies) {
          const answer = await rawRpc(rig.baseUrl, path, type, body, { [given]: encoding });
          const error = errorIn(answer);
          assert.ok(!error.ok);
          assert.deepEqual([error.code, error.info?.reason], ['Unimplemented', 'ENCODING_UNSUPPORTED'], path);
          assert.match(error.sentence, /is not supported; use gzip or identity$/);
          assert.equal(answer.headers[accepted], 'gzip');
        }
      });
    }
  }

  it('gzip and identity are served', async () => {
    for (const [type, given] of protocols) {
      if (type === 'application/connect+json') continue;
      for (const [encoding, body, flags] of [
        ['gzip', gzipSync(listMessage), 1],
        ['identity', listMessage, 0],
      ] as const) {
        const sent = type === 'application/json' ? body : envelope(body, flags);
        const answer = await rawRpc(rig.baseUrl, list, type, sent, { [given]: encoding });
        assert.ok(String(answer.headers[':status']) === '200' && (answer.trailers['grpc-status'] ?? '0') === '0', `${type} ${encoding}`);
      }
    }
  });
});

describe('envelopes', () => {
  const types = ['application/grpc+json', 'application/grpc-web+json'] as const;

  it('envelopes: a message that is flagged as compressed in a call without an encoding is INTERNAL, as the protocol defines', async () => {
    for (const [type, path] of [...types.map((type) => [type, list] as const), ['application/connect+json', watch] as const]) {
      const error = errorIn(await rawRpc(rig.baseUrl, path, type, envelope(gzipSync(listMessage), 1)));
      assert.ok(!error.ok);
      assert.deepEqual(
        [error.code, error.info?.reason, error.sentence],
        ['Internal', 'BODY_MALFORMED', 'a message is flagged as compressed, but the call names no encoding'],
      );
    }
    assert.deepEqual(rig.errors, []);
  });

  it('envelopes: flags other than 0 and 1 are refused before the method runs', async () => {
    for (const flags of [2, 3, 0x80, 0xff]) {
      for (const type of types) {
        const error = errorIn(await rawRpc(rig.baseUrl, send, type, envelope(sendMessage, flags)));
        assert.ok(!error.ok);
        assert.deepEqual([error.code, error.info?.reason], ['InvalidArgument', 'BODY_MALFORMED'], `${type} ${flags}`);
      }
      const error = errorIn(await rawRpc(rig.baseUrl, watch, 'application/connect+json', envelope(listMessage, flags)));
      assert.ok(!error.ok);
      assert.deepEqual([error.code, error.info?.reason], ['InvalidArgument', 'BODY_MALFORMED'], `Connect stream ${flags}`);
    }
    assert.equal(await transactionsOf('r2'), 0);
  });

  it('envelopes: a length over the limit is refused before the message comes, also if it comes in pieces', {
    timeout: 10_000,
  }, async () => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(maxBodyBytes + 1, 1);
    const session = connectHttp2(rig.baseUrl);
    const stream = session.request({
      ':method': 'POST',
      ':path': list,
      'content-type': 'application/grpc+json',
      authorization: `Bearer ${apiKey}`,
      te: 'trailers',
    });
    try {
      for (const byte of head) await new Promise((written) => stream.write(Buffer.of(byte), written));
      const [headers] = await once(stream, 'response', { signal: AbortSignal.timeout(8_000) });
      assert.equal(headers['grpc-status'], '8');
    } finally {
      session.destroy();
    }
  });

  it('envelopes: a message of exactly the limit is accepted, whether its length is announced or not; one byte more is not', async () => {
    const messageOf = (bytes: number) => Buffer.from(`{"relayerId":"r1"${' '.repeat(bytes - 18)}}`);
    for (const [type, form] of [...types.map((type) => [type, envelope] as const), ['application/json', (body: Buffer) => body] as const]) {
      for (const isAnnounced of [true, false]) {
        for (const bytes of [maxBodyBytes, maxBodyBytes + 1]) {
          const body = form(messageOf(bytes));
          const answer = await rawRpc(rig.baseUrl, list, type, body, isAnnounced ? { 'content-length': String(body.length) } : {});
          const error = answer.trailers['grpc-status'] === '0' || answer.body.includes('"pagination"') ? undefined : errorIn(answer);
          assert.equal(error === undefined, bytes === maxBodyBytes, `${type}, ${bytes} bytes, announced: ${isAnnounced}`);
          if (error !== undefined) assert.equal(!error.ok && error.info?.reason, 'BODY_TOO_LARGE');
        }
      }
    }
  });

  it('envelopes: a stream whose message is not well-formed says what is wrong with it, as a unary call does', async () => {
    const body = Buffer.from('{"relayerId":');
    const unary = errorIn(await rawRpc(rig.baseUrl, list, 'application/grpc+json', envelope(body)));
    assert.ok(!unary.ok);
    for (const type of ['application/grpc+json', 'application/grpc-web+json', 'application/connect+json']) {
      const error = errorIn(await rawRpc(rig.baseUrl, watch, type, envelope(body)));
      assert.ok(!error.ok);
      assert.deepEqual([error.code, error.info?.reason], ['InvalidArgument', 'BODY_MALFORMED'], type);
      assert.equal(error.sentence, unary.sentence);
    }
    assert.equal(unary.sentence, 'the body is not valid JSON: expected a value at line 1, column 14');
  });
});

describe('methods that need no key', () => {
  const check = '/grpc.health.v1.Health/Check';

  it('a message of more than 64 KiB is refused, compressed or not', async () => {
    const json = (length: number) => Buffer.from(JSON.stringify({ service: 'x'.repeat(length) }));
    for (const [body, headers] of [
      [json(66_000), {}],
      [gzipSync(json(1_000_000)), { 'content-encoding': 'gzip' }],
    ] as const) {
      const error = errorIn(await rawRpc(rig.baseUrl, check, 'application/json', body, headers));
      assert.ok(!error.ok);
      assert.deepEqual(
        [error.code, error.info?.reason, error.sentence],
        ['ResourceExhausted', 'BODY_TOO_LARGE', 'the body is larger than the limit of 65536 bytes'],
      );
    }
    const answer = await rawRpc(rig.baseUrl, check, 'application/json', Buffer.from('{}'));
    assert.match(answer.body.toString(), /"status":/);
  });

  it('many compressed messages at once are all answered', async () => {
    const body = gzipSync(Buffer.from('{}'));
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => rawRpc(rig.baseUrl, check, 'application/json', body, { 'content-encoding': 'gzip' })),
    );
    for (const answer of answers) assert.match(answer.body.toString(), /"status":/);
  });
});
