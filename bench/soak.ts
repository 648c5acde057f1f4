import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as elapsed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startAnvil } from '../test/support/anvil.js';
import { readMetrics, sumOf } from '../test/support/metrics-text.js';
import { createServiceHome, type ServiceHome } from '../test/support/service.js';
import { waitFor } from '../test/support/wait-for.js';
import { authorization, type MeasuredServer, startServiceIn } from './servers.js';
import { trendOf } from './trend.js';

/*
 * Runs the service under a constant load for a long time, prints its resources each minute, and ends with exit code 1 if one of them grows:
 *
 *     npm run bench -- soak --minutes 60 --rate 50
 *
 * Ctrl-C ends it earlier, with the result so far and exit code 130.
 */

/** The resources of the service at one moment. */
interface Reading {
  readonly heapMb: number;
  readonly rssMb: number;
  readonly descriptors: number;
  readonly walMb: number;
  /** The 99th percentile of the event loop's delay since the last reading. */
  readonly lagMs: number;
  readonly open: number;
  readonly backlog: number;
  /** The part of the time since the last reading in which the service could run but others had the processors. */
  readonly starvedPercent: number;
}

/** How much a resource may grow over the readings after the warm-up, by their trend: a factor, and a number on top. */
const allowed: { readonly [name in keyof Reading]: readonly [factor: number, more: number] } = {
  heapMb: [1.1, 5],
  rssMb: [1.1, 0],
  descriptors: [1, 10],
  walMb: [1, 17],
  lagMs: [2, 50],
  open: [1.5, 500],
  backlog: [1.5, 500],
  starvedPercent: [1, 100],
};
const names = Object.keys(allowed) as (keyof Reading)[];

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, rate: { type: 'string', default: '50' } } });
const minutes = Number(values.minutes);
const rate = Number(values.rate);
if (!Number.isInteger(minutes) || minutes < 3 || !(rate > 0)) throw new Error('--minutes must be an integer from 3 on, and --rate above 0');
/** Compiled code and caches grow until then. */
const warmUpMinutes = 10;
/** Fewer readings show no trend. */
const minReadings = 10;
/** Above this, the figures say little about the service. */
const busyPercent = 20;
const minuteMs = 60_000;
const tickMs = 100;
/** An account has at most 16 transactions in flight, so that this allows 80 a second. */
const blockMs = 200;

