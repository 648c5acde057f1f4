import { randomFillSync } from 'node:crypto';
import { type Attack, type Ground, inLanes, refuseFailure, statusesIn } from './attack.js';
import { getRelayer, http1, keyLine } from './valid-requests.js';

/** A request as bytes, and its allowed statuses: exactly one answer, or, with `none`, no answer. */
type Case = readonly [bytes: string, statuses: readonly (number | 'none')[]];

const key = keyLine('right');
const rest = '/api/v1/relayers/r1';
const sign = `${rest}/sign`;
const last = 'connection: close\r\n';

/** A second request, hidden in bytes that may or may not be a body. An answer to it means that it was smuggled past. */
const smuggled = `GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`;

const badHosts = [
  '',
  'host:\r\n',
  'host: [\r\n',
  'host: a\r\nhost: b\r\n',
  'host: a/b\r\n',
  'host: u@a\r\n',
  'host: a:99999\r\n',
  'host: %00\r\n',
];
const oddHosts = ['1.2.3.4.5', '999.999.999.999', 'a..b', '[::1]:80', 'xn--', '-', "!$&'()*+,;="];

/** Hosts, targets and verbs, to REST and to an RPC of each protocol. */
function requestLines(): Case[] {
  const calls = [
    `content-type: application/json\r\ncontent-length: 16\r\n\r\n{"relayerId":"r1"`,
    `content-type: application/grpc-web+proto\r\ncontent-length: 9\r\n\r\n\0\0\0\0\x04\n\x02r1`,
  ];
  const posts = (host: string, version = '1.1'): string[] => [
    `GET ${rest} HTTP/${version}\r\n${host}${key}${last}\r\n`,
    ...calls.map((call) => `POST ${getRelayer.path} HTTP/${version}\r\n${host}${key}${last}${call}`),
  ];
  // gRPC-Web reports its errors in a 200.
  return [
    ...badHosts.flatMap((host) => posts(host).map((bytes): Case => [bytes, [400, 200]])),
    ...posts('', '1.0').map((bytes): Case => [bytes, [400, 200]]),
    ...oddHosts.flatMap((host) => posts(`host: ${host}\r\n`).map((bytes): Case => [bytes, [200, 400]])),
    ...['http://[', 'http://', 'http://a:b', 'https://u:p@evil.example', 'HTTP://1.2.3.4.5'].map(
      (origin): Case => [`GET ${origin}${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [200, 400, 404]],
    ),
    ...[
      '*',
      '',
      '/%',
      '/%zz',
      '/%00',
      '/%c0%af',
      `${rest}/..%2f..`,
      '/../../etc/passwd',
      '/a?%zz=%',
      '/\x7f',
      '/é',
      `${rest}#x`,
      'relayers',
    ].map((path): Case => [`GET ${path} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400, 404]]),
    // One trailing slash is tolerated, and `/` leads to the reference page.
    [`GET // HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [302]],
    [`GET ${rest}/transactions?page=%zz HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400]],
    [`GET ${rest}/transactions?status=${'%F0%9F%98'.repeat(9)} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400]],
    [`GET ${rest}/transactions?__proto__=1&constructor=2&toString HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400]],
    [`GET ${rest}/transactions?${'a=1&'.repeat(3_000)} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400]],
    [`GET /api/v1/${'a/'.repeat(7_000)} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [404]],
    [`GET /api/v1/relayers/${'%41'.repeat(5_000)} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [404]],
    [`GET /${'a'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, [431, 'none']],
    [`GET /?${'a'.repeat(1_000_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, [431, 'none']],
    [`OPTIONS * HTTP/1.1\r\nhost: a\r\n${last}\r\n`, [204, 400, 404]],
    [`OPTIONS ${rest} HTTP/1.1\r\nhost: a\r\norigin: null\r\naccess-control-request-method: \x01\r\n${last}\r\n`, [204, 400]],
    [`CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n`, ['none', 400, 404, 405]],
    [`TRACE ${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [405]],
    [`PROPFIND ${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [405]],
    [`PUT ${getRelayer.path} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [405]],
    [`GET ${getRelayer.path} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400, 405, 415]],
    [`GET ${getRelayer.path}?connect=v1&encoding=json&base64=1&message=%00 HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, [400, 405, 415]],
    [
      `GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\nconnection: upgrade, http2-settings, close\r\n\r\n`,
      [200],
    ],
    [
      `GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}upgrade: websocket\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\nconnection: upgrade, close\r\n\r\n`,
      [200],
    ],
    ['GET /\r\n\r\n', [400]],
    ['\r\n\r\n\r\n\r\nXX\r\n\r\n', [400]],
    // Node's parser lets it pass; nothing of it is HTTP/2.
    [`GET ${rest} HTTP/2.0\r\nhost: a\r\n${key}${last}\r\n`, [200, 400]],
    ...['1.2', '9.9', '1', '1.1.1', ''].map(
      (version): Case => [`GET ${rest} HTTP/${version}\r\nhost: a\r\n${key}${last}\r\n`, [400, 'none']],
    ),
    [`get ${rest} HTTP/1.1\r\nhost: a\r\n\r\n`, [400]],
    [`${'A'.repeat(200_000)} / HTTP/1.1\r\n\r\n`, [400]],
    [`PRI * HTTP/1.1\r\nhost: a\r\n\r\n`, ['none']],
  ];
}

/** Headers that are too large, too many, or none. */
function headers(): Case[] {
  const get = (lines: string): string => `GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}${lines}\r\n`;
  return [
    [get(`x: ${'a'.repeat(17_000)}\r\n`), [431]],
    [get(`x: ${'a'.repeat(2_000_000)}\r\n`), [431, 'none']],
    [get(`${'a'.repeat(17_000)}: x\r\n`), [431]],
    [get('a:b\r\n'.repeat(3_000)), [200, 431]],
    [get('a:b\r\n'.repeat(300_000)), [431, 'none']],
    [get(`cookie: a\r\n`.repeat(1_000)), [200, 431]],
    [get('x : y\r\n'), [400]],
    [get(': y\r\n'), [400]],
    [get('x\r\n'), [400]],
    [get('x: a\0b\r\n'), [400]],
    [get('x: a\rb\r\n'), [400]],
    [get('x: a\r\n folded\r\n'), [200, 400]],
    [get(' x: a\r\n'), [200, 400]],
    [get('__proto__: x\r\nconstructor: x\r\ntoString: x\r\n'), [200]],
    [get(`x-request-id: ${'a'.repeat(500)}\r\nx-request-id: \xff\r\n`), [200]],
    [get('idempotency-key: \xff\r\nidempotency-key:\r\n'), [200, 400]],
    [get('expect: 100-continue\r\n'), [200]],
    [get('expect: the worst\r\n'), [200, 417]],
    [get(key), [401]],
    [get('accept-encoding: \x80\r\naccept: */*;q=9\r\n'), [200, 400]],
    [`GET ${rest} HTTP/1.1\nhost: a\n${key.replace('\r', '')}connection: close\n\n`, [200, 400]],
    [`GET ${rest} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \r\n${last}\r\n`, [401]],
    [`GET ${rest} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${'x'.repeat(9_000)}\r\n${last}\r\n`, [401]],
    [`GET ${rest} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \xff\xfe\r\n${last}\r\n`, [401]],
  ];
}

/** Bodies whose end two readers might see in two places. */
function smuggling(): Case[] {
  const post = (lines: string, body: string): string =>
    `POST ${sign} HTTP/1.1\r\nhost: a\r\n${key}content-type: application/json\r\n${lines}\r\n${body}${smuggled}`;
  const chunked = 'transfer-encoding: chunked\r\n';
  return [
    ...[
      `content-length: 6\r\n${chunked}`,
      `${chunked}content-length: 6\r\n`,
      'content-length: 6\r\ncontent-length: 7\r\n',
      'content-length: 6, 7\r\n',
      'content-length: +6\r\n',
      'content-length: -6\r\n',
      'content-length: 0x6\r\n',
      'content-length: 6 6\r\n',
      'content-length: 99999999999999999999999\r\n',
      'content-length: \r\n',
      'content-length : 6\r\n',
      'transfer-encoding: xchunked\r\n',
      'transfer-encoding: chunked, identity\r\n',
      'transfer-encoding: \x0bchunked\r\n',
      'transfer-encoding : chunked\r\n',
      `${chunked}${chunked}transfer-encoding: identity\r\n`,
    ].map((lines): Case => [post(lines, '0\r\n\r\n'), [400, 411, 415]]),
    ...['ZZ', '-1', '+1', ' 1', '0x1', '1;\n', 'FFFFFFFFFFFFFFFFF', '', '1 1', '\x001'].map(
      (size): Case => [post(chunked, `${size}\r\n{\r\n0\r\n\r\n`), [400]],
    ),
    [post(chunked, `2;${'x'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n`), [413]],
    [post(chunked, '2\r\n{}X\r\n0\r\n\r\n'), [400]],
    [post(chunked, '2\n{}\n0\n\n'), [400]],
    [post(chunked, `2\r\n{}\r\n0\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`), [400, 431]],
  ];
}

async function each(ground: Ground, cases: readonly Case[]): Promise<void> {
  await inLanes(cases.length, 8, async (index) => {
    const [bytes, statuses] = cases[index] ?? ['', []];
    const answer = await ground.target.send(bytes);
    const what = JSON.stringify(bytes.slice(0, 160));
    refuseFailure(ground, what, answer);
    const seen = statusesIn(answer);
    const isRight = seen.length === 0 ? statuses.includes('none') : seen.length === 1 && statuses.includes(seen[0] ?? 0);
    if (!isRight)
      ground.violation(`${what}: answered ${seen.join(' ') || 'nothing'}, not ${statuses.join(' or ')}: ${answer.slice(0, 200)}`);
  });
}

/** As many requests in one packet as a connection may have, read late. */
async function pipelining(ground: Ground): Promise<void> {
  const { target } = ground;
  const count = 250;
  const one = `GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}\r\n`;
  const answer = await target.send(`${one.repeat(count - 1)}GET ${rest} HTTP/1.1\r\nhost: a\r\n${key}${last}\r\n`, 60_000);
  target.counts.requests += count - 1;
  const seen = statusesIn(answer);
  if (seen.length !== count || seen.some((status) => status !== 200))
    ground.violation(`the service answered ${seen.length} of ${count} pipelined requests`);
}

/** Bytes of no known protocol, and connections that end in every possible way. */
async function noise(ground: Ground): Promise<void> {
  const { target, random, isShort } = ground;
  await inLanes(isShort ? 200 : 2_000, 32, async () => {
    const bytes = Buffer.alloc(random.between(0, 300));
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = random.between(0, 255);
    const socket = await target.open();
    target.counts.requests += 1;
    socket.write(bytes);
    if (random.chance(0.3)) socket.resetAndDestroy();
    else if (random.chance(0.5)) socket.end();
    else socket.destroy();
  });
  const clientHello = Buffer.concat([Buffer.from('16030100c8010000c40303', 'hex'), randomFillSync(Buffer.alloc(200))]);
  await target.send(clientHello, 2_000);
}

/** A whole request and then the end of one's own side: answered or not, it must not linger. */
async function halfClosed(ground: Ground): Promise<void> {
  const { target } = ground;
  const requests = [
    http1({ verb: 'GET', path: rest }),
    http1({ path: sign, type: 'application/json', body: '{"message":"m"}' }),
    http1({ path: sign, type: 'application/json', body: '{', length: 99 }),
    Buffer.from(`GET ${rest} HTTP/1.1\r\nhost: a\r\n`),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM'),
    Buffer.from('G'),
    Buffer.alloc(0),
  ];
  await inLanes(requests.length * 20, 20, async (index) => {
    const socket = await target.open();
    target.counts.requests += 1;
    const closed = new Promise((resolve) => socket.once('close', () => resolve(true)));
    socket.resume().end(requests[index % requests.length] ?? '');
    const timer = setTimeout(() => ground.violation(`half-closed connection ${index % requests.length} stayed open`), 8_000);
    await closed;
    clearTimeout(timer);
  });
}

export const http1Attacks: readonly Attack[] = [
  { name: 'http1: hosts, targets and verbs', run: (ground) => each(ground, requestLines()) },
  { name: 'http1: headers', run: (ground) => each(ground, headers()) },
  { name: 'http1: smuggling', run: (ground) => each(ground, smuggling()) },
  { name: 'http1: pipelining', run: pipelining },
  { name: 'http1: noise', run: noise },
  { name: 'http1: half-closed connections', run: halfClosed },
];
