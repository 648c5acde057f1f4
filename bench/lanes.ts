/*
 * `npm run bench -- lanes [idle] [load] [--idle 1000 --idle 10000] [--lanes 1000] [--rate 1000] [--seconds 30] [--postgres] [--service dist/program/main.js]
 * [--node-flag=--cpu-prof]`. See README.md here.
 */
import { join } from 'node:path';
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { request } from 'undici';
import { sqliteDriver } from '../src/storage/sqlite/driver.js';
import { type Anvil, startAnvil } from '../test/support/anvil.js';
import { startPostgres } from '../test/support/postgres.js';
import { type CountingProxy, startCountingProxy } from './counting-proxy.js';
import { createLanesHome, type LanesHome } from './lanes-home.js';
import { processCpuUs } from './load/process-cpu.js';
import { residentMb } from './reads.js';
import { createSenders, say } from './sends.js';
import { authorization, type MeasuredServer, startServiceIn } from './servers.js';
import { median } from './table.js';

/* Many relayers: what they cost while they do nothing, and what a transaction costs if each of them sends few, compared with one that sends all. */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    idle: { type: 'string', multiple: true, default: ['1000', '10000'] },
    lanes: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
    postgres: { type: 'boolean', default: false },
    service: { type: 'string', default: 'dist/program/main.js' },
    'node-flag': { type: 'string', multiple: true, default: [] },
  },
});
const seconds = Number(options.seconds);
const scrapes = 5;
/** How long transactions are sent before the first measured one: until then the compilers are measured. */
const warmUpSeconds = 10;

const { agent, send } = createSenders(128);
const postgres = options.postgres ? await startPostgres() : null;
if (positionals.length === 0 || positionals.includes('idle')) for (const lanes of options.idle) await withLanes(Number(lanes), idle);
if (positionals.length === 0 || positionals.includes('load')) {
  const many = await withLanes(Number(options.lanes), load);
  const one = await withLanes(1, load);
  say(`load: a transaction of one of many lanes costs ${(many / one).toFixed(2)} times the processor time of one of a single lane`);
}
await agent.close();
await postgres?.stop();

/** A service with many relayers. */
interface Rig {
  readonly lanes: number;
  readonly chain: Anvil;
  readonly proxy: CountingProxy;
  readonly home: LanesHome;
  readonly database: Database;
  readonly server: MeasuredServer;
  /** From the start of the process until it answered. */
  readonly startMs: number;
  /** The processor time of the service so far. */
  cpuMs(): number;
}

async function withLanes<T>(lanes: number, run: (rig: Rig) => Promise<T>): Promise<T> {
  const chain = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  const proxy = await startCountingProxy(chain.url);
  const home = await createLanesHome(proxy.url, lanes);
  const database = postgres === null ? sqliteOf(home) : postgresOf(await postgres.newDatabase());
  const startedAt = performance.now();
  const server = await startServiceIn({ ...home, env: { ...home.env, DATABASE_URL: database.url } }, options.service, options['node-flag']);
  const startMs = performance.now() - startedAt;
  try {
    return await run({
      lanes,
      chain,
      proxy,
      home,
      database,
      server,
      startMs,
      cpuMs: () => (processCpuUs(server.pid) ?? Number.NaN) / 1000,
    });
  } finally {
    await server.stop();
    await home.remove();
    await proxy.stop();
    await chain.stop();
  }
}

async function idle(rig: Rig): Promise<void> {
  const { lanes, proxy, server, startMs, cpuMs } = rig;
  say(`${lanes} idle lanes: ready after ${(startMs / 1000).toFixed(1)} s and ${(cpuMs() / 1000).toFixed(2)} s of processor time`);
  await untilAccountsAreRead(rig);
  const requests = () => proxy.requests() - proxy.looks();
  const before = { cpuMs: cpuMs(), atMs: performance.now(), requests: requests(), looks: proxy.looks() };
  await elapsed(seconds * 1000);
  const tookMs = performance.now() - before.atMs;
  const perBlock = (count: number) => ((1000 * count) / tookMs).toFixed(2);
  say(
    `  idle: ${((100 * (cpuMs() - before.cpuMs)) / tookMs).toFixed(1)} % of a core; per block of 1 s ${perBlock(requests() - before.requests)} requests to the node beside ${perBlock(proxy.looks() - before.looks)} for the head; ${residentMb(server.pid).toFixed(0)} MB`,
  );
  await scrape(rig);
}

/** Each account is read before its lane rests; an earlier build may never rest. */
async function untilAccountsAreRead({ lanes, proxy }: Rig): Promise<void> {
  for (let waits = 0, seen = -lanes; waits < 6 && proxy.requests() - seen > lanes / 20 + 50; waits += 1) {
    seen = proxy.requests();
    await elapsed(5_000);
  }
}