const receiver = createServer((incoming, response) => {
  incoming.resume().on('end', () => response.end());
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const anvil = await startAnvil({ noMining: true });
const home = await createServiceHome({
  rpcUrl: anvil.url,
  notifications: [{ id: 'hook', type: 'webhook', url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` }],
  notificationId: 'hook',
});
await anvil.rpc('anvil_setBalance', [home.address, `0x${(10n ** 26n).toString(16)}`]);
const main = fileURLToPath(new URL('../program/main.js', import.meta.url));
const collector = fileURLToPath(new URL('../test/hostile/collect-on-signal.js', import.meta.url));
const service = await startServiceIn(home, main, ['--import', collector]);
const agent = new Agent({ connections: 16 });
const base = `http://127.0.0.1:${service.ports[0]}`;
const failures = new Map<string, number>();
let sent = 0;
const interrupted = new AbortController();
for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => {
    process.exitCode = exitCode;
    interrupted.abort();
  });
let waitedMs = waitedForProcessorMs();
let waitedSinceMs = performance.now();
const mining = mine();

try {
  const readings = await soak();
  const isOk = report(readings);
  if (!isOk) process.exitCode ??= 1;
} finally {
  interrupted.abort();
  await mining;
  await agent.close();
  await service.stop();
  await anvil.stop();
  receiver.close();
  await home.remove();
}

/** Loads the service, and returns the readings, also if it is interrupted. */
async function soak(): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  const stopping = new AbortController();
  const loading = load(AbortSignal.any([stopping.signal, interrupted.signal]));
  print(['minute', ...names].map((name) => name.padStart(15)).join(''));
  while (readings.length < minutes) {
    await elapsed(minuteMs, undefined, { signal: interrupted.signal }).catch(() => undefined);
    if (interrupted.signal.aborted) break;
    const reading = await read(home, service).catch((error: unknown) => {
      if (!interrupted.signal.aborted) throw error;
      return null;
    });
    if (reading === null || interrupted.signal.aborted) break;
    readings.push(reading);
    print([readings.length, ...names.map((name) => reading[name].toFixed(1))].map((text) => String(text).padStart(15)).join(''));
  }
  stopping.abort();
  await loading;
  return readings;
}

/** Prints the result. False if a resource grows or a call failed. */
function report(readings: readonly Reading[]): boolean {
  print(`${sent} sends in ${readings.length} ${interrupted.signal.aborted ? 'minutes, then interrupted' : 'minutes'}`);
  for (const [what, count] of failures) print(`failed: ${what}, ${count} times`);
  const starved = readings.reduce((sum, { starvedPercent }) => sum + starvedPercent, 0) / readings.length;
  if (starved > busyPercent)
    print(`the machine was busy: the service waited for a processor for ${starved.toFixed(0)} % of the time, so its figures say little`);
  const judged = readings.slice(warmUpMinutes);
  if (judged.length < minReadings) {
    print(`no trend: that needs ${warmUpMinutes + minReadings} minutes, of which the first ${warmUpMinutes} are the warm-up`);
    return failures.size === 0;
  }
  const growing = names.filter((name) => grows(name, judged));
  print(growing.length === 0 ? 'nothing grows' : `grows: ${growing.join(', ')}`);
  return growing.length === 0 && failures.size === 0;
}

async function mine(): Promise<void> {
  while (!interrupted.signal.aborted) {
    await anvil.mine();
    await elapsed(blockMs, undefined, { signal: interrupted.signal }).catch(() => undefined);
  }
}

/** Sends at the rate, however long the answers take, and reads every tenth transaction. */
async function load(signal: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const due = Math.floor(((performance.now() - startedMs) / 1000) * rate);
    for (; sent < due; sent += 1) {
      const one = sendOne(sent).finally(() => running.delete(one));
      running.add(one);
    }
    await elapsed(tickMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all(running);
}

async function sendOne(number: number): Promise<void> {
  const path = `/api/v1/relayers/${home.relayerId}/transactions`;
  const body = JSON.stringify({ to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1, speed: 'fast' });
  const headers = { 'content-type': 'application/json', 'idempotency-key': `soak-${number}` };
  const answer = await ask('POST', path, headers, body);
  if (answer !== null && number % 10 === 0) await ask('GET', `${path}/${JSON.parse(answer).data.id}`);
}

/** Returns the answer; null if it is not a success, which is counted. */
async function ask(method: 'GET' | 'POST', path: string, headers: Record<string, string> = {}, body?: string): Promise<string | null> {
  try {
    const answer = await request(`${base}${path}`, {
      dispatcher: agent,
      method,
      headers: { authorization, ...headers },
      body: body ?? null,
    });
    const text = await answer.body.text();
    if (answer.statusCode === 200) return text;
    fail(`${method} answered ${answer.statusCode}`);
  } catch (error) {
    fail(`${method}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return null;
}

function fail(what: string): void {
  // Ctrl-C in a terminal stops the service too.
  if (interrupted.signal.aborted) return;
  failures.set(what, (failures.get(what) ?? 0) + 1);
}

/** Collects the service's garbage, and reads its resources after that. */
async function read({ dir }: ServiceHome, { pid }: MeasuredServer): Promise<Reading> {
  const log = join(dir, 'service.log');
  const { size } = statSync(log);
  process.kill(pid, 'SIGUSR2');
  const isCollected = () => interrupted.signal.aborted || textFrom(log, size).includes('"msg":"collected"');
  await waitFor('the garbage collection', () => (isCollected() ? true : undefined));
  const metrics = readMetrics((await ask('GET', '/metrics')) ?? '');
  const of = (name: string) => sumOf(metrics, name);
  return {
    heapMb: of('nodejs_heap_size_used_bytes') / 1e6,
    rssMb: of('process_resident_memory_bytes') / 1e6,
    descriptors: of('process_open_fds'),
    walMb: of('relayer_database_log_bytes') / 1e6,
    lagMs: of('nodejs_eventloop_lag_p99_seconds') * 1000,
    open: of('relayer_open_transactions'),
    backlog: of('relayer_webhook_backlog'),
    starvedPercent: takeStarvedPercent(),
  };
}

/** Reads the end of a file: the log of an hour is larger than any text may be. */
function textFrom(file: string, position: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, statSync(file).size - position));
    const count = readSync(descriptor, bytes, 0, bytes.length, position);
    return bytes.toString('utf8', 0, count);
  } finally {
    closeSync(descriptor);
  }
}

/** The time that the service's main thread has waited for a processor. */
function waitedForProcessorMs(): number {
  return Number(readFileSync(`/proc/${service.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
}

function takeStarvedPercent(): number {
  const [waitedNowMs, nowMs] = [waitedForProcessorMs(), performance.now()];
  const percent = (100 * (waitedNowMs - waitedMs)) / (nowMs - waitedSinceMs);
  waitedMs = waitedNowMs;
  waitedSinceMs = nowMs;
  return percent;
}

function grows(name: keyof Reading, readings: readonly Reading[]): boolean {
  const { first, last, isRising } = trendOf(readings.map((reading) => reading[name]));
  const [factor, more] = allowed[name];
  const isGrowing = isRising && last > first * factor + more;
  print(`trend of ${name}: ${first.toFixed(1)} to ${last.toFixed(1)}${isRising ? '' : ', within the noise'}`);
  return isGrowing;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
