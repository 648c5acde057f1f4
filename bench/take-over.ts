/*
 * `npm run bench -- take-over [--runs 20] [--rate 50] [kill] [stop]`: how long the lanes of an instance rest, under load, when it ends. See README.md here.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseEther, Transaction } from 'ethers';
import pg from 'pg';
import { listPostgresInstances } from '../src/storage/postgres/postgres-instances.js';
import { startAnvil } from '../test/support/anvil.js';
import { startBalancer } from '../test/support/balancer.js';
import { rest } from '../test/support/callers.js';
import { type Instances, startInstances } from '../test/support/instances.js';
import { addRelayers } from '../test/support/more-relayers.js';
import { startPostgres } from '../test/support/postgres.js';
import { createServiceHome } from '../test/support/service.js';
import { waitFor } from '../test/support/wait-for.js';

const instanceCount = 3;
const relayerCount = 6;
const limitMs = 120_000;
/** How long the instances work before one of them ends. */
const quietMs = 2_000;
const signals = { kill: 'SIGKILL', stop: 'SIGTERM' } as const;
type Way = keyof typeof signals;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '20' }, rate: { type: 'string', default: '50' } },
});
const ways = (['kill', 'stop'] as const).filter((way) => positionals.length === 0 || positionals.includes(way));

/** A node that knows which accounts were broadcast for on which connections. */
interface WatchedNode {
  readonly url: string;
  /** Begins to note the connections of each account. */
  beginNoting(): void;
  /**
   * Resolves to the time at which each of the accounts, in lower case, has been broadcast for on a connection that none of them had until now, which is one of
   * another instance.
   */
  untilElsewhere(accounts: readonly string[]): Promise<number>;
  stop(): Promise<void>;
}

interface RpcCall {
  readonly method: string;
  readonly params: readonly string[];
}

async function watchNode(target: string): Promise<WatchedNode> {
  let noted = new Map<string, Set<Socket>>();
  let onBroadcast: (account: string, socket: Socket) => void = () => undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const calls = [JSON.parse(body.toString()) as RpcCall | readonly RpcCall[]].flat() as readonly RpcCall[];
      for (const { method, params } of calls) {
        if (method !== 'eth_sendRawTransaction') continue;
        const account = Transaction.from(params[0] ?? '').from?.toLowerCase() ?? '';
        onBroadcast(account, incoming.socket);
        noted.set(account, (noted.get(account) ?? new Set()).add(incoming.socket));
      }
      const asked = request(target, { method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
        answer.pipe(response);
      });
      asked.on('error', () => response.destroy());
      asked.end(body);
    });
    incoming.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    beginNoting() {
      noted = new Map();
    },
    untilElsewhere(accounts) {
      const earlier = new Set(accounts.flatMap((account) => [...(noted.get(account) ?? [])]));
      const left = new Set(accounts);
      return new Promise((resolve) => {
        onBroadcast = (account, socket) => {
          if (!earlier.has(socket) && left.delete(account) && left.size === 0) resolve(performance.now());
        };
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Sends payments of all relayers at a rate through the balancer until the signal aborts; what is refused meanwhile is lost. */
async function sendAll(baseUrl: string, perSecond: number, signal: AbortSignal): Promise<void> {
  const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1, speed: 'fast' };
  for (let sent = 0; !signal.aborted; sent += 1) {
    void rest(baseUrl, 'POST', `/relayers/r${1 + (sent % relayerCount)}/transactions`, body).catch(() => undefined);
    await delay(1_000 / perSecond);
  }
}

/** How long the process was ready to run and had to wait for a processor, in ms. */
function waitedForProcessorMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

/** What one take-over took, from the signal on. */
interface TakeOver {
  /** Until other instances had broadcast for each account of the instance that ended. */
  readonly broadcastMs: number;
  /** The most of it in which the main thread of another instance was ready to run and another program ran instead. */
  readonly processorMs: number;
}

/** The accounts whose lanes an instance has, in lower case. */
async function accountsOf(databaseUrl: string, id: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ key: string }>(`select key from leases where kind = 'lane' and holder = $1`, [Number(id)]);
  await client.end();
  return rows.map(({ key }) => key.slice(key.indexOf('/') + 1).toLowerCase());
}

async function takeOver(way: Way, databaseUrl: string, instances: Instances, node: WatchedNode): Promise<TakeOver> {
  const listed = await waitFor(
    'all instances to share the lanes',
    async () => {
      const members = await listPostgresInstances(databaseUrl);
      return members.length === instanceCount && members.every(({ lanes }) => lanes === relayerCount / instanceCount) ? members : undefined;
    },
    limitMs,
  );
  node.beginNoting();
  await delay(quietMs);
  const [struck, ...others] = listed;
  const one = instances.all.find((instance) => instance.process().pid === struck?.pid)?.process();
  if (struck === undefined || one === undefined) throw new Error('the list has an instance that was not started');
  const waited = others.map(({ pid }) => waitedForProcessorMs(pid));
  const elsewhere = node.untilElsewhere(await accountsOf(databaseUrl, struck.id));
  const beganMs = performance.now();
  process.kill(one.pid, signals[way]);
  const broadcastMs = (await elsewhere) - beganMs;
  const processorMs = Math.max(...others.map(({ pid }, index) => waitedForProcessorMs(pid) - (waited[index] ?? 0)));
  await one.exited;
  return { broadcastMs, processorMs };
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
  const databaseUrl = await postgres.newDatabase();
  const home = await createServiceHome({ rpcUrl: node.url, env: { DATABASE_URL: databaseUrl } });
  releasers.push(home.remove);
  for (const { address } of await addRelayers(home, relayerCount - 1))
    await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('1000').toString(16)}`]);
  const instances = await startInstances(home, instanceCount);
  releasers.push(() => instances.stop());
  const balancer = await startBalancer(instances.all.map(({ port }) => port));
  releasers.push(balancer.stop);
  const sending = sendAll(balancer.baseUrl, Number(options.rate), ending.signal);
  releasers.push(() => sending);
  for (const way of ways) {
    const all: TakeOver[] = [];
    while (all.length < Number(options.runs)) all.push(await takeOver(way, databaseUrl, instances, node));
    show(
      `${way}: all its lanes broadcast again`,
      all.map(({ broadcastMs }) => broadcastMs),
    );
    show(
      `${way}: of this, another instance waited for a processor`,
      all.map(({ processorMs }) => processorMs),
    );
  }
} finally {
  ending.abort();
  for (const release of releasers.reverse()) await release();
}
