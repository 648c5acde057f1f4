import { setTimeout as delay } from 'node:timers/promises';
import type { Ground } from './attack.js';
import { callHeaders, headerBlock, headersFrame, preface, settings } from './http2-frames.js';
import { envelope, http1, http2Headers, keyLine, signData } from './valid-requests.js';

/** The time that the service allows for each, in milliseconds, with room for a busy machine. */
const allowedMs = { firstByte: 10_000, headers: 15_000, request: 60_000, keepAlive: 75_000 };
const graceMs = 15_000;

/** Connections, or streams of HTTP/2, that one kind of slowness holds. */
interface Slow {
  readonly what: string;
  /** When the last of them must be over, from when it was opened. */
  readonly withinMs: number;
  readonly ended: readonly Promise<unknown>[];
}

/** Work that runs at the same time. */
export interface Siege {
  /** Waits until the service has ended everything that it must end in time; reports the rest. */
  outlast(): Promise<void>;
}

/** Opens slow connections of every kind, by the hundred, and keeps them going. */
export async function layFarAndWide(ground: Ground): Promise<Siege> {
  const { target, isShort, violation } = ground;
  const many = isShort ? 100 : 400;
  const openedMs = Date.now();
  const kinds: Slow[] = [];
  const dripping = new Set<() => void>();
  const dripper = setInterval(() => {
    for (const drip of dripping) drip();
  }, 1_000);

  async function hold(what: string, count: number, withinMs: number, first: Uint8Array, drop: string | null, isRead = true): Promise<void> {
    const ended: Promise<unknown>[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = await target.open();
      const drip = (): void => {
        if (drop !== null) socket.write(drop);
      };
      dripping.add(drip);
      ended.push(
        new Promise((resolve) => {
          socket.once('close', () => {
            dripping.delete(drip);
            resolve(true);
          });
        }),
      );
      if (isRead) socket.resume();
      // A client that does not read does not see the end either: the test checks when it must have come.
      else setTimeout(() => socket.resume(), withinMs + graceMs / 2).unref();
      if (first.length > 0) socket.write(first);
      target.counts.requests += 1;
    }
    kinds.push({ what, withinMs, ended });
  }

  const sign = '/api/v1/relayers/r1/sign';
  const type = 'application/json';
  const head = Buffer.from(`POST ${sign} HTTP/1.1\r\nhost: a\r\n${keyLine('right')}`);
  const list = '/api/v1/relayers/r1/transactions?per_page=100';
  const listing = Buffer.from(`GET ${list} HTTP/1.1\r\nhost: a\r\n${keyLine('right')}\r\n`.repeat(200));
  const getBlock = headerBlock(callHeaders(list, null));
  const shut = Buffer.concat([
    preface,
    settings([4, 0]),
    ...Array.from({ length: 20 }, (_, index) => headersFrame(index * 2 + 1, getBlock, true)),
  ]);

  await hold('connections that say nothing', many, allowedMs.firstByte, Buffer.alloc(0), null);
  await hold('connections that say two bytes', many / 4, allowedMs.firstByte, Buffer.from('PR'), null);
  await hold('headers that drip', many, allowedMs.headers, head, 'x');
  await hold('header lines that drip', many, allowedMs.headers, head, 'x: y\r\n');
  await hold('bodies that drip, by REST', many / 2, allowedMs.request, http1({ path: sign, type, length: 1_000 }), ' ');
  await hold('bodies that drip, by Connect', many / 2, allowedMs.request, http1({ path: signData.path, type, length: 1_000 }), ' ');
  await hold(
    'chunks that drip',
    many / 2,
    allowedMs.request,
    http1({ path: sign, type, lines: 'transfer-encoding: chunked\r\n' }),
    '1\r\n \r\n',
  );
  // Node takes the first silence of a pending write for a slow one, and the second for the end.
  await hold('readers that do not read, over HTTP/1', 10, 2 * allowedMs.request, listing, null, false);
  await hold('readers with shut windows, over HTTP/2', many / 10, 2 * allowedMs.request, shut, null);
  await hold('connections that were of use once', many / 10, allowedMs.keepAlive, listing.subarray(0, listing.length / 200), null);

  const ended: Promise<unknown>[] = [];
  for (let index = 0; index < many / 10; index += 1) {
    const session = target.session();
    for (const [path, contentType] of [
      [sign, type],
      [signData.path, type],
      [signData.path, 'application/grpc'],
    ] as const) {
      const stream = session.request(http2Headers(path, contentType));
      stream.on('error', () => undefined).resume();
      stream.write(envelope(Buffer.alloc(0), { length: 1_000 }).subarray(0, 4));
      const drip = (): void => void stream.write(' ');
      dripping.add(drip);
      target.counts.requests += 1;
      ended.push(
        new Promise((resolve) => {
          stream.once('close', () => {
            dripping.delete(drip);
            resolve(true);
          });
        }),
      );
    }
  }
  kinds.push({ what: 'bodies that drip, over HTTP/2', withinMs: allowedMs.request, ended });

  return {
    async outlast() {
      const worth = kinds.filter(({ withinMs }) => !isShort || withinMs <= allowedMs.headers);
      await Promise.all(
        worth.map(async ({ what, withinMs, ended: all }) => {
          const restMs = Math.max(0, openedMs + withinMs + graceMs - Date.now());
          let open = all.length;
          for (const one of all) void one.then(() => (open -= 1));
          await Promise.race([Promise.all(all), delay(restMs, undefined, { ref: false })]);
          if (open > 0) violation(`${open} of ${all.length} ${what} were still open after ${withinMs + graceMs} ms`);
        }),
      );
      clearInterval(dripper);
    },
  };
}
