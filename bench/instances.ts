/*
 * `npm run bench:instances -- [--instances 3] [--relayers 6] [--rounds 12] [--batch 600] [--seconds 20]`. See README.md here.
 */
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startAnvil } from '../test/support/anvil.js';
import { startPostgres } from '../test/support/postgres.js';
import { createLanesHome } from './lanes-home.js';
import { processCpuUs } from './load/process-cpu.js';
import { authorization, type MeasuredServer, startServiceIn } from './servers.js';
import { median } from './table.js';

/*
 * What it costs that several instances share a database: the processor time of all of them for each confirmed transaction, compared with a single instance.
 * Both groups stay up, batches alternate between them, and the figure is the median of the ratios of neighbours.
 */

const { values: options } = parseArgs({
  options: {
    instances: { type: 'string', default: '3' },
    relayers: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '12' },
    batch: { type: 'string', default: '600' },
    seconds: { type: 'string', default: '20' },
  },
});
const relayers = Number(options.relayers);
const batch = Number(options.batch);
const callers = 48;
/** The number of sends for each instance before the first measured one: until then the compilers are measured. */
const unmeasuredSends = 6_000;
const agent = new Agent({ connections: callers });

/** Instances that share a database. */
interface Group {
  readonly servers: readonly MeasuredServer[];
  confirmed: number;
}

const releasers: (() => unknown)[] = [() => agent.close()];
try {
  const anvil = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  releasers.push(anvil.stop);
  const postgres = await startPostgres();
  releasers.push(postgres.stop);

  async function startGroup(count: number): Promise<Group> {
    const home = await createLanesHome(anvil.url, relayers);
    releasers.push(home.remove);
    const shared = { ...home, env: { ...home.env, LOG_LEVEL: 'info', DATABASE_URL: await postgres.newDatabase() } };
    const servers: MeasuredServer[] = [];
    for (let started = 0; started < count; started += 1) {
      const server = await startServiceIn(shared, 'dist/src/main.js', []);
      releasers.push(server.stop);
      servers.push(server);
    }
    const group = { servers, confirmed: 0 };
    for (const id of relayerIds()) {
      const { data } = await call(group, 0, 'GET', `/relayers/${id}`);
      await anvil.rpc('anvil_setBalance', [(data as { address: string }).address, '0x21e19e0c9bab2400000']);
    }
    return group;
  }

  const one = await startGroup(1);
  const several = await startGroup(Number(options.instances));
  for (let sent = 0; sent < unmeasuredSends; sent += batch) await sendBatch(one);
  for (let sent = 0; sent < unmeasuredSends * several.servers.length; sent += batch) await sendBatch(several);
  const samples = { one: [] as number[], several: [] as number[] };
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const order = [
      () => sendBatch(one).then((us) => samples.one.push(us)),
      () => sendBatch(several).then((us) => samples.several.push(us)),
    ];
    for (const measure of round % 2 === 0 ? order : order.toReversed()) await measure();
  }
  const ratio = median(samples.several.map((us, index) => us / (samples.one[index] ?? Number.NaN)));
  say(
    `${several.servers.length} instances ÷ 1: ${ratio.toFixed(2)} (${median(samples.several).toFixed(0)} and ${median(samples.one).toFixed(0)} µs a confirmed transaction, ${relayers} relayers)`,
  );
  for (const group of [one, several]) {
    const before = cpuUs(group);
    await elapsed(Number(options.seconds) * 1000);
    const share = (cpuUs(group) - before) / Number(options.seconds) / 10_000 / group.servers.length;
    say(`idle, of ${group.servers.length}: ${share.toFixed(1)} % of a core for each`);
  }
} finally {
  for (const release of releasers.reverse()) await release();
}

function relayerIds(): readonly string[] {
  return Array.from({ length: relayers }, (_, index) => `r${index + 1}`);
}

/** Sends a batch, to all relayers and through all instances in turn, and returns the processor time per transaction when all are confirmed. */
async function sendBatch(group: Group): Promise<number> {
  const before = cpuUs(group);
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < batch) {
      const index = next++;
      const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: index, speed: 'fast' };
      await call(group, index, 'POST', `/relayers/r${(Math.floor(index / group.servers.length) % relayers) + 1}/transactions`, body);
    }
  };
  await Promise.all(Array.from({ length: callers }, send));
  const wanted = group.confirmed + batch;
  while ((await confirmedCount(group)) < wanted) await elapsed(200);
  group.confirmed = wanted;
  return (cpuUs(group) - before) / batch;
}

async function confirmedCount(group: Group): Promise<number> {
  const pages = await Promise.all(
    relayerIds().map((id, index) => call(group, index, 'GET', `/relayers/${id}/transactions?per_page=1&status=confirmed`)),
  );
  return pages.reduce((sum, { pagination }) => sum + (pagination as { total_items: number }).total_items, 0);
}

/** The envelope of a REST call that must succeed. */
async function call(
  { servers }: Group,
  index: number,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const server = servers[index % servers.length] as MeasuredServer;
  const answer = await request(`http://127.0.0.1:${server.ports[0]}/api/v1${path}`, {
    dispatcher: agent,
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const envelope = (await answer.body.json()) as Record<string, unknown>;
  if (answer.statusCode !== 200) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${JSON.stringify(envelope)}`);
  return envelope;
}

function cpuUs({ servers }: Group): number {
  return servers.reduce((sum, { pid }) => sum + (processCpuUs(pid) ?? Number.NaN), 0);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
