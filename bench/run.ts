/*
 * `npm run bench -- service [--json] [--rounds=5] [--service=dist/program/main.js] [--node-flag=...] [--stored=1000000] [--pending=1000000] [names of rows...]`. See
 * README.md here.
 */
import { parseArgs } from 'node:util';
import { startAnvil } from '../test/support/anvil.js';
import { benchBacklog } from './backlog.js';
import { type Case, casesFor, type ServerName, sampleTransaction } from './cases.js';
import type { Sample } from './load/job.js';
import { startLoadGenerator } from './load/load-generator.js';
import { benchMillion } from './million.js';
import { pinned } from './pinned-process.js';
import { authorization, type MeasuredServer, startBaseline, startBuiltService } from './servers.js';
import { resultsOf, tableText } from './table.js';
import { benchWebhooks } from './webhooks.js';

const callers = 64;
/** Each row needs a longer warm-up before its first round, for the compiler; later rounds only fill connections and caches again. */
const firstWarmUpMs = 2_000;
const warmUpMs = 300;
const measureMs = 1_500;

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    service: { type: 'string', default: 'dist/program/main.js' },
    'node-flag': { type: 'string', multiple: true, default: [] },
    stored: { type: 'string', default: '1000000' },
    pending: { type: 'string', default: '1000000' },
  },
});

const releasers: (() => unknown)[] = [];
try {
  const chain = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000'] });
  releasers.push(chain.stop);
  const service = await started(startBuiltService(options.service, chain.url, options['node-flag']));
  const sendingService = await started(startBuiltService(options.service, chain.url, options['node-flag']));
  const bareHttp = await started(startBaseline('dist/bench/baselines/bare-http.js'));
  const bareConnect = await started(startBaseline('dist/bench/baselines/bare-connect.js'));
  const servers: Record<ServerName, { readonly pid: number; readonly port: number }> = {
    service: addressOf(service, 0),
    'sending service': addressOf(sendingService, 0),
    'bare http': addressOf(bareHttp, 0),
    'bare connect': addressOf(bareConnect, 0),
    'bare connect grpc': addressOf(bareConnect, 1),
  };
  for (const { port } of [servers.service, servers['sending service']]) {
    const relayer = await call(port, 'GET', '/relayers/r1');
    await chain.rpc('anvil_setBalance', [relayer.address, '0x21e19e0c9bab2400000']);
  }
  const transaction = await call(servers.service.port, 'POST', '/relayers/r1/transactions', sampleTransaction);
  const cases = casesFor(`/api/v1/relayers/r1/transactions/${String(transaction.id)}`);
  const chosen = chosenFrom(cases);
  const load = startLoadGenerator(pinned(1, [process.execPath]));
  releasers.push(load.stop);

  const samples = new Map<string, Sample[]>(chosen.map(({ name }) => [name, []]));
  const measure = ({ server, request }: Case, warmUp: number) =>
    load.run({ ...servers[server], request, callers, warmUpMs: warmUp, measureMs });
  for (const one of shuffled(chosen)) await measure(one, firstWarmUpMs);
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const one of shuffled(chosen)) samples.get(one.name)?.push(await measure(one, warmUpMs));
  }
  const results = resultsOf(chosen, samples);
  const webhooks = names.length === 0 || names.includes('webhooks') ? await benchWebhooks() : [];
  const million = names.length === 0 || names.includes('million') ? await benchMillion(options.service, Number(options.stored)) : [];
  const backlog = names.length === 0 || names.includes('backlog') ? await benchBacklog(options.service, Number(options.pending)) : [];
  const lines = [...webhooks, ...million, ...backlog].map(
    ({ what, value, unit, goal }) => `${what}: ${value.toFixed(value < 100 ? 1 : 0)} ${unit} ${goal}`,
  );
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ callers, results, webhooks, million, backlog }, null, 2)}\n`
      : `${[tableText(results), ...lines].join('\n')}\n`,
  );
} finally {
  for (const release of releasers.reverse()) await release();
}

async function started(starting: Promise<MeasuredServer>): Promise<MeasuredServer> {
  const server = await starting;
  releasers.push(server.stop);
  return server;
}

function addressOf({ pid, ports }: MeasuredServer, index: number): { pid: number; port: number } {
  return { pid, port: ports[index] ?? 0 };
}

/** The requested rows with their baselines; all rows if none was requested. */
function chosenFrom(cases: readonly Case[]): readonly Case[] {
  if (names.length === 0) return cases;
  const known = new Set(['webhooks', 'million', 'backlog', ...cases.map(({ name }) => name)]);
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`there is no row ${unknown.join(', ')}; there are ${[...known].join(', ')}`);
  const baselines = cases.filter(({ name }) => names.includes(name)).map(({ of }) => of?.baseline);
  return cases.filter(({ name }) => names.includes(name) || baselines.includes(name));
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

/** `data` of a REST call that must succeed. */
async function call(port: number, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}
