import { setTimeout as delay } from 'node:timers/promises';
import type { Target } from './target.js';
import { envelope, getRelayer, http1, http2Headers } from './valid-requests.js';

/** How long an answer may take during an attack. */
const patienceMs = 120_000;

/** Reads a relayer on a new connection; returns the problem with the answer, or undefined. */
type Probe = (target: Target) => Promise<string | undefined>;

/** The text in every correct answer, in every encoding. */
const sign = 'Relayer One';

const probes: Readonly<Record<string, Probe>> = {
  'REST over HTTP/1': (target) => overHttp1(target, http1({ verb: 'GET', path: '/api/v1/relayers/r1' })),
  'Connect over HTTP/1': (target) => overHttp1(target, http1({ path: getRelayer.path, type: 'application/json', body: getRelayer.json })),
  'gRPC-Web over HTTP/1': (target) =>
    overHttp1(target, http1({ path: getRelayer.path, type: 'application/grpc-web+proto', body: envelope(getRelayer.binary) })),
  'gRPC over HTTP/2': (target) => overHttp2(target, http2Headers(getRelayer.path, 'application/grpc'), envelope(getRelayer.binary)),
  'REST over HTTP/2': (target) => overHttp2(target, http2Headers('/api/v1/relayers/r1', null)),
};

/** The figures of a run of probes. */
export interface Probed {
  count: number;
  slowestMs: number;
}

/** One probe of every protocol; reports problems to `violation`. */
export async function probeAll(target: Target, violation: (sentence: string) => void, probed: Probed): Promise<void> {
  for (const [name, probe] of Object.entries(probes)) {
    const startedMs = Date.now();
    const wrong = await probe(target);
    probed.count += 1;
    probed.slowestMs = Math.max(probed.slowestMs, Date.now() - startedMs);
    if (wrong !== undefined) violation(`a valid call over ${name} got ${wrong.slice(0, 400)}`);
  }
}

/** Probes continuously while a task runs, and once after it. */
export async function probeWhile(
  running: Promise<unknown>,
  target: Target,
  violation: (sentence: string) => void,
  probed: Probed,
): Promise<void> {
  let isRunning = true;
  const ended = running.finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    await probeAll(target, violation, probed);
    await Promise.race([ended, delay(100)]);
  }
  await ended;
  await probeAll(target, violation, probed);
}

async function overHttp1(target: Target, bytes: Buffer): Promise<string | undefined> {
  const answer = await target.send(bytes, patienceMs);
  return answer.startsWith('HTTP/1.1 200 ') && answer.includes(sign) ? undefined : JSON.stringify(answer);
}

async function overHttp2(target: Target, headers: Record<string, string>, body?: Buffer): Promise<string | undefined> {
  const session = target.session();
  const answer = await target.request(session, headers, body, patienceMs);
  session.destroy();
  if (answer === null) return 'nothing';
  const isRight = answer.status === 200 && answer.body.includes(sign) && (answer.headers['grpc-status'] ?? '0') === '0';
  return isRight ? undefined : `${JSON.stringify(answer.headers)} ${answer.body.toString('latin1')}`;
}