/** The processor time of a scrape, and how long another call waited meanwhile: the loop is blocked for at most as long. */
async function scrape({ server, cpuMs }: Rig): Promise<void> {
  const base = `http://127.0.0.1:${server.ports[0]}`;
  const cpu: number[] = [];
  const waits: number[] = [];
  let bytes = 0;
  for (let times = 0; times < scrapes; times += 1) {
    const before = cpuMs();
    let isRunning = true;
    const beside = async (): Promise<void> => {
      let longest = 0;
      while (isRunning) {
        const atMs = performance.now();
        await (await request(`${base}/api/v1/health`, { dispatcher: agent })).body.dump();
        longest = Math.max(longest, performance.now() - atMs);
      }
      waits.push(longest);
    };
    const waiting = beside();
    const answer = await request(`${base}/metrics`, { dispatcher: agent, headers: { authorization } });
    bytes = (await answer.body.arrayBuffer()).byteLength;
    isRunning = false;
    await waiting;
    cpu.push(cpuMs() - before);
  }
  say(
    `  GET /metrics: ${(bytes / 1000).toFixed(0)} kB, ${median(cpu).toFixed(0)} ms of processor time; another call waits ${median(waits).toFixed(0)} ms meanwhile, at most ${Math.max(...waits).toFixed(0)} ms`,
  );
}

/** Sends at the rate, of all lanes in turn. Returns the processor time of the service for a confirmed transaction, in microseconds. */
async function load(rig: Rig): Promise<number> {
  const { lanes, proxy, chain, home, cpuMs, server } = rig;
  const rate = Number(options.rate);
  for (let at = 0; at < lanes; at += 100)
    await Promise.all(home.addresses.slice(at, at + 100).map((address) => chain.rpc('anvil_setBalance', [address, '0x56bc75e2d63100000'])));
  await untilAccountsAreRead(rig);
  await sendAtRate(rig, rate * warmUpSeconds);
  const confirmed = await confirmedOf(rig);
  const before = { cpuMs: cpuMs(), requests: proxy.requests(), byMethod: new Map(proxy.byMethod()), atMs: performance.now() };
  await sendAtRate(rig, rate * seconds);
  const tookMs = performance.now() - before.atMs;
  const count = (await confirmedOf(rig)) - confirmed;
  const microseconds = ((cpuMs() - before.cpuMs) / count) * 1000;
  say(
    `load: ${lanes} lanes, ${rate} sends/s in all: ${count} confirmed within ${(tookMs / 1000).toFixed(1)} s; ${microseconds.toFixed(0)} µs of processor time and ${((proxy.requests() - before.requests) / count).toFixed(2)} requests to the node a transaction; ${residentMb(server.pid).toFixed(0)} MB`,
  );
  const methods = [...proxy.byMethod()].map(([method, times]) => [method, times - (before.byMethod.get(method) ?? 0)] as const);
  const most = methods.sort((a, b) => b[1] - a[1]).slice(0, 6);
  say(`  ${most.map(([method, times]) => `${method} ${(times / count).toFixed(3)}`).join(', ')}`);
  return microseconds;
}

/** Resolves when all are confirmed. A caller that falls behind the rate does not catch up with a burst. */
async function sendAtRate(rig: Rig, count: number): Promise<void> {
  const rate = Number(options.rate);
  const before = await confirmedOf(rig);
  const startedAt = performance.now();
  const sending: Promise<number>[] = [];
  const service = { baseUrl: `http://127.0.0.1:${rig.server.ports[0]}` };
  for (let index = 0; index < count; index += 1) {
    const waitMs = startedAt + (index * 1000) / rate - performance.now();
    if (waitMs > 1) await elapsed(waitMs);
    sending.push(send(service, index, `r${(index % rig.lanes) + 1}`));
  }
  await Promise.all(sending);
  while ((await confirmedOf(rig)) < before + count) await elapsed(100);
}

/** The database of the service, beside which the benchmark reads it: no method counts the transactions of all relayers. */
interface Database {
  readonly url: string;
  /** Returns the rows that the statement selects. */
  read(statement: string): Promise<readonly unknown[]>;
}

function sqliteOf({ dir, env }: LanesHome): Database {
  return {
    url: env.DATABASE_URL ?? '',
    async read(statement) {
      const database = new (sqliteDriver())(join(dir, 'relayer.db'), { readonly: true });
      try {
        return database.prepare(statement).all();
      } finally {
        database.close();
      }
    },
  };
}

function postgresOf(url: string): Database {
  return {
    url,
    async read(statement) {
      const client = new pg.Client(url);
      await client.connect();
      try {
        return (await client.query(statement)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

async function confirmedOf({ database }: Rig): Promise<number> {
  const [row] = await database.read("select sum(total) as count from finished_totals where status = 'confirmed'");
  return Number((row as { count: number | string | null }).count ?? 0);
}
