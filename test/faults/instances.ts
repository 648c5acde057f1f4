import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import pg from 'pg';
import { listPostgresInstances } from '../../src/storage/postgres/postgres-instances.js';
import { startAnvil } from '../support/anvil.js';
import { startBalancer } from '../support/balancer.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { addRelayers } from '../support/more-relayers.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRelayerClient, type TransactionRecord } from '../support/relayer-client.js';
import { createServiceHome } from '../support/service.js';
import { type StatusReceiver, startStatusReceiver } from '../support/status-receiver.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { audit } from './audit.js';
import { startCallers, type Traffic } from './instance-callers.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const instanceCount = 3;
const relayerCount = 6;
/** A fault is followed by up to this much quiet. */
const greatestQuietMs = { short: 300, full: 2_500 } as const;
/** The full form lasts until at least so much has happened, which proves that it could have failed. */
const least = { hung: 20, refusedCommits: 20, accepted: 2_000 } as const;
/** Generous: how long it takes belongs to the figures. */
const recoveryLimitMs = 90_000;
const healingLimitMs = 240_000;

/** The parts that faults strike. */
interface World {
  readonly instances: Instances;
  readonly postgres: TestPostgres;
  readonly databaseUrl: string;
  /** What the instances reach the database through, in their order. */
  readonly proxies: readonly TcpProxy[];
}

type Fault = (world: World, struck: Instance, run: FaultRun) => Promise<void>;

