import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import pg from 'pg';
import { startAnvil } from '../support/anvil.js';
import { startBalancer } from '../support/balancer.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRelayerClient, type TransactionRecord } from '../support/relayer-client.js';
import { createServiceHome } from '../support/service.js';
import { type StatusReceiver, startStatusReceiver } from '../support/status-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { audit } from './audit.js';
import { startCallers, type Traffic } from './instance-callers.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const count = 3;
/** A fault is followed by up to this much quiet. */
const greatestQuietMs = 2_500;
/** The full form lasts until at least so much has happened, which proves that it could have failed. */
const least = { hung: 20, refusedCommits: 20, accepted: 2_000 } as const;
const staleOwner = 'another process took over the database';
/** Generous: how long it takes belongs to the figures. */
const recoveryLimitMs = 90_000;
const healingLimitMs = 240_000;
/** The parts that faults strike. */
interface World {
  readonly instances: Instances;
  readonly postgres: TestPostgres;
  readonly databaseUrl: string;
}

type Fault = (world: World, active: Instance, run: FaultRun) => Promise<void>;

const faults: Readonly<Record<string, Fault>> = {
  killed: (_, active) => end(active, 'SIGKILL'),
  stopped: (_, active) => end(active, 'SIGTERM'),
  async hung({ instances }, active, { random, violation }) {
    const { pid, exited, output } = active.process();
    process.kill(pid, 'SIGSTOP');
    try {
      await waitFor('another instance to take over', () => otherIsReady(instances, active), recoveryLimitMs);
      await delay(random.between(0, 2_000));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    // It goes on as an owner, but can commit nothing more.
    await exited;
    if (!output().includes(staleOwner)) violation('a stale owner did not find that another one took over');
  },
  async cut({ databaseUrl }) {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'relayer%'`);
    await client.end();
  },
  async 'without database'({ postgres }, _, { random }) {
    await postgres.halt();
    await delay(random.between(0, 1_500));
    await postgres.start();
  },
};

async function end(instance: Instance, signal: NodeJS.Signals): Promise<void> {
  const { pid, exited } = instance.process();
  process.kill(pid, signal);
  await exited;
}

async function otherIsReady({ all }: Instances, active: Instance): Promise<true | undefined> {
  for (const instance of all) if (instance !== active && (await instance.isReady())) return true;
  return undefined;
}

/**
 * Three instances on one PostgreSQL behind a load balancer, of which one works. It is killed, stopped, hung beyond the patience of the others and resumed, cut off
 * from the database, and left without it, while callers send, replace and cancel. At the end every accepted payment is on chain exactly once, every record
 * equals the chain, and every change was delivered by webhook in order.
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
    env: { DATABASE_URL: databaseUrl, STANDBY: 'true', WEBHOOK_RETRY_SECONDS: Array<string>(200).fill('0.5').join() },
  });
  run.atEnd(() => home.remove());
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  const started = await startInstances(home, count);
  run.atEnd(() => started.stop());
  run.keepLog(() => [...started.ended, ...started.all.map((one) => one.process().output())].join('\n--- the next process ---\n'));
  const balancer = await startBalancer(started.all.map(({ port }) => port));
  run.atEnd(() => balancer.stop());

  const ending = new AbortController();
  const traffic = startCallers(run, [balancer.baseUrl, ...started.all.map(({ baseUrl }) => baseUrl)], ending.signal);
  const isEnough = (hung: number) =>
    hung >= least.hung && refusedCommits(started.ended) >= least.refusedCommits && traffic.accepted.size >= least.accepted;
  const world = { instances: started, postgres, databaseUrl };
  const figures = await strike(run, world, run.isShort ? { forMs: 40_000, isEnough: () => true } : { forMs: 600_000, isEnough });
  ending.abort();
  await traffic.ended;

  const { baseUrl } = await started.ready();
  const client = createRelayerClient(baseUrl);
  const records = await untilEverythingIsFinal(run, client, healingLimitMs);
  await audit(run, { anvil, account: home.address, client });
  requireAccepted(run, traffic, records);
  const events = await requireEvents(run, { receiver, databaseUrl, traffic, records });
  return {
    accepted: traffic.accepted.size,
    replaced: traffic.replaced(),
    canceled: traffic.canceled(),
    'calls left at an instance': traffic.left(),
    ...figures,
    'stale owners': started.ended.filter((output) => output.includes(staleOwner)).length,
    'their refused commits': refusedCommits(started.ended),
    events,
  };
};

/** The commits of stale owners that the database refused, as the owners logged them. */
function refusedCommits(outputs: readonly string[]): number {
  return outputs.flatMap((output) => [...output.matchAll(/"refusedCommits":(\d+)/g)]).reduce((sum, [, count]) => sum + Number(count), 0);
}

/** How long to strike. */
interface Duration {
  readonly forMs: number;
  /** True if enough has happened, with this many owners hung. */
  readonly isEnough: (hung: number) => boolean;
}

/** Strikes until the time is over and enough has happened, and resolves to the number of each fault and the slowest recovery from it. */
async function strike(run: FaultRun, world: World, { forMs, isEnough }: Duration): Promise<Record<string, number | string>> {
  const { random } = run;
  const names = Object.keys(faults);
  const recoveries = new Map<string, number[]>();
  const endMs = performance.now() + forMs;
  // Each at least once, then by chance.
  const isOver = () => performance.now() >= endMs && isEnough(recoveries.get('hung')?.length ?? 0);
  for (let strikes = 0; strikes < names.length || !isOver(); strikes += 1) {
    const name = names[strikes < names.length ? strikes : random.between(0, names.length - 1)] ?? '';
    const active = await world.instances.ready();
    const beforeMs = performance.now();
    await faults[name]?.(world, active, run);
    await waitFor(
      `an instance to be ready after one was ${name}`,
      async () => {
        for (const instance of world.instances.all) if (await instance.isReady()) return true;
        return undefined;
      },
      recoveryLimitMs,
    );
    recoveries.set(name, [...(recoveries.get(name) ?? []), performance.now() - beforeMs]);
    await delay(random.between(500, greatestQuietMs));
  }
  return Object.fromEntries(
    [...recoveries].map(([name, ms]) => [name, `${ms.length} (at most ${(Math.max(...ms) / 1_000).toFixed(1)} s)`]),
  );
}

/** Every accepted payment has a record that was paid, as what the caller wanted last. `audit` compares the records with the chain. */
function requireAccepted(run: FaultRun, { accepted, changed }: Traffic, records: readonly TransactionRecord[]): void {
  const byId = new Map(records.map((record) => [record.id, record]));
  for (const [value, id] of accepted) {
    const record = byId.get(id);
    if (record === undefined) run.violation('LOST: an accepted payment has no record', { value, id });
    else if (!changed.has(value) && (record.status !== 'confirmed' || record.value !== value))
      run.violation('an accepted payment is not confirmed as it was sent', { value, record });
  }
  const owners = new Set(accepted.values());
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
