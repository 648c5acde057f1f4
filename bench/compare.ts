/*
 * `npm run bench -- compare --against <commit> [--rounds 20] [--slice-ms 300] [--batch 500] [--unmeasured 6000] [--max 1.25] [--postgres both|own]
 * [--rules] [--node <program>] [--node-flag=<flag>] [names of rows...]`. See README.md here.
 */
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Anvil, startAnvil } from '../test/support/anvil.js';
import { startPostgres, type TestPostgres } from '../test/support/postgres.js';
import { type Case, casesFor, type ServerName, sampleTransaction } from './cases.js';
import { startLoadGenerator } from './load/load-generator.js';
import { processCpuUs } from './load/process-cpu.js';
import { pinned } from './pinned-process.js';
import { residentMb } from './reads.js';
import { programIn, referenceBuild } from './reference-build.js';
import { policiesWithRules } from './rules.js';
import { authorization, type MeasuredServer, startBaseline, startBuiltService } from './servers.js';
import { median } from './table.js';

/*
 * Compares the processor time of this build with that of an earlier commit. On a machine whose speed changes from minute to minute only this
 * holds: servers that stay up, short slices that alternate between them, and the median of the ratios of neighbours.
 */

const callers = 64;
const warmUpMs = 2_000;

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '20' },
    'slice-ms': { type: 'string', default: '300' },
    batch: { type: 'string', default: '500' },
    // Sends before the first measured one: until then the compilers are measured, which still take a tenth of the time after 6,000.
    unmeasured: { type: 'string', default: '6000' },
    max: { type: 'string' },
    postgres: { type: 'string' },
    // Only this build has spending rules.
    rules: { type: 'boolean', default: false },
    // The runtime of this build alone, and its flags.
    node: { type: 'string', default: process.execPath },
    'node-flag': { type: 'string', multiple: true, default: [] },
  },
});
const rows = ['rest-sign', 'connect-sign', 'grpc-sign', 'rest-get', 'rest-send', 'engine'] as const;
const unknown = names.filter((name) => !(rows as readonly string[]).includes(name));
const onPostgres = options.postgres;
if (options.against === undefined || unknown.length > 0 || ![undefined, 'both', 'own'].includes(onPostgres)) {
  process.stderr.write(
    `--against <commit> is required, rows are among ${rows.join(', ')}, and --postgres is both or own; see npm run bench -- compare --help\n`,
  );
  process.exit(2);
}
const chosen = names.length === 0 ? rows : rows.filter((row) => names.includes(row));
const rounds = Number(options.rounds);

/** One of the two services. */
interface Contender {
  readonly server: MeasuredServer;
  readonly transactionPath: string;
}

const releasers: (() => unknown)[] = [];
const ratios = new Map<string, number>();
try {
  const reference = referenceBuild(options.against);
  const chain = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  releasers.push(chain.stop);
  const postgres = onPostgres === undefined ? null : await startPostgres();
  if (postgres !== null) releasers.push(postgres.stop);
  const old = await startContender({ main: programIn(reference) }, chain, onPostgres === 'both' ? postgres : null);
  const policies = options.rules ? policiesWithRules : {};
  const own = await startContender({ main: programIn('.'), node: options.node, flags: options['node-flag'], policies }, chain, postgres);
  for (const row of chosen) {
    const ratio = row === 'engine' ? await compareEngines(old, own) : await compareRow(row, old, own);
    ratios.set(row, ratio);
  }
} finally {
  for (const release of releasers.reverse()) await release();
}
const worst = Math.max(...ratios.values());
if (options.max !== undefined && worst > Number(options.max)) {
  process.stderr.write(`processor time is ${worst.toFixed(2)} times that of ${options.against}; at most ${options.max} is allowed\n`);
  process.exitCode = 1;
}

/** A service to measure. */
interface Program {
  readonly main: string;
  readonly node?: string;
  readonly flags?: readonly string[];
  readonly policies?: object;
}

async function startContender({ main, flags = [], ...program }: Program, chain: Anvil, postgres: TestPostgres | null): Promise<Contender> {
  const env = postgres === null ? {} : { DATABASE_URL: await postgres.newDatabase() };
  const server = await started(startBuiltService(main, chain.url, flags, env, program));
  const relayer = await call(server, 'GET', '/relayers/r1');
  await chain.rpc('anvil_setBalance', [relayer.address, '0x21e19e0c9bab2400000']);
  const transaction = await call(server, 'POST', '/relayers/r1/transactions', sampleTransaction);
  return { server, transactionPath: `/api/v1/relayers/r1/transactions/${String(transaction.id)}` };
}

async function started(starting: Promise<MeasuredServer>): Promise<MeasuredServer> {
  const server = await starting;
  releasers.push(server.stop);
  return server;
}

