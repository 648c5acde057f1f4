import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Attack, type Ground, inLanes, refuseFailure, statusesIn } from './attack.js';
import { envelope, getRelayer, type Http1Request, http1, http2Headers, type Key, keyLine, signData } from './valid-requests.js';

const mebibyte = 1_048_576;
const sign = '/api/v1/relayers/r1/sign';
const send = '/api/v1/relayers/r1/transactions';

/** Malformed bodies, as bytes. The service must accept none of them. */
function badJson(): Record<string, Buffer> {
  const text = (body: string): Buffer => Buffer.from(body);
  const inObject = (value: string): Buffer => text(`{"message":${value}}`);
  return {
    'not JSON': text('nonsense'),
    'invalid UTF-8': Buffer.from([...Buffer.from('{"message":"'), 0xff, 0xfe, ...Buffer.from('"}')]),
    'overlong UTF-8': Buffer.from([...Buffer.from('{"message":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
    'a surrogate in UTF-8': Buffer.from([...Buffer.from('{"message":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
    'UTF-16': Buffer.from('\ufeff{"message":"m"}', 'utf16le'),
    'a NUL before it': text('\0{"message":"m"}'),
    'a NUL in a text': inObject('"a\0b"'),
    'NULs only': Buffer.alloc(mebibyte),
    '10,000 levels of arrays': text(`{"message":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
    '10,000 levels of objects': text(`${'{"message":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
    'half a mebibyte of brackets': text('['.repeat(mebibyte / 2)),
    'a mebibyte of braces': text('{"a":'.repeat(200_000)),
    'a mebibyte of digits': inObject('1'.repeat(mebibyte - 60)),
    'a mebibyte of decimals': inObject(`0.${'1'.repeat(mebibyte - 60)}`),
    'a vast exponent': inObject('1e999999999999999999999'),
    'a small exponent': inObject('1e-999999999999999999999'),
    'not a number': inObject('NaN'),
    'a number of two zeros': inObject('00'),
    'a lone minus': inObject('-'),
    'an array': text('[]'),
    null: text('null'),
    'a text': text('"message"'),
    'two bodies': text('{"message":"m"}{"message":"m"}'),
    'an end too early': text('{"message":"m'),
    'a comma too many': text('{"message":"m",}'),
    'single quotes': text("{'message':'m'}"),
    'a comment': text('{"message":"m"}//'),
    'a bad escape': inObject('"\\x"'),
    'half an escape': text('{"message":"\\u12'),
    'an object for a text': inObject('{"toString":1}'),
  };
}

/** Bodies that REST refuses and protobuf JSON need not, or the other way round; neither may fail. */
function oddJson(): Record<string, Buffer> {
  const keys = Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`).join(',');
  return {
    'a byte order mark': Buffer.from('\ufeff{"message":"m"}'),
    'a key twice': Buffer.from('{"message":"a","message":"b"}'),
    'a key by the thousand': Buffer.from(`{${'"message":"a",'.repeat(5_000)}"message":"b"}`),
    'unknown keys by the thousand': Buffer.from(`{${keys}}`),
    __proto__: Buffer.from('{"__proto__":{"message":"m"},"constructor":{"prototype":{"x":1}},"message":"m"}'),
    toString: Buffer.from('{"toString":1,"hasOwnProperty":2,"valueOf":3,"message":"m"}'),
    'a lone surrogate': Buffer.from('{"message":"\\ud800"}'),
    'a lone low surrogate in a key': Buffer.from('{"\\udc00":1,"message":"m"}'),
    'an escaped NUL': Buffer.from('{"message":"\\u0000"}'),
    'an empty key': Buffer.from('{"":1}'),
    'white space only': Buffer.alloc(mebibyte, ' '),
    nothing: Buffer.alloc(0),
    'a long key': Buffer.from(`{"${'k'.repeat(mebibyte - 20)}":1}`),
    'a long relayer': Buffer.from(`{"relayerId":"${'r'.repeat(mebibyte - 40)}","message":"m"}`),
    'escapes only': Buffer.from(`{"message":"${'\\u0061'.repeat(170_000)}"}`),
  };
}

/** Values for the amounts, hexes and times of a transaction. */
const oddValues = [
  '-1',
  '1.5',
  '1e400',
  '1e-1',
  '"0x"',
  '""',
  '"+1"',
  '"1e21"',
  '340282366920938463463374607431768211456',
  '9007199254740993',
  '1e77',
  '1e78',
  'true',
  '[]',
  '{}',
  'null',
  '"\\u0000"',
  '"\u202e"',
  '"0xZZ"',
  '"١"',
  `"${'9'.repeat(100_000)}"`,
  `1${'0'.repeat(100_000)}`,
  `"0x${'f'.repeat(100_001)}"`,
  '18446744073709551616',
  '9223372036854775808',
  '-0',
  '0e999999999',
  '"9999-12-31T23:59:60Z"',
  '"-000001-01-01T00:00:00Z"',
  '"+275760-09-13T00:00:00.001Z"',
];
const transactionFields = [
  'to',
  'value',
  'data',
  'gas_limit',
  'gas_price',
  'max_fee_per_gas',
  'max_priority_fee_per_gas',
  'speed',
  'valid_until',
  'network',
];

/** How a JSON body can be sent. */
function waysOf(body: Uint8Array): Http1Request[] {
  return [
    { path: sign, type: 'application/json', body },
    { path: signData.path, type: 'application/json', body: withRelayer(body) },
    { path: signData.path, type: 'application/grpc-web+json', body: envelope(withRelayer(body)) },
  ];
}

/** Names the relayer, which REST has in its path: an unknown one is refused before the rest of the message is judged. */
function withRelayer(body: Uint8Array): Uint8Array {
  const start = Buffer.from('{"message":');
  const isMessage = start.equals(body.subarray(0, start.byteLength));
  return isMessage ? Buffer.concat([Buffer.from('{"relayerId":"r1",'), body.subarray(1)]) : body;
}

/** Over HTTP/1 by three protocols, over HTTP/2 by two; `statuses` are what REST and Connect may answer. */
async function byEveryProtocol(ground: Ground, what: string, body: Uint8Array, statuses: readonly number[]): Promise<void> {
  const { target } = ground;
  for (const way of waysOf(body)) {
    const answer = await target.send(http1(way));
    refuseFailure(ground, `${what} to ${way.path} (${way.type})`, answer);
    const [status] = statusesIn(answer);
    const isRight = status !== undefined && (statuses.includes(status) || way.type?.includes('grpc') === true);
    if (!isRight) ground.violation(`${what} to ${way.path} (${way.type}): answered ${answer.slice(0, 300)}`);
  }
  const session = target.session();
  for (const [path, type, bytes] of [
    [sign, 'application/json', body],
    [signData.path, 'application/grpc+json', envelope(withRelayer(body))],
  ] as const) {
    const answer = await target.request(session, http2Headers(path, type), bytes);
    const heard = answer === null ? 'nothing' : `${JSON.stringify(answer.headers)} ${answer.body.toString('latin1')}`;
    refuseFailure(ground, `${what} to ${path} (${type}) over HTTP/2`, heard.replaceAll('"grpc-status":"', 'grpc-status: '));
    const isRight =
      answer !== null && (type.includes('grpc') ? answer.headers['grpc-status'] !== undefined : statuses.includes(answer.status));
    if (!isRight) ground.violation(`${what} to ${path} (${type}) over HTTP/2: answered ${heard.slice(0, 300)}`);
  }
  session.destroy();
}

async function json(ground: Ground): Promise<void> {
  const bad = Object.entries(badJson());
  await inLanes(bad.length, 4, async (index) => {
    const [what, body] = bad[index] ?? ['', Buffer.alloc(0)];
    await byEveryProtocol(ground, what, body, [400]);
  });
  const odd = Object.entries(oddJson());
  await inLanes(odd.length, 4, async (index) => {
    const [what, body] = odd[index] ?? ['', Buffer.alloc(0)];
    await byEveryProtocol(ground, what, body, [200, 400, 404]);
  });
}

async function values(ground: Ground): Promise<void> {
  const { target } = ground;
  const to = '"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"';
  await inLanes(oddValues.length * transactionFields.length, 8, async (index) => {
    const field = transactionFields[index % transactionFields.length] ?? '';
    const value = oddValues[Math.floor(index / transactionFields.length)] ?? '';
    const body =
      field === 'to'
        ? `{"to":${value},"value":1}`
        : field === 'value'
          ? `{${to},"value":${value}}`
          : `{${to},"value":1,"${field}":${value}}`;
    const answer = await target.send(http1({ path: send, type: 'application/json', body }));
    refuseFailure(ground, body.slice(0, 200), answer);
    if (![200, 400].includes(statusesIn(answer)[0] ?? 0)) ground.violation(`${body.slice(0, 200)}: answered ${answer.slice(0, 300)}`);
    const camel = field.replace(/_[a-z]/g, (letters) => letters.slice(1).toUpperCase());
    const message = `{"relayerId":"r1","evm":${body.replace(`"${field}"`, `"${camel}"`)}}`;
    refuseFailure(
      ground,
      message.slice(0, 200),
      await target.send(http1({ path: '/relayer.v1.TransactionService/SendTransaction', type: 'application/json', body: message })),
    );
  });
}

/** Bodies over the limit, announced and not: each gets its error, and its connection ends soon after. */
async function tooLarge(ground: Ground): Promise<void> {
  const { target, isShort } = ground;
  const large = Buffer.alloc(10 * mebibyte, 'a');
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'a'), Buffer.from('\r\n')]);
  const chunked = Buffer.concat([...Array.from({ length: 160 }, () => chunk), Buffer.from('0\r\n\r\n')]);
  const shouts: [string, Buffer][] = [];
  for (const [path, type] of [
    [sign, 'application/json'],
    [signData.path, 'application/json'],
    [signData.path, 'application/proto'],
    [signData.path, 'application/grpc-web+proto'],
  ] as const) {
    const body = type.includes('grpc') ? envelope(large) : large;
    shouts.push([`${type} to ${path}`, http1({ path, type, body, isLast: false })]);
    const lines = 'transfer-encoding: chunked\r\n';
    shouts.push([`${type} to ${path}, chunked`, Buffer.concat([http1({ path, type, lines, isLast: false }), chunked])]);
  }
  await inLanes(shouts.length * (isShort ? 1 : 4), 4, async (index) => {
    const [what, bytes] = shouts[index % shouts.length] ?? ['', Buffer.alloc(0)];
    const answer = await target.send(bytes, 2_500);
    refuseFailure(ground, what, answer);
    const isTold =
      /^HTTP\/1\.1 (?:413|429) /.test(answer) ||
      (what.includes('grpc-web') && /grpc-status: ?8\b/.test(answer)) ||
      answer.includes('"resource_exhausted"');
    // Chunked nonsense is nonsense before it is too large.
    if (!isTold && !(what.includes('grpc-web') && what.includes('chunked')))
      ground.violation(`10 MiB of ${what}: answered ${answer.slice(0, 300)}`);
  });
  await inLanes(isShort ? 4 : 12, 4, async (index) => {
    const session = target.session();
    const isGrpc = index % 2 === 0;
    const headers = isGrpc ? http2Headers(signData.path, 'application/grpc') : http2Headers(sign, 'application/json');
    const answer = await target.request(session, headers, isGrpc ? envelope(large) : large);
    const told = isGrpc ? answer?.headers['grpc-status'] === '8' : answer?.status === 413;
    if (!told)
      ground.violation(
        `10 MiB over HTTP/2 (${isGrpc ? 'gRPC' : 'REST'}): answered ${answer === null ? 'nothing' : JSON.stringify(answer.headers)}`,
      );
    session.destroy();
  });
}

/** A few kilobytes that would be hundreds of mebibytes. */
async function bombs(ground: Ground): Promise<void> {
  const { target, isShort } = ground;
  const vast = Buffer.alloc((isShort ? 64 : 256) * mebibyte, 'a');
  const nested = gzipSync(gzipSync(vast));
  for (const [encoding, bomb] of [
    ['gzip', gzipSync(vast)],
    ['br', brotliCompressSync(vast.subarray(0, 64 * mebibyte))],
    ['gzip', nested],
    ['gzip', Buffer.from('1f8b0800', 'hex')],
    ['gzip', Buffer.concat([gzipSync('{}'), Buffer.alloc(1000)])],
    ['br', Buffer.from('ffffffff', 'hex')],
  ] as const) {
    await inLanes(isShort ? 4 : 16, 8, async (index) => {
      const what = `${bomb.byteLength} bytes of ${encoding}`;
      if (index % 4 === 0) {
        const answer = await target.send(
          http1({ path: signData.path, type: 'application/json', lines: `content-encoding: ${encoding}\r\n`, body: bomb }),
          20_000,
        );
        refuseFailure(ground, `${what} by Connect`, answer);
        if (!/^HTTP\/1\.1 (?:4\d\d|501) /.test(answer)) ground.violation(`${what} by Connect: answered ${answer.slice(0, 300)}`);
      } else if (index % 4 === 1) {
        const body = envelope(bomb, { flags: 1 });
        const answer = await target.send(
          http1({ path: signData.path, type: 'application/grpc-web+proto', lines: `grpc-encoding: ${encoding}\r\n`, body }),
          20_000,
        );
        refuseFailure(ground, `${what} by gRPC-Web`, answer);
        if (!/grpc-status: ?[1-9]/.test(answer)) ground.violation(`${what} by gRPC-Web: answered ${answer.slice(0, 300)}`);
      } else if (index % 4 === 2) {
        const answer = await target.send(
          http1({ path: sign, type: 'application/json', lines: `content-encoding: ${encoding}\r\n`, body: bomb }),
        );
        if (!/^HTTP\/1\.1 4\d\d /.test(answer)) ground.violation(`${what} by REST: answered ${answer.slice(0, 300)}`);
      } else {
        const session = target.session();
        const headers = http2Headers(signData.path, 'application/grpc', { 'grpc-encoding': encoding });
        const answer = await target.request(session, headers, envelope(bomb, { flags: 1 }), 20_000);
        const status = answer?.headers['grpc-status'];
        if (status === undefined || ['0', '2', '13', '15'].includes(String(status))) {
          ground.violation(`${what} by gRPC: answered ${answer === null ? 'nothing' : JSON.stringify(answer.headers)}`);
        }
        session.destroy();
      }
    });
  }
}

/** Content types and charsets that are not ours, on every path. */
async function types(ground: Ground): Promise<void> {
  const { target } = ground;
  const odd = [
    undefined,
    'text/plain',
    'application/xml',
    'application/json; charset=utf-16',
    'application/json; charset="utf-8',
    'application/json;;;',
    'application/jsonx',
    'application/grpc',
    'application/grpc+json',
    'application/grpc-web-text',
    'application/grpc-web-text+proto',
    'application/connect+json',
    'application/connect+proto',
    'application/connect+xml',
    'application/grpc+xml',
    'application/proto',
    'APPLICATION/JSON',
    'application/json, application/json',
    '\xff',
    'a'.repeat(8_000),
    '/',
    '; charset=utf-8',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/json\t',
    '__proto__',
  ];
  const paths = [
    sign,
    signData.path,
    getRelayer.path,
    '/relayer.v1.TransactionService/WatchTransactions',
    '/relayer.v1.No/Such',
    '/api/v1/nothing',
    '/api/v1/health',
  ];
  await inLanes(odd.length * paths.length, 8, async (index) => {
    const type = odd[index % odd.length];
    const path = paths[Math.floor(index / odd.length)] ?? '';
    for (const body of ['{"message":"m","relayerId":"no"}', envelope(Buffer.from('{}'))]) {
      const bytes = http1({
        path,
        body,
        ...(type === undefined ? {} : { type }),
        lines: 'connect-timeout-ms: 500\r\ngrpc-timeout: 500m\r\n',
      });
      refuseFailure(ground, `${type} to ${path}`, await target.send(bytes, 3_000));
    }
  });
  const timeouts = [
    'connect-timeout-ms: -1',
    'connect-timeout-ms: 99999999999999999999',
    'connect-timeout-ms: x',
    'grpc-timeout: 1',
    'grpc-timeout: 99999999H',
    'grpc-timeout: -1S',
    'connect-protocol-version: 2',
  ];
  await inLanes(timeouts.length * 2, 4, async (index) => {
    const lines = `${timeouts[index % timeouts.length]}\r\n`;
    const isWeb = index >= timeouts.length;
    const bytes = isWeb
      ? http1({ path: signData.path, type: 'application/grpc-web+json', lines, body: envelope(Buffer.from(signData.json)) })
      : http1({ path: signData.path, type: 'application/json', lines, body: signData.json });
    refuseFailure(ground, lines, await target.send(bytes));
  });
}

/** Without a key that fits: each gets its error before it has sent its body, and cannot hold its connection by never sending it. */
async function uninvited(ground: Ground): Promise<void> {
  const { target, isShort } = ground;
  const keys: readonly Key[] = [null, 'wrong'];
  const bodies = [...Object.values(badJson()), ...Object.values(oddJson())];
  await inLanes(isShort ? bodies.length : bodies.length * 4, 8, async (index) => {
    const key = keys[index % 2] ?? null;
    for (const way of waysOf(bodies[index % bodies.length] ?? Buffer.alloc(0))) {
      const answer = await target.send(http1({ ...way, key }));
      refuseUnlessLockedOut(ground, way, answer);
    }
  });
  await inLanes(isShort ? 24 : 240, 24, async (index) => {
    const way = waysOf(Buffer.alloc(0))[index % 3];
    if (way === undefined) return;
    const startedMs = Date.now();
    // Not the first byte of the body is ever sent.
    const answer = await target.send(http1({ ...way, body: null, length: 500_000, key: keys[index % 2] ?? null }));
    refuseUnlessLockedOut(ground, way, answer);
    if (Date.now() - startedMs > 30_000)
      ground.violation(`the service kept a connection without a key and without a body for ${Date.now() - startedMs} ms`);
  });
  const session = target.session();
  await inLanes(isShort ? 50 : 500, 25, async (index) => {
    const [path, type] = index % 2 === 0 ? [signData.path, 'application/grpc'] : [sign, 'application/json'];
    const answer = await target.request(session, { ':method': 'POST', ':path': path, 'content-type': type }, bodies[index % bodies.length]);
    const isTold = index % 2 === 0 ? answer?.headers['grpc-status'] === '16' : answer?.status === 401;
    if (!isTold)
      ground.violation(
        `a body without a key over HTTP/2 (${type}): answered ${answer === null ? 'nothing' : JSON.stringify(answer.headers)}`,
      );
  });
  session.destroy();
  // Enough of them to be noticed if the service read them.
  const large = Buffer.alloc(10 * mebibyte, 'a');
  await inLanes(isShort ? 4 : 20, 4, async () => {
    const answer = await target.send(
      Buffer.concat([
        Buffer.from(`POST ${sign} HTTP/1.1\r\nhost: a\r\n${keyLine('wrong')}content-length: ${large.byteLength}\r\n\r\n`),
        large,
      ]),
    );
    if (![401, 429].includes(statusesIn(answer)[0] ?? 0)) ground.violation(`10 MiB without a key: answered ${answer.slice(0, 300)}`);
  });
}

/** After 20 wrong keys in a row, an address gets another refusal. */
function refuseUnlessLockedOut(ground: Ground, { path, type }: Http1Request, answer: string): void {
  const isTold =
    type?.includes('grpc') === true ? /grpc-status: ?(?:16|8)\b/.test(answer) : [401, 429].includes(statusesIn(answer)[0] ?? 0);
  if (!isTold) ground.violation(`a body without a key to ${path} (${type}): answered ${answer.slice(0, 300)}`);
}

export const bodyAttacks: readonly Attack[] = [
  { name: 'bodies: JSON', run: json },
  { name: 'bodies: values', run: values },
  { name: 'bodies: too large', run: tooLarge },
  { name: 'bodies: bombs', run: bombs },
  { name: 'bodies: types', run: types },
  { name: 'bodies: without a key', run: uninvited },
];
