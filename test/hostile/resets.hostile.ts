import { once } from 'node:events';
import { createServiceHome, startService } from '../support/service.js';
import { callHeaders, flag, frame, headerBlock, headersFrame, preface, settings, type, uint32 } from './http2-frames.js';
import { type Probed, probeAll, probeWhile } from './probe.js';
import { createTarget, type Target } from './target.js';
import { watchTransactions } from './valid-requests.js';

/** The size of an attack: every round opens so many connections, each with so many resets. */
const connections = 30;
const resets = 900;
/** The heap of the service under attack, in mebibytes. */
const heapLimit = 256;
/**
 * The processor time that a turn of the event loop may take. Node reads all connections in one turn if their bytes are there, and makes a stream
 * of each call before it reads the reset: about 20,000 of them in a round.
 */
const allowedTurnMs = 1_000;
/** How much more memory the service may hold than before, 5 s after the attacks of a code at the latest, in mebibytes. */
const allowedGrowth = 4;
const settleMs = 5_000;

/** Every code of HTTP/2, one that it does not know, and the greatest. */
const codes = [...Array.from({ length: 14 }, (_, code) => code), 0x77, 0xffffffff];

const withoutKey = callHeaders('/api/v1/relayers/r1', null).filter(([name]) => name !== 'authorization');
const gets = (path: string) => headerBlock(callHeaders(path, null));
const posts = (path: string, contentType: string, more: [string, string][] = []) =>
  headerBlock([...callHeaders(path, contentType), ...more]);
const [refused, health, unknown, docs, list] = [
  headerBlock(withoutKey),
  ...['/api/v1/health', '/none', '/docs', '/api/v1/relayers'].map(gets),
];
const announced = posts('/api/v1/relayers/r1/transactions', 'application/json', [['content-length', '1000000']]);
const watch = posts(watchTransactions.path, 'application/grpc');
const healthWatch = posts('/grpc.health.v1.Health/Watch', 'application/grpc');

/** The frames of a call, for each kind of call. */
const calls: readonly ((id: number) => Buffer)[] = [
  ...[refused, health, unknown, docs, list].map((block) => (id: number) => headersFrame(id, block ?? Buffer.alloc(0), true)),
  ...[refused, announced, watch, healthWatch].map((block) => (id: number) => headersFrame(id, block ?? Buffer.alloc(0), false)),
  (id) => Buffer.concat([headersFrame(id, announced, false), frame(type.data, 0, id, Buffer.alloc(50, 0x20))]),
  (id) =>
    Buffer.concat([frame(type.headers, 0, id, watch.subarray(0, 30)), frame(type.continuation, flag.endHeaders, id, watch.subarray(30))]),
];

/**
 * Sends calls that are reset at once, with every code (in the short form two of them), to a service of its own with a small heap. A round is 30 connections with 900 calls each,
 * all of one kind; each round has the next kind.
 */
export async function attackByResets({
  isShort,
  say,
  violation,
}: {
  /** True: turns are measured, but not judged, since the machine may be busy. */
  readonly isShort: boolean;
  readonly say: (line: string) => void;
  readonly violation: (sentence: string) => void;
}): Promise<void> {
  const rounds = isShort ? 3 : 60;
  const options = `--max-old-space-size=${heapLimit} --import ${new URL('./collect-on-signal.js', import.meta.url).href}`;
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { NODE_OPTIONS: options } });
  const service = await startService(home);
  const target = createTarget(service);
  const probed: Probed = { count: 0, slowestMs: 0 };
  // The code is compiled before the first measurement.
  for (const [kind] of calls.entries()) await sendResets(target, kind, kind % 2 === 0 ? 8 : 0);
  await probeAll(target, violation, probed);
  const before = await target.settle();
  let kind = 0;
  for (const code of isShort ? [0, 8] : codes) {
    let turnMs = 0;
    const attacking = async (): Promise<void> => {
      for (let round = 0; round < rounds && target.lives(); round += 1) {
        await target.turnCpuMs();
        await sendResets(target, kind++ % calls.length, code);
        turnMs = Math.max(turnMs, await target.turnCpuMs());
      }
    };
    await probeWhile(attacking(), target, violation, probed);
    const endedMs = Date.now();
    let { held } = await target.settle();
    while (held > before.held + allowedGrowth && Date.now() - endedMs < settleMs) ({ held } = await target.settle());
    if (!isShort && turnMs > allowedTurnMs) violation(`code ${code}: a turn of the event loop took ${turnMs} ms`);
    if (held > before.held + allowedGrowth) violation(`code ${code}: the service holds ${held} MiB; before it held ${before.held} MiB`);
    say(`resets with code ${code}: ${rounds} rounds, longest turn ${turnMs} ms, ${held} MiB held (${before.held} before)`);
  }
  for (const line of target.newComplaints().slice(0, 5)) violation(`the log contains ${line.slice(0, 1500)}`);
  if (!target.lives()) violation('the service did not survive');
  target.closeAll();
  await service.kill();
  await home.remove();
}

/** One round; resolves when the service has closed all connections. */
async function sendResets(target: Target, kind: number, code: number): Promise<void> {
  const call = calls[kind] ?? (() => Buffer.alloc(0));
  const ids = Array.from({ length: resets }, (_, index) => index * 2 + 1);
  const bytes = Buffer.concat(ids.flatMap((id) => [call(id), frame(type.reset, 0, id, uint32(code))]));
  const sockets = await Promise.all(Array.from({ length: connections }, () => target.open()));
  for (const socket of sockets) socket.resume().write(Buffer.concat([preface, settings()]));
  target.counts.requests += connections * resets;
  await Promise.all(
    sockets.map(async (socket) => {
      if (socket.destroyed) return;
      const closed = once(socket, 'close', { signal: AbortSignal.timeout(60_000) });
      socket.write(bytes);
      await closed;
    }),
  );
}