/** Prints and returns this build's processor time per request over the reference's. */
async function compareRow(row: string, old: Contender, own: Contender): Promise<number> {
  const load = startLoadGenerator(pinned(1, [process.execPath]));
  const measureMs = Number(options['slice-ms']);
  const cpuOf = async ({ pid, port }: { readonly pid: number; readonly port: number }, one: Case, warmUp: number) =>
    (await load.run({ pid, port, request: one.request, callers, warmUpMs: warmUp, measureMs })).serverCpuUs ?? Number.NaN;
  const caseOf = ({ transactionPath }: Contender) => caseNamed(row, transactionPath);
  const bare = await bareServerOf(caseOf(own));
  try {
    const contenders = [
      { name: 'reference', ...addressOf(old.server), one: caseOf(old) },
      { name: 'own', ...addressOf(own.server), one: caseOf(own) },
      ...(bare === null ? [] : [{ name: 'bare', ...bare }]),
    ];
    await warmUp(row, contenders, cpuOf);
    const samples = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      // Every second round backwards, so that each comes after both of its neighbours.
      for (const { name, one, ...at } of round % 2 === 0 ? contenders : contenders.toReversed()) {
        samples.get(name)?.push(await cpuOf(at, one, 50));
        if (row === 'rest-send') await untilIdle(at);
      }
    }
    const ratio = pairedRatio(samples.get('own'), samples.get('reference'));
    const ofBare = bare === null ? '' : `; bare ÷ own ${pairedRatio(samples.get('bare'), samples.get('own')).toFixed(2)}`;
    const micros = (name: string) => `${median(samples.get(name) ?? []).toFixed(0)} µs`;
    print(`${row}: own ÷ reference ${ratio.toFixed(2)} (${micros('own')} and ${micros('reference')} a request)${ofBare}`);
    return ratio;
  } finally {
    load.stop();
  }
}

/** Runs what is not measured. As many sends as a slice has at once are refused after some seconds, and their lane must be idle again. */
async function warmUp(
  row: string,
  contenders: readonly { readonly pid: number; readonly port: number; readonly one: Case }[],
  run: (at: { readonly pid: number; readonly port: number }, one: Case, warmUpMs: number) => Promise<number>,
): Promise<void> {
  for (const { one, ...at } of contenders) {
    if (row !== 'rest-send') await run(at, one, warmUpMs);
    else for (let sent = 0; sent < Number(options.unmeasured); sent = await untilIdle(at)) await run(at, one, 50);
  }
}

/** Resolves to the number of its transactions when all of them are confirmed. */
async function untilIdle({ port }: { readonly port: number }): Promise<number> {
  for (;;) {
    const [all, confirmed] = [await countOf(port, ''), await countOf(port, '&status=confirmed')];
    if (all === confirmed) return all;
    await elapsed(100);
  }
}

/** The server that a row is compared with besides; null if it has none. */
async function bareServerOf({ of }: Case): Promise<{ readonly pid: number; readonly port: number; readonly one: Case } | null> {
  if (of === undefined) return null;
  const one = caseNamed(of.baseline, '');
  const file: Partial<Record<ServerName, { readonly name: string; readonly port: number }>> = {
    'bare http': { name: 'bare-http', port: 0 },
    'bare connect': { name: 'bare-connect', port: 0 },
    'bare connect grpc': { name: 'bare-connect', port: 1 },
  };
  const found = file[one.server];
  if (found === undefined) throw new Error(`${one.name} is no baseline`);
  const server = await started(startBaseline(`dist/bench/baselines/${found.name}.js`));
  return { ...addressOf(server, found.port), one };
}

function caseNamed(name: string, transactionPath: string): Case {
  const found = casesFor(transactionPath).find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no row ${name}`);
  return found;
}

/** Prints and returns this build's processor time per confirmed transaction over the reference's. */
async function compareEngines(old: Contender, own: Contender): Promise<number> {
  const batch = Number(options.batch);
  const sendBatch = async ({ server }: Contender): Promise<number> => {
    const before = processCpuUs(server.pid) ?? Number.NaN;
    const already = await finalCount(server);
    let left = batch;
    const send = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await call(server, 'POST', '/relayers/r1/transactions', { ...sampleTransaction, gas_limit: undefined });
      }
    };
    await Promise.all(Array.from({ length: callers }, send));
    while ((await finalCount(server)) < already + batch) await elapsed(100);
    return ((processCpuUs(server.pid) ?? Number.NaN) - before) / batch;
  };
  for (let sent = 0; sent < Number(options.unmeasured); sent += batch) {
    await sendBatch(old);
    await sendBatch(own);
  }
  const samples = { old: [] as number[], own: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const order = [() => sendBatch(old).then((us) => samples.old.push(us)), () => sendBatch(own).then((us) => samples.own.push(us))];
    for (const measure of round % 2 === 0 ? order : order.toReversed()) await measure();
  }
  const ratio = pairedRatio(samples.own, samples.old);
  const memory = [own, old].map(({ server }) => `${residentMb(server.pid).toFixed(0)} MB`).join(' and ');
  print(
    `engine: own ÷ reference ${ratio.toFixed(2)} (${median(samples.own).toFixed(0)} and ${median(samples.old).toFixed(0)} µs a confirmed transaction; ${memory})`,
  );
  return ratio;
}

function finalCount({ ports: [port = 0] }: MeasuredServer): Promise<number> {
  return countOf(port, '&status=confirmed');
}

async function countOf(port: number, filter: string): Promise<number> {
  const { pagination } = await answerOf(port, 'GET', `/relayers/r1/transactions?per_page=1${filter}`);
  return (pagination as { total_items: number }).total_items;
}

/** The median of the ratios of neighbours. A slice without an answer, on a machine that does something else, has none. */
function pairedRatio(dividends: readonly number[] = [], divisors: readonly number[] = []): number {
  return median(dividends.map((value, index) => value / (divisors[index] ?? Number.NaN)).filter(Number.isFinite));
}

function addressOf({ pid, ports }: MeasuredServer, index = 0): { readonly pid: number; readonly port: number } {
  return { pid, port: ports[index] ?? 0 };
}

async function call(server: MeasuredServer, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  return (await answerOf(server.ports[0] ?? 0, method, path, body)).data as Record<string, unknown>;
}

/** The envelope of a REST call that must succeed. */
async function answerOf(port: number, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
