import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import pg from 'pg';
import { startAnvil } from '../support/anvil.js';
import { startBalancer } from '../support/balancer.js';
import { rest } from '../support/callers.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRelayerClient, type TransactionRecord } from '../support/relayer-client.js';
import { createServiceHome } from '../support/service.js';
import { type StatusReceiver, startStatusReceiver } from '../support/status-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { audit } from './audit.js';
import { otherReceiver, paymentOf } from './payment.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const count = 3;
const callers = 4;
/** A caller waits up to this long between two sends. */
const greatestGapMs = 250;
/** A fault is followed by up to this much quiet. */
const greatestQuietMs = 2_500;
/** The full form hangs at least this many owners. */
const leastHung = 20;
/** Generous: how long it takes belongs to the figures. */
const recoveryLimitMs = 90_000;
const healingLimitMs = 240_000;
/** Replacements have a value from here on. */
const firstReplacement = 2_000_000_000;

/** What the callers know. */
interface Traffic {
  /** The ids of accepted payments, by value. */
  readonly accepted: Map<string, string>;
  /** Accepted payments that a caller replaced or canceled, or tried to. */
  readonly changed: Set<string>;
}

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
    if (!output().includes('another process took over the database')) violation('a stale owner did not find that another one took over');
  },
  async cut({ databaseUrl }) {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'relayer'`);
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
  const traffic: Traffic = { accepted: new Map(), changed: new Set() };
  const calling = startCallers(run, balancer.baseUrl, traffic, ending.signal);
  const figures = await strike(run, { instances: started, postgres, databaseUrl }, run.isShort ? 40_000 : 600_000);
  ending.abort();
  await calling;

  const { baseUrl } = await started.active();
  const client = createRelayerClient(baseUrl);
  const records = await untilEverythingIsFinal(run, client, healingLimitMs);
  await audit(run, { anvil, account: home.address, client });
  requireAccepted(run, traffic, records);
  await requireEvents(run, receiver, records);
  const stale = started.ended.filter((output) => output.includes('another process took over the database')).length;
  return { accepted: traffic.accepted.size, ...figures, 'stale owners refused': stale };
};

/** Strikes until the time is over, and resolves to the number of each fault and the slowest recovery from it. */
async function strike(run: FaultRun, world: World, forMs: number): Promise<Record<string, number | string>> {
  const { random } = run;
  const names = Object.keys(faults);
  const recoveries = new Map<string, number[]>();
  const endMs = performance.now() + forMs;
  // Each at least once, then by chance.
  const hung = () => recoveries.get('hung')?.length ?? 0;
  const isOver = () => performance.now() >= endMs && (run.isShort || hung() >= leastHung);
  for (let strikes = 0; strikes < names.length || !isOver(); strikes += 1) {
    const name = names[strikes < names.length ? strikes : random.between(0, names.length - 1)] ?? '';
    const active = await world.instances.active();
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

/** Sends payments, each until it is accepted, and changes some of them, until the signal aborts. */
async function startCallers(run: FaultRun, baseUrl: string, traffic: Traffic, signal: AbortSignal): Promise<void> {
  const random = run.random.fork('callers');
  let payments = 0;
  let replacements = firstReplacement;

  async function send(): Promise<void> {
    const payment = paymentOf(payments++);
    const key = { 'idempotency-key': `payment-${payment.value}` };
    const id = await waitFor(
      `payment ${payment.value} to be accepted`,
      async () => {
        const answer = await rest(baseUrl, 'POST', '/relayers/r1/transactions', payment, key).catch(() => null);
        if (answer === null || answer.status >= 500 || answer.status === 409 || answer.status === 429) return undefined;
        if (answer.status !== 200) run.violation(`a send was answered ${answer.status}: ${answer.text}`);
        return answer.body.data.id as string;
      },
      recoveryLimitMs,
    );
    traffic.accepted.set(payment.value, id);
  }

  /** Without a retry: whether it succeeded, the records and the chain say. */
  async function change(): Promise<void> {
    const newest = [...traffic.accepted].slice(-8);
    const [value, id] = newest[random.between(0, newest.length - 1)] ?? [];
    if (value === undefined || id === undefined) return;
    traffic.changed.add(value);
    const path = `/relayers/r1/transactions/${id}`;
    replacements += 1;
    const body = { to: otherReceiver, value: replacements, speed: 'fast' };
    await (random.chance(0.7) ? rest(baseUrl, 'PUT', path, body) : rest(baseUrl, 'DELETE', path)).catch(() => undefined);
  }

  async function call(): Promise<void> {
    while (!signal.aborted) {
      await (random.chance(0.8) ? send() : change());
      await delay(random.between(0, greatestGapMs));
    }
  }

  const ended = await Promise.allSettled(Array.from({ length: callers }, call));
  for (const one of ended) if (one.status === 'rejected') run.violation(String(one.reason));
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

/** Every record's last change was delivered, and the changes of each came in order. */
async function requireEvents(run: FaultRun, { told, revisions }: StatusReceiver, records: readonly TransactionRecord[]): Promise<void> {
  for (const { id, status } of records) {
    await waitFor(`the event of ${id} being ${status}`, () => (told.get(id)?.at(-1)?.status === status ? true : undefined), 60_000).catch(
      (error: unknown) => run.violation(String(error), { told: told.get(id) }),
    );
    const inOrder = revisions.get(id) ?? [];
    if (inOrder.some((revision, index) => index > 0 && revision <= (inOrder[index - 1] ?? 0)))
      run.violation('the events of a transaction came out of order', { id, revisions: inOrder, told: told.get(id) });
  }
}