const faults: Readonly<Record<string, Fault>> = {
  killed: (_, struck) => end(struck, 'SIGKILL'),
  stopped: (_, struck) => end(struck, 'SIGTERM'),
  /** It goes on as an instance that still has its lanes, but can commit nothing more before it joins again. */
  async hung(world, struck, { random, isShort }) {
    const { pid, output } = struck.process();
    const joins = output().split(joinsAgain).length;
    process.kill(pid, 'SIGSTOP');
    try {
      await untilRemoved(world, pid);
      await delay(random.between(0, isShort ? 500 : 2_000));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await waitFor(
      'the instance that hung to find that it was removed',
      () => (output().split(joinsAgain).length > joins ? true : undefined),
      recoveryLimitMs,
    );
  },
  /** One instance does not reach the database, beyond the patience of the others or not. */
  async partitioned({ proxies, instances }, struck, { random, isShort }) {
    const proxy = proxies[instances.all.indexOf(struck)];
    proxy?.hang();
    await delay(random.between(0, isShort ? 3_000 : 9_000));
    proxy?.heal();
    proxy?.cut();
  },
  cut: ({ databaseUrl }) => cutConnections(databaseUrl, 1_000),
  'cut one connection': ({ databaseUrl }) => cutConnections(databaseUrl, 1),
  async 'without database'({ postgres }, _, { random }) {
    await postgres.halt();
    await delay(random.between(0, 1_500));
    await postgres.start();
  },
};
const joinsAgain = '"msg":"another instance took over the work of this instance';
/** The faults that end a process. */
const ending: readonly string[] = ['killed', 'stopped'];

async function end(instance: Instance, signal: NodeJS.Signals): Promise<void> {
  const { pid, exited } = instance.process();
  process.kill(pid, signal);
  await exited;
}

async function cutConnections(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const some = `select pid from pg_stat_activity where application_name like 'relayer%' order by random() limit ${count}`;
  await client.query(`select pg_terminate_backend(pid) from (${some}) as picked`);
  await client.end();
}

async function untilRemoved({ databaseUrl }: World, pid: number): Promise<void> {
  const isRemoved = async () => (await listPostgresInstances(databaseUrl)).every((one) => one.pid !== pid);
  await waitFor('the others to take over', async () => ((await isRemoved()) ? true : undefined), recoveryLimitMs);
}

/** Resolves when instances with a connection hold all lanes, and at least so many instances share. */
async function untilShared({ databaseUrl }: World, sharing: number): Promise<void> {
  await waitFor(
    `${sharing} instances to share all lanes`,
    async () => {
      const listed = await listPostgresInstances(databaseUrl).catch(() => []);
      const working = listed.filter(({ state, seenAtMs }) => state === 'sharing' && seenAtMs !== null);
      const lanes = working.reduce((sum, one) => sum + one.lanes, 0);
      return working.length >= sharing && lanes === relayerCount ? true : undefined;
    },
    recoveryLimitMs,
  );
}

/**
 * Three instances on one PostgreSQL, which share the lanes of several relayers. They are killed, stopped, hung beyond the patience of the others and resumed, cut off
 * from the database, and left without it, while callers send, replace and cancel at each of them and through a load balancer. At the end every accepted payment
 * is on chain exactly once, every record equals the chain, and every change was delivered by webhook in order.
 */
export const instances: FaultSuite = async (run) => {
  const [anvil, postgres, receiver] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres(), startStatusReceiver()]);
  run.atEnd(() => anvil.stop());
  run.atEnd(() => postgres.stop());
  run.atEnd(() => receiver.stop());
  const databaseUrl = await postgres.newDatabase();
  const home = await createServiceHome({
    rpcUrl: anvil.url,
    requiredConfirmations: 2,
    notifications: [{ id: 'hook', type: 'webhook', url: receiver.url, signing_key: null }],
    notificationId: 'hook',
    env: { WEBHOOK_RETRY_SECONDS: Array<string>(200).fill('0.5').join() },
  });
  run.atEnd(() => home.remove());
  const relayers = await addRelayers(home, relayerCount - 1);
  for (const { address } of relayers) await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('1000').toString(16)}`]);
  const proxies: TcpProxy[] = [];
  for (let index = 0; index < instanceCount; index += 1) {
    const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
    run.atEnd(() => proxy.stop());
    proxies.push(proxy);
  }
  const started = await startInstances(home, instanceCount, (index) => {
    const url = new URL(databaseUrl);
    url.port = String(proxies[index]?.port);
    return { DATABASE_URL: url.href };
  });
  run.atEnd(() => started.stop());
  const outputs = () => [...started.ended, ...started.all.map((one) => one.process().output())];
  run.keepLog(() => outputs().join('\n--- the next process ---\n'));
  const balancer = await startBalancer(started.all.map(({ port }) => port));
  run.atEnd(() => balancer.stop());

  const stopping = new AbortController();
  const targets = {
    addresses: [balancer.baseUrl, ...started.all.map(({ baseUrl }) => baseUrl)],
    relayers: relayers.map(({ id }) => id),
  };
  const traffic = startCallers(run, targets, stopping.signal);
  const isEnough = (hung: number) =>
    hung >= least.hung && refusedCommits(outputs()) >= least.refusedCommits && traffic.accepted.size >= least.accepted;
  const world = { instances: started, postgres, databaseUrl, proxies };
  await untilShared(world, instanceCount);
  const { strikes, figures } = await strike(run, world, run.isShort ? { forMs: 0, isEnough: () => true } : { forMs: 600_000, isEnough });
  stopping.abort();
  await traffic.ended;
  if (started.ended.length !== strikes.filter((name) => ending.includes(name)).length)
    run.violation('a process ended by itself', { ended: started.ended.length, strikes });

  const { baseUrl } = await started.ready();
  const records: TransactionRecord[] = [];
  for (const { id, address } of relayers) {
    const client = createRelayerClient(baseUrl, id);
    records.push(...(await untilEverythingIsFinal(run, client, healingLimitMs)));
    await audit(run, { anvil, account: address, client });
  }
  requireAccepted(run, traffic, records);
  const events = await requireEvents(run, { receiver, databaseUrl, traffic, records });
  return {
    accepted: traffic.accepted.size,
    replaced: traffic.replaced(),
    canceled: traffic.canceled(),
    'calls left at an instance': traffic.left(),
    ...figures,
    'instances removed and back': outputs().reduce((sum, output) => sum + output.split(joinsAgain).length - 1, 0),
    'their refused commits': refusedCommits(outputs()),
    events,
  };
};

/** The commits of removed instances that were refused, as they logged them. */
function refusedCommits(outputs: readonly string[]): number {
  return outputs.flatMap((output) => [...output.matchAll(/"refusedCommits":(\d+)/g)]).reduce((sum, [, count]) => sum + Number(count), 0);
}

/** How long to strike. */
interface Duration {
  readonly forMs: number;
  /** True if enough has happened, with this many instances hung. */
  readonly isEnough: (hung: number) => boolean;
}

/**
 * Strikes an instance by chance until the time is over and enough has happened. Resolves to the faults in their order, and for each to its number and how long it
 * took at most, from the end of the fault on, until instances held all lanes.
 */
async function strike(
  run: FaultRun,
  world: World,
  { forMs, isEnough }: Duration,
): Promise<{ readonly strikes: readonly string[]; readonly figures: Readonly<Record<string, string>> }> {
  const { random, isShort } = run;
  const names = Object.keys(faults);
  const strikes: string[] = [];
  const recoveries = new Map<string, number[]>();
  const endMs = performance.now() + forMs;
  // Each at least once, then by chance, and every third time the one that makes stale instances.
  const isOver = () => performance.now() >= endMs && isEnough(recoveries.get('hung')?.length ?? 0);
  while (strikes.length < names.length || !isOver()) {
    const drawn = random.chance(1 / 3) ? 'hung' : names[random.between(0, names.length - 1)];
    const name = names[strikes.length] ?? drawn ?? '';
    const struck = world.instances.all[random.between(0, instanceCount - 1)] as Instance;
    strikes.push(name);
    await faults[name]?.(world, struck, run);
    const beforeMs = performance.now();
    await untilShared(world, 1);
    recoveries.set(name, [...(recoveries.get(name) ?? []), performance.now() - beforeMs]);
    await untilShared(world, instanceCount);
    await delay(random.between(0, isShort ? greatestQuietMs.short : greatestQuietMs.full));
  }
  const figures = [...recoveries].map(([name, ms]) => [name, `${ms.length} (at most ${(Math.max(...ms) / 1_000).toFixed(1)} s)`]);
  return { strikes, figures: Object.fromEntries(figures) };
}

/** Every accepted payment has a record that was paid, as what the caller wanted last. `audit` compares the records with the chain. */
function requireAccepted(run: FaultRun, { accepted, changed }: Traffic, records: readonly TransactionRecord[]): void {
  const byId = new Map(records.map((record) => [record.id, record]));
  for (const [value, { id }] of accepted) {
    const record = byId.get(id);
    if (record === undefined) run.violation('LOST: an accepted payment has no record', { value, id });
    else if (!changed.has(value) && (record.status !== 'confirmed' || record.value !== value))
      run.violation('an accepted payment is not confirmed as it was sent', { value, record });
  }
  const owners = new Set([...accepted.values()].map(({ id }) => id));
  if (owners.size !== accepted.size) run.violation('two payments have one record', { payments: accepted.size, records: owners.size });
  if (records.length > accepted.size)
    run.violation('there are more records than payments', { payments: accepted.size, records: records.length });
}

/** The events that can follow the event of a status on a chain without reorgs. A replacement and a cancel repeat the status. */
const nextEvents: Readonly<Record<string, readonly string[]>> = {
  pending: ['pending', 'sent', 'canceled'],
  sent: ['sent', 'submitted', 'mined'],
  submitted: ['submitted', 'mined'],
  mined: ['confirmed', 'canceled'],
};

interface Events {
  readonly receiver: StatusReceiver;
  readonly databaseUrl: string;
  readonly traffic: Traffic;
  readonly records: readonly TransactionRecord[];
}

/**
 * Every event was delivered, the events of each transaction came in order, none is missing between two statuses, and each state that a caller was shown has its
 * event. Resolves to the number of events.
 */
async function requireEvents(run: FaultRun, { receiver, databaseUrl, traffic, records }: Events): Promise<number> {
  const { told, revisions } = receiver;
  for (const { id, status } of records) {
    await waitFor(`the event of ${id} being ${status}`, () => (told.get(id)?.at(-1)?.status === status ? true : undefined), 60_000).catch(
      (error: unknown) => run.violation(String(error), { told: told.get(id) }),
    );
    const inOrder = revisions.get(id) ?? [];
    if (inOrder.some((revision, index) => index > 0 && revision <= (inOrder[index - 1] ?? 0)))
      run.violation('the events of a transaction came out of order', { id, revisions: inOrder, told: told.get(id) });
    const statuses = (told.get(id) ?? []).map((one) => one.status);
    if (
      statuses[0] !== 'pending' ||
      statuses.some((one, index) => index > 0 && nextEvents[statuses[index - 1] ?? '']?.includes(one) !== true)
    )
      run.violation('LOST: the events of a transaction have a gap', { id, statuses });
  }
  for (const { id, revision } of traffic.shown)
    if (revisions.get(id)?.includes(revision) !== true)
      run.violation('LOST: what a caller was shown has no event', { id, revision, revisions: revisions.get(id), told: told.get(id) });
  return requireDelivered(run, receiver, databaseUrl);
}

/** Every event of the outbox is delivered, in the service's words and the receiver's. */
async function requireDelivered(run: FaultRun, { received }: StatusReceiver, databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const read = async () => (await client.query<{ id: string; status: string }>('select id, status from events')).rows;
  try {
    await waitFor(
      'every event to be delivered',
      async () => ((await read()).every(({ status }) => status !== 'pending') ? true : undefined),
      60_000,
    );
    const events = await read();
    const lost = events.filter(({ id, status }) => status !== 'delivered' || !received.has(id));
    if (lost.length > 0) run.violation('LOST: events were not delivered', lost);
    return events.length;
  } finally {
    await client.end();
  }
}
