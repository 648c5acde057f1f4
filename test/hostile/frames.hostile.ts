import { gzipSync } from 'node:zlib';
import { type Attack, type Ground, inLanes, refuseFailure } from './attack.js';
import { envelope, http1, http2Headers, signData, validCalls, watchTransactions } from './valid-requests.js';

const good = signData.binary;

/** A varint of any value. */
function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
}

/** Streams of enveloped messages that no good client sends. */
function badFrames(): Record<string, Buffer> {
  const whole = envelope(good);
  const truncated = Object.fromEntries(
    [0, 1, 4, 5, 6, whole.length - 1].map((length) => [`cut to ${length} bytes`, whole.subarray(0, length)]),
  );
  const flagged = Object.fromEntries([1, 2, 3, 4, 0x7f, 0x80, 0x81, 0xff].map((flags) => [`flags ${flags}`, envelope(good, { flags })]));
  const lying = Object.fromEntries(
    [0, 1, good.length - 1, good.length + 1, 1_048_576, 1_048_577, 0x7fffffff, 0xffffffff].map((length) => [
      `length ${length}`,
      envelope(good, { length }),
    ]),
  );
  const deep = Buffer.from([...Array(50_000).fill(0x0b), ...Array(50_000).fill(0x0c)]);
  let nested = Buffer.from([0x0a, 0]);
  for (let level = 0; level < 2_000; level += 1) nested = Buffer.concat([Buffer.from([0x12, ...varint(BigInt(nested.length))]), nested]);
  return {
    ...truncated,
    ...flagged,
    ...lying,
    'two messages': Buffer.concat([whole, whole]),
    'a thousand empty messages': Buffer.concat(Array.from({ length: 1_000 }, () => envelope(Buffer.alloc(0)))),
    'a message and half of one': Buffer.concat([whole, whole.subarray(0, 7)]),
    'a trailer from a caller': Buffer.concat([whole, envelope(Buffer.from('grpc-status: 0\r\n'), { flags: 0x80 })]),
    'an end of stream from a caller': Buffer.concat([whole, envelope(Buffer.from('{}'), { flags: 2 })]),
    'compressed without an encoding': envelope(gzipSync(good), { flags: 1 }),
    '50,000 groups in one another': envelope(deep),
    '50,000 groups that do not end': envelope(Buffer.alloc(50_000, 0x0b)),
    '2,000 messages in one another': envelope(nested),
    'a varint without an end': envelope(Buffer.alloc(1_000, 0xff)),
    'field number 0': envelope(Buffer.from([0x02, 0])),
    'the largest field number': envelope(Buffer.from([0xfa, 0xff, 0xff, 0xff, 0x0f, 0])),
    'wire type 7': envelope(Buffer.from([0x0f, 0])),
    'a text longer than its message': envelope(Buffer.from([0x0a, ...varint(0x7fffffffn), 65])),
    'a text of 2^64': envelope(Buffer.from([0x0a, ...varint(2n ** 64n - 1n), 65])),
    'a text that is no UTF-8': envelope(Buffer.from([0x0a, 2, 0xff, 0xfe])),
    'a mebibyte of one field': envelope(Buffer.concat(Array.from({ length: 260_000 }, () => Buffer.from([0x0a, 2, 65, 65])))),
    'a mebibyte of unknown fields': envelope(Buffer.concat(Array.from({ length: 300_000 }, () => Buffer.from([0xf8, 0x3f, 1])))),
    random: envelope(Buffer.from('8f1e00ff42c7aa55'.repeat(100), 'hex')),
  };
}

