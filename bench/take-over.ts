/*
 * `npm run bench:take-over -- [--runs 20] [--rate 25] [kill] [stop]`: how long a standby needs to take over under load. See README.md here.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseEther } from 'ethers';
import { startAnvil } from '../test/support/anvil.js';
import { startBalancer } from '../test/support/balancer.js';
import { rest } from '../test/support/callers.js';
import { freePort } from '../test/support/free-port.js';
import { startPostgres } from '../test/support/postgres.js';
import { createServiceHome, type LaunchedService, launchService, type ServiceHome } from '../test/support/service.js';
import { waitFor } from '../test/support/wait-for.js';

/** How often an instance is asked whether it is ready. */
const askEveryMs = 5;
const limitMs = 120_000;
const signals = { kill: 'SIGKILL', stop: 'SIGTERM' } as const;
type Way = keyof typeof signals;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '20' }, rate: { type: 'string', default: '25' } },
});
const ways = (['kill', 'stop'] as const).filter((way) => positionals.length === 0 || positionals.includes(way));

/** A node that knows when a transaction was broadcast on a connection that is younger than another time. */
interface WatchedNode {
  readonly url: string;
  /** Resolves to the time of the next broadcast on a connection that begins from now on. */
  nextBroadcastMs(): Promise<number>;
  stop(): Promise<void>;
}

async function watchNode(target: string): Promise<WatchedNode> {
  const sinceMs = new WeakMap<Socket, number>();
  let after = Number.POSITIVE_INFINITY;
  let resolve: (atMs: number) => void = () => undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const isLater = (sinceMs.get(incoming.socket) ?? 0) >= after;
      if (isLater && body.includes('eth_sendRawTransaction')) resolve(performance.now());
      const asked = request(target, { method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
        answer.pipe(response);
      });
      asked.on('error', () => response.destroy());
      asked.end(body);
    });
    incoming.on('error', () => undefined);
  });
  server.on('connection', (socket) => sinceMs.set(socket, performance.now()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextBroadcastMs() {
      after = performance.now();
      return new Promise((resolved) => {
        resolve = resolved;
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** An instance of the service. */
interface Instance {
  readonly port: number;
  readonly process: LaunchedService;
}

async function start(home: ServiceHome, port: number): Promise<Instance> {
  const process = launchService({ ...home, env: { ...home.env, APP_PORT: String(port) } });
  const stands = () => (/standing by|"msg":"listening"/.test(process.output()) ? true : undefined);
  await waitFor('the instance to stand by or to listen', stands, limitMs);
  return { port, process };
}

async function untilReady(port: number): Promise<number> {
  for (const giveUpMs = performance.now() + limitMs; performance.now() < giveUpMs; await delay(askEveryMs)) {
    const ready = await fetch(`http://127.0.0.1:${port}/api/v1/ready`).catch(() => null);
    if (ready?.status !== 200) continue;
    const read = await rest(`http://127.0.0.1:${port}`, 'GET', '/relayers/r1').catch(() => null);
    if (read?.status === 200) return performance.now();
  }
  throw new Error(`the standby did not take over in ${limitMs} ms`);
}

/** Sends payments at a rate through the balancer until the signal aborts; what is refused meanwhile is lost. */
async function sendAll(baseUrl: string, perSecond: number, signal: AbortSignal): Promise<void> {
  const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1, speed: 'fast' };
  while (!signal.aborted) {
    void rest(baseUrl, 'POST', '/relayers/r1/transactions', body).catch(() => undefined);
    await delay(1_000 / perSecond);
  }
}

/** How long the process was ready to run and had to wait for a processor, in ms. */
function waitedForProcessorMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

/** What one take-over took, from the signal on. */
interface TakeOver {
  readonly readyMs: number;
  readonly broadcastMs: number;
  /** The part of it in which the main thread of the standby was ready to run and another program ran instead. */
  readonly processorMs: number;
}

async function takeOver(way: Way, holder: Instance, heir: Instance, node: WatchedNode): Promise<TakeOver> {
  const broadcast = node.nextBroadcastMs();
  const waitedMs = waitedForProcessorMs(heir.process.pid);
  const beganMs = performance.now();
  process.kill(holder.process.pid, signals[way]);
  const readyMs = (await untilReady(heir.port)) - beganMs;
  const broadcastMs = (await broadcast) - beganMs;
  const processorMs = waitedForProcessorMs(heir.process.pid) - waitedMs;
  await holder.process.exited;
  return { readyMs, broadcastMs, processorMs };
}

function show(what: string, values: readonly number[]): void {
  const sorted = [...values].sort((a, b) => a - b);
  const [median, worst] = [sorted[Math.floor((sorted.length - 1) / 2)] ?? 0, sorted.at(-1) ?? 0];
  process.stdout.write(`${what}: median ${median.toFixed(0)} ms, worst of ${sorted.length} ${worst.toFixed(0)} ms\n`);
}

const releasers: (() => unknown)[] = [];
const ending = new AbortController();
try {
  const anvil = await startAnvil({ blockTime: 1 });
  releasers.push(anvil.stop);
  const postgres = await startPostgres();
  releasers.push(postgres.stop);
  const node = await watchNode(anvil.url);
  releasers.push(node.stop);
  const home = await createServiceHome({ rpcUrl: node.url, env: { DATABASE_URL: await postgres.newDatabase(), STANDBY: 'true' } });
  releasers.push(home.remove);
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  let holder = await start(home, await freePort());
  let heir = await start(home, await freePort());
  releasers.push(() => Promise.all([holder.process.kill(), heir.process.kill()]));
  const balancer = await startBalancer([holder.port, heir.port]);
  releasers.push(balancer.stop);
  const sending = sendAll(balancer.baseUrl, Number(options.rate), ending.signal);
  releasers.push(() => sending);
  for (const way of ways) {
    const all: TakeOver[] = [];
    while (all.length < Number(options.runs)) {
      await delay(2_000);
      all.push(await takeOver(way, holder, heir, node));
      [holder, heir] = [heir, await start(home, holder.port)];
    }
    show(
      `${way}: ready`,
      all.map(({ readyMs }) => readyMs),
    );
    show(
      `${way}: first broadcast`,
      all.map(({ broadcastMs }) => broadcastMs),
    );
    show(
      `${way}: of this, waiting for a processor`,
      all.map(({ processorMs }) => processorMs),
    );
  }
} finally {
  ending.abort();
  for (const release of releasers.reverse()) await release();
}
