import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { after, before, it } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import {
  ListTransactionsRequestSchema,
  ListTransactionsResponseSchema,
  WatchTransactionsRequestSchema,
} from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, askRest, startAppRig } from '../support/app-rig.js';
import type { Http2Answer } from '../support/raw-http.js';
import { envelope, envelopesIn, errorIn, rawRpc } from '../support/raw-rpc.js';
import { apiKey } from '../support/service.js';

/* `application/grpc-web-text`: gRPC-Web in base64, the default of Google's client for browsers. */

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const service = '/relayer.v1.TransactionService';
const listBytes = envelope(toBinary(ListTransactionsRequestSchema, create(ListTransactionsRequestSchema, { relayerId: 'r1' })));
const watchBytes = envelope(toBinary(WatchTransactionsRequestSchema, create(WatchTransactionsRequestSchema, { relayerId: 'r1' })));

let rig: AppRig;

before(async () => {
  rig = await startAppRig();
  await rig.ask('POST', '/api/v1/relayers/r1/transactions', { body: JSON.stringify({ to, value: '1' }) });
});

after(() => rig?.stop());

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** Decodes base64 that may be padded in the middle. */
function decoded(text: string): Buffer {
  assert.match(text, /^(?:[\w+/]{4}|[\w+/]{3}=|[\w+/]{2}==)*$/, 'each chunk is whole groups of four');
  return Buffer.concat((text.match(/[\w+/]+={0,2}/g) ?? []).map((segment) => Buffer.from(segment, 'base64')));
}

const ask = (method: string, body: string, type = 'application/grpc-web-text'): Promise<Http2Answer> =>
  rawRpc(rig.baseUrl, `${service}/${method}`, type, Buffer.from(body));

function checkListed({ headers, body }: Http2Answer, type = 'application/grpc-web-text+proto'): void {
  assert.equal(headers['content-type'], type);
  const [message, trailer, ...others] = envelopesIn(decoded(body.toString()));
  assert.deepEqual(others, []);
  assert.ok(message !== undefined && trailer?.flags === 0x80);
  assert.equal(trailerParse(trailer.content).get('grpc-status'), '0');
  if (type.endsWith('proto')) assert.equal(fromBinary(ListTransactionsResponseSchema, message.content).transactions.length, 1);
  else assert.equal(JSON.parse(message.content.toString()).transactions.length, 1);
}

it('grpc-web-text: a unary call is answered in base64', async () => {
  checkListed(await ask('ListTransactions', base64(listBytes)));
  checkListed(await ask('ListTransactions', base64(listBytes), 'application/grpc-web-text+proto'));
  checkListed(await ask('ListTransactions', base64(listBytes), 'Application/gRPC-Web-Text'));
  const json = base64(envelope(Buffer.from('{"relayerId":"r1"}')));
  checkListed(await ask('ListTransactions', json, 'application/grpc-web-text+json'), 'application/grpc-web-text+json');
});

it('grpc-web-text: is served over HTTP/1.1', async () => {
  const headers = { 'content-type': 'application/grpc-web-text' };
  const answer = await askRest(rig.port, 'POST', `${service}/ListTransactions`, { body: base64(listBytes), headers });
  assert.equal(answer.status, 200);
  checkListed({ headers: answer.headers as Http2Answer['headers'], trailers: {}, body: Buffer.from(answer.text) });
});

it('grpc-web-text: a body may be padded where its client flushed', async () => {
  for (let at = 1; at < listBytes.length; at += 1) {
    checkListed(await ask('ListTransactions', base64(listBytes.subarray(0, at)) + base64(listBytes.subarray(at))));
  }
});

it('grpc-web-text: a body may arrive in chunks that end anywhere', async () => {
  const text = base64(listBytes);
  const session = connect(rig.baseUrl);
  for (let at = 1; at < text.length; at += 1) {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${service}/ListTransactions`,
      'content-type': 'application/grpc-web-text',
      authorization: `Bearer ${apiKey}`,
    });
    await new Promise((resolve) => stream.write(text.slice(0, at), resolve));
    stream.end(text.slice(at));
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const [message] = envelopesIn(decoded(Buffer.concat(chunks).toString()));
    assert.ok(message);
    assert.equal(fromBinary(ListTransactionsResponseSchema, message.content).transactions.length, 1);
  }
  session.close();
});

it('grpc-web-text: each message of a stream can be decoded when it arrives', async () => {
  const session = connect(rig.baseUrl);
  const stream = session.request({
    ':method': 'POST',
    ':path': `${service}/WatchTransactions`,
    'content-type': 'application/grpc-web-text',
    authorization: `Bearer ${apiKey}`,
  });
  stream.end(base64(watchBytes));
  let text = '';
  stream.setEncoding('latin1');
  for await (const chunk of stream) {
    text += chunk;
    // The stream stays open: the bytes that have arrived must be complete.
    if (envelopesIn(decoded(text)).some(({ flags, content }) => flags === 0 && content.includes(to))) break;
  }
  session.destroy();
});

it('grpc-web-text: errors of guards, of services and of streams are in base64', async () => {
  const path = `${service}/ListTransactions`;
  const guard = await rawRpc(rig.baseUrl, path, 'application/grpc-web-text', Buffer.from(base64(listBytes)), {
    authorization: 'Bearer no',
  });
  const unknown = envelope(toBinary(ListTransactionsRequestSchema, create(ListTransactionsRequestSchema, { relayerId: 'nobody' })));
  const cases = [
    [guard, 'Unauthenticated', 'CREDENTIALS_INVALID'],
    [await ask('ListTransactions', base64(unknown)), 'NotFound', 'RELAYER_NOT_FOUND'],
    [await ask('WatchTransactions', base64(unknown)), 'NotFound', 'RELAYER_NOT_FOUND'],
    [await ask('ListTransactions', '!!!!'), 'InvalidArgument', 'BODY_MALFORMED'],
    [await ask('ListTransactions', base64(listBytes).slice(0, -1)), 'InvalidArgument', 'BODY_MALFORMED'],
    [await ask('WatchTransactions', 'AAAA=AAA'), 'InvalidArgument', 'BODY_MALFORMED'],
  ] as const;
  for (const [answer, code, reason] of cases) {
    assert.match(String(answer.headers['content-type']), /^application\/grpc-web-text/);
    const error = errorIn(answer);
    assert.ok(!error.ok);
    assert.deepEqual([error.code, error.info?.reason], [code, reason]);
  }
});

it('grpc-web-text: the limit is that of the decoded message', async () => {
  const form = (bytes: number) => base64(envelope(Buffer.from(`{"relayerId":"r1"${' '.repeat(bytes - 18)}}`)));
  checkListed(await ask('ListTransactions', form(1_048_576), 'application/grpc-web-text+json'), 'application/grpc-web-text+json');
  const error = errorIn(await ask('ListTransactions', form(1_048_577), 'application/grpc-web-text+json'));
  assert.ok(!error.ok);
  assert.equal(error.info?.reason, 'BODY_TOO_LARGE');
});