/** By every protocol that has envelopes, and bare by Connect. */
async function frames(ground: Ground): Promise<void> {
  const { target } = ground;
  const all = Object.entries(badFrames());
  const paths = [
    signData.path,
    watchTransactions.path,
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    '/grpc.health.v1.Health/Check',
  ];
  await inLanes(all.length * paths.length, 8, async (index) => {
    const [what, bytes] = all[index % all.length] ?? ['', Buffer.alloc(0)];
    const path = paths[Math.floor(index / all.length)] ?? '';
    const deadline = 'grpc-timeout: 300m\r\nconnect-timeout-ms: 300\r\n';
    for (const type of [
      'application/grpc-web+proto',
      'application/grpc-web+json',
      'application/connect+proto',
      'application/connect+json',
      'application/proto',
    ]) {
      refuseFailure(ground, `${what} to ${path} (${type})`, await target.send(http1({ path, type, lines: deadline, body: bytes }), 5_000));
    }
    const session = target.session();
    for (const type of ['application/grpc', 'application/grpc+json', 'application/connect+proto', 'application/grpc-web+proto']) {
      const answer = await target.request(
        session,
        http2Headers(path, type, { 'grpc-timeout': '300m', 'connect-timeout-ms': '300' }),
        bytes,
        5_000,
      );
      const heard =
        answer === null
          ? ''
          : `${answer.body.toString('latin1')} grpc-status: ${answer.headers['grpc-status'] ?? ''} ${answer.headers['grpc-message'] ?? ''}`;
      refuseFailure(ground, `${what} to ${path} (${type}) over HTTP/2`, heard);
    }
    session.destroy();
  });
}

/** Unknown encodings, and known ones whose content does not match. */
async function encodings(ground: Ground): Promise<void> {
  const { target } = ground;
  for (const encoding of ['gzip', 'br', 'deflate', 'snappy', 'identity', 'gzip, gzip', '', '__proto__', 'x'.repeat(1_000)]) {
    for (const [flags, message] of [
      [0, good],
      [1, good],
      [1, gzipSync(good)],
      [1, gzipSync(good).subarray(0, 12)],
      [1, Buffer.alloc(0)],
    ] as const) {
      const what = `encoding ${encoding.slice(0, 20)}, flags ${flags}, ${message.length} bytes`;
      const lines = `grpc-encoding: ${encoding}\r\nconnect-content-encoding: ${encoding}\r\ncontent-encoding: ${encoding}\r\n`;
      refuseFailure(
        ground,
        `${what} by gRPC-Web`,
        await target.send(http1({ path: signData.path, type: 'application/grpc-web+proto', lines, body: envelope(message, { flags }) })),
      );
      refuseFailure(
        ground,
        `${what} by Connect`,
        await target.send(http1({ path: signData.path, type: 'application/proto', lines, body: message })),
      );
      const stream = http1({
        path: watchTransactions.path,
        type: 'application/connect+proto',
        lines: `${lines}connect-timeout-ms: 200\r\n`,
        body: envelope(message, { flags }),
      });
      refuseFailure(ground, `${what} by a stream of Connect`, await target.send(stream));
    }
  }
}

/** Calls aborted at every moment, and hundreds of streams that no client reads. */
async function givenUp(ground: Ground): Promise<void> {
  const { target, random, isShort } = ground;
  await inLanes(isShort ? 300 : 3_000, 32, async (index) => {
    const call = validCalls[index % validCalls.length] ?? signData;
    target.counts.requests += 1;
    const socket = await target.open();
    const bytes = http1({ path: call.path, type: 'application/grpc-web+proto', body: envelope(call.binary) });
    socket.write(bytes.subarray(0, random.chance(0.5) ? bytes.length : random.between(1, bytes.length)));
    await new Promise((resolve) => setTimeout(resolve, random.between(0, 8)));
    socket.resetAndDestroy();
  });
  const session = target.session();
  await inLanes(isShort ? 200 : 1_000, 100, async () => {
    const stream = session.destroyed ? undefined : session.request(http2Headers(watchTransactions.path, 'application/grpc'));
    target.counts.requests += 1;
    stream?.on('error', () => undefined).end(envelope(watchTransactions.binary));
    await new Promise((resolve) => setTimeout(resolve, random.between(0, 50)));
    stream?.close(8);
  });
  session.destroy();
}

export const frameAttacks: readonly Attack[] = [
  { name: 'frames: envelopes', run: frames },
  { name: 'frames: encodings', run: encodings },
  { name: 'frames: calls given up', run: givenUp },
];
