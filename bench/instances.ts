/*
 * `npm run bench -- instances [--instances 3] [--relayers 6] [--rounds 12] [--batch 1200] [--callers 48]
 * [--seconds 20]`. See README.md here.
 */
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startAnvil } from '../test/support/anvil.js';
import { startPostgres } from '../test/support/postgres.js';
import { createLanesHome, type LanesHome } from './lanes-home.js';
import { processCpuUs } from './load/process-cpu.js';
import { authorization, type MeasuredServer, startServiceIn } from './servers.js';
import { median } from './table.js';

/*
 * What it costs that several instances share a database: the processor time of all of them for each confirmed transaction, compared with a single instance and
 * with as many services that share nothing, which shows what several processes on one core cost anyway: they empty one another's caches. This is measured twice: with
 * the load of the single instance in all, of which each instance has a part and so commits smaller batches, and with that load for each instance. All groups stay
 * up, batches go round them, and a figure is the median of the ratios of the same rounds.
 */

const { values: options } = parseArgs({
  options: {
    instances: { type: 'string', default: '3' },
    relayers: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '12' },
    batch: { type: 'string', default: '1200' },
    callers: { type: 'string', default: '48' },
    seconds: { type: 'string', default: '20' },
  },
});
const relayers = Number(options.relayers);
const batch = Number(options.batch);
const callers = Number(options.callers);
/** The number of sends for each instance before the first measured one: until then the compilers are measured. */
const unmeasuredSends = 6_000;
const count = Number(options.instances);
const agent = new Agent({ connections: callers * count });

/** A relayer, and the server that callers use for it; null: all of them in turn. */
interface Target {
  readonly relayerId: string;
  readonly server: number | null;
}

/** Processes that do the same work together. */
interface Group {
  readonly servers: readonly MeasuredServer[];
  readonly targets: readonly Target[];
  confirmed: number;
}

/** A group with a load, and what each round measured. */
interface Sampled {
  readonly group: Group;
  /** How many times the callers and the sends of the single instance. */
  readonly times: number;
  readonly samples: number[];
}

const releasers: (() => unknown)[] = [() => agent.close()];
try {
  const anvil = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  releasers.push(anvil.stop);
  const postgres = await startPostgres();
  releasers.push(postgres.stop);

  /** The environment of a new service with a database of its own. */
  async function newHome(lanes: number): Promise<LanesHome> {
    const home = await createLanesHome(anvil.url, lanes);
    releasers.push(home.remove);
    return { ...home, env: { ...home.env, LOG_LEVEL: 'info', DATABASE_URL: await postgres.newDatabase() } };
  }

  async function startIn(home: LanesHome): Promise<MeasuredServer> {
    const server = await startServiceIn(home, 'dist/program/main.js', []);
    releasers.push(server.stop);
    return server;
  }

  async function fundedGroup(servers: readonly MeasuredServer[], targets: readonly Target[]): Promise<Group> {
    const group = { servers, targets, confirmed: 0 };
    for (const [index, { relayerId }] of targets.entries()) {
      const { data } = await call(serverOf(group, index, 0), 'GET', `/relayers/${relayerId}`);
      await anvil.rpc('anvil_setBalance', [(data as { address: string }).address, '0x21e19e0c9bab2400000']);
    }
    return group;
  }

  async function startSharing(count: number): Promise<Group> {
    const home = await newHome(relayers);
    const servers: MeasuredServer[] = [];
    while (servers.length < count) servers.push(await startIn(home));
    return fundedGroup(
      servers,
      relayerIds(relayers).map((relayerId) => ({ relayerId, server: null })),
    );
  }

  async function startIndependent(count: number): Promise<Group> {
    const lanes = Math.ceil(relayers / count);
    const servers: MeasuredServer[] = [];
    while (servers.length < count) servers.push(await startIn(await newHome(lanes)));
    return fundedGroup(
      servers,
      relayerIds(lanes).flatMap((relayerId) => servers.map((_, server) => ({ relayerId, server }))),
    );
  }

  const one = sampled(await startSharing(1), 1);
  const [sharing, independent] = [await startSharing(count), await startIndependent(count)];
  /** The groups of several: with the load of the single instance in all, and for each instance. */
  const several = [1, count].map((times) => ({ sharing: sampled(sharing, times), independent: sampled(independent, times) }));
  const all = [one, ...several.flatMap((both) => [both.sharing, both.independent])];
  for (const group of [one.group, sharing, independent])
    for (let sent = 0; sent < unmeasuredSends * group.servers.length; sent += batch) await sendBatch(group, 1);
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const index of all.keys()) {
      const { group, times, samples } = all[(index + round) % all.length] as Sampled;
      samples.push(await sendBatch(group, times));
    }
  say(`one instance: ${shown(one)} a confirmed transaction, ${relayers} relayers`);
  for (const [index, both] of several.entries()) {
    say(index === 0 ? 'the same load in all, of which each instance has a part:' : 'the same load for each instance:');
    say(`  ${count} instances ÷ 1: ${pairedRatio(both.sharing, one)} (${shown(both.sharing)})`);
    say(`  ${count} services that share nothing ÷ 1: ${pairedRatio(both.independent, one)} (${shown(both.independent)})`);
    say(`  ${count} instances ÷ ${count} services that share nothing: ${pairedRatio(both.sharing, both.independent)}`);
  }
  for (const group of [one.group, sharing]) {
    const before = cpuUs(group);
    await elapsed(Number(options.seconds) * 1000);
    const share = (cpuUs(group) - before) / Number(options.seconds) / 10_000 / group.servers.length;
    say(`idle, of ${group.servers.length}: ${share.toFixed(1)} % of a core for each`);
  }
} finally {
  for (const release of releasers.reverse()) await release();
}

function relayerIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `r${index + 1}`);
}

function sampled(group: Group, times: number): Sampled {
  return { group, times, samples: [] };
}

function pairedRatio({ samples }: Sampled, baseline: Sampled): string {
  return median(samples.map((us, index) => us / (baseline.samples[index] ?? Number.NaN))).toFixed(2);
}

function shown({ samples }: Sampled): string {
  return `${median(samples).toFixed(0)} µs`;
}

/** The server that a call for a target goes to; `turn` counts the calls for it. */
function serverOf({ servers, targets }: Group, target: number, turn: number): MeasuredServer {
  return servers[targets[target]?.server ?? turn % servers.length] as MeasuredServer;
}

/** Sends a batch, `times` as large, to all relayers in turn, and returns the processor time per transaction when all are confirmed. */
async function sendBatch(group: Group, times: number): Promise<number> {
  const before = cpuUs(group);
  const sends = batch * times;
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < sends) {
      const index = next++;
      const target = index % group.targets.length;
      const server = serverOf(group, target, Math.floor(index / group.targets.length));
      const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: index, speed: 'fast' };
      await call(server, 'POST', `/relayers/${group.targets[target]?.relayerId}/transactions`, body);
    }
  };
  await Promise.all(Array.from({ length: callers * times }, send));
  const wanted = group.confirmed + sends;
  while ((await confirmedCount(group)) < wanted) await elapsed(200);
  group.confirmed = wanted;
  return (cpuUs(group) - before) / sends;
}

async function confirmedCount(group: Group): Promise<number> {
  const pages = await Promise.all(
    group.targets.map(({ relayerId }, index) =>
      call(serverOf(group, index, index), 'GET', `/relayers/${relayerId}/transactions?per_page=1&status=confirmed`),
    ),
  );
  return pages.reduce((sum, { pagination }) => sum + (pagination as { total_items: number }).total_items, 0);
}

/** The envelope of a REST call that must succeed. */
async function call({ ports }: MeasuredServer, method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await request(`http://127.0.0.1:${ports[0]}/api/v1${path}`, {
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
