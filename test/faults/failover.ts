import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { startBalancer } from '../support/balancer.js';
import { startInstances } from '../support/instances.js';
import { type PostgresPair, runSql, startPostgresPair } from '../support/postgres-pair.js';
import { createRelayerClient } from '../support/relayer-client.js';
import { apiKey, createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { audit } from './audit.js';
import { paymentOf } from './payment.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const sendsPerSecond = 50;
/**
 * On a slow machine, callers wait: no more than this many calls run at once. After the failover new callers come all the same until one is
 * accepted: calls of before may wait for the answer of a server that is gone, and with them alone the figure would be their time limit.
 */
const greatestUnderWay = 100;
/** Longer than the service waits for the answer to a commit. */
const callTimeoutMs = 20_000;
const retryAfterMs = 250;
/** Calls before the fault, and after the address leads to the new primary. */
const quietMs = 4_000;
/** Generous: how long it takes belongs to the figures. */
const recoveryLimitMs = 90_000;
const healingLimitMs = 240_000;

/** What the callers know. */
interface Traffic {
  /** The ids of accepted payments, by value. */
  readonly accepted: Map<string, string>;
  /** When the new primary took writes. */
  writableMs: number;
  /** When the first payment was accepted whose call began after that. */
  firstAfterMs: number | null;
}

/** Makes the other server the primary. Resolves when the address leads to it. */
type Failover = (pair: PostgresPair) => Promise<void>;

const failovers: Readonly<Record<string, Failover>> = {
  /** The primary is gone. */
  async killed(pair) {
    pair.killPrimary();
    await pair.promote();
    pair.leadToStandby();
  },
  /** The primary works on and does not know that it was demoted. Its commits wait for the standby, also after the service has given up their connection. */
  async demoted(pair) {
    pair.cutReplication();
    const waiting = `select 1 as waits from pg_stat_activity where wait_event = 'SyncRep'`;
    await waitFor('a commit to wait for the standby', async () => (await runSql(pair.primaryUrl, waiting))[0], recoveryLimitMs);
    const returning = `select 1 as waits from pg_stat_activity where wait_event_type = 'Lock' and query like '%update%instances%'`;
    await waitFor('the service to connect again', async () => (await runSql(pair.primaryUrl, returning))[0], recoveryLimitMs);
    await pair.promote();
    // The address still leads to the earlier primary for a while.
    await delay(2_000);
    pair.leadToStandby();
  },
};

/** A synchronous pair of PostgreSQL servers fails over under a constant load: nothing that was accepted is lost or paid twice, and no process ends. */
export const failover: FaultSuite = async (run) => {
  const figures: Record<string, string> = {};
  for (let round = 0; round < run.rounds(5); round += 1) {
    for (const [name, fail] of Object.entries(failovers)) {
      const { sends, backMs } = await failOver(run, name, { start: startPostgresPair, fail });
      figures[`${name} ${round + 1}`] = `${sends} sends, writes back after ${(backMs / 1_000).toFixed(2)} s`;
    }
  }
  return figures;
};

/** The servers that fail over, and how. */
interface FailoverPlan<S> {
  readonly start: () => Promise<S>;
  /** Resolves when the address leads to the new primary. */
  readonly fail: (servers: S) => Promise<void>;
  readonly instanceCount?: number;
}

/** Lets synchronous servers fail over under load, and audits that nothing was lost or paid twice. */
export async function failOver<S extends Pick<PostgresPair, 'url' | 'stop'> & { readonly serviceUrl?: string }>(
  run: FaultRun,
  name: string,
  { start, fail, instanceCount = 2 }: FailoverPlan<S>,
): Promise<{ sends: number; backMs: number; broadcastMs: number }> {
  const releases: (() => Promise<unknown>)[] = [];
  try {
    const anvil = await startAnvil({ blockTime: 1 });
    releases.push(() => anvil.stop());
    const pair = await start();
    releases.push(() => pair.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: pair.serviceUrl ?? pair.url } });
    releases.push(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const instances = await startInstances(home, instanceCount);
    releases.push(() => instances.stop());
    run.keepLog(() => [...instances.ended, ...instances.all.map((one) => one.process().output())].join('\n--- the next process ---\n'));
    const balancer = await startBalancer(instances.all.map(({ port }) => port));
    releases.push(() => balancer.stop());
    const ending = new AbortController();
    releases.push(async () => ending.abort());
    const traffic: Traffic = { accepted: new Map(), firstAfterMs: null, writableMs: Number.POSITIVE_INFINITY };
    const sending = sendAll(run, balancer.baseUrl, traffic, ending.signal);
    await delay(quietMs);
    await fail(pair);
    const state = 'select pg_is_in_recovery() as recovers';
    const takesWrites = async () =>
      (await runSql<{ recovers: boolean }>(pair.url, state).catch(() => []))[0]?.recovers === false || undefined;
    await waitFor('the new primary to take writes', takesWrites, recoveryLimitMs);
    traffic.writableMs = performance.now();
    const broadcasts = () => anvil.rpc('eth_getTransactionCount', [home.address, 'pending']).then(Number);
    const before = await broadcasts();
    const firstBroadcast = waitFor(
      'a broadcast',
      async () => ((await broadcasts()) > before ? performance.now() : undefined),
      recoveryLimitMs,
    );
    const firstMs = await waitFor('a send to be accepted again', () => traffic.firstAfterMs ?? undefined, recoveryLimitMs);
    const broadcastMs = await firstBroadcast;
    await delay(quietMs);
    ending.abort();
    const sends = await sending;
    if (instances.ended.length > 0) run.violation(`${name}: a process ended`, instances.ended[0]?.slice(-1_000));

    const { baseUrl } = await instances.ready();
    const client = createRelayerClient(baseUrl);
    const records = await untilEverythingIsFinal(run, client, healingLimitMs);
    await audit(run, { anvil, account: home.address, client });
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const [value, id] of traffic.accepted) {
      const record = byId.get(id);
      if (record === undefined) run.violation(`${name}: LOST: an accepted payment has no record`, { value, id });
      else if (record.status !== 'confirmed' || record.value !== value)
        run.violation(`${name}: an accepted payment is not confirmed as it was sent`, { value, record });
    }
    if (records.length !== traffic.accepted.size)
      run.violation(`${name}: the number of records is not that of payments`, {
        payments: traffic.accepted.size,
        records: records.length,
      });
    return { sends, backMs: firstMs - traffic.writableMs, broadcastMs: broadcastMs - traffic.writableMs };
  } finally {
    for (const release of releases.reverse()) await release();
  }
}

/** Sends payments at a rate, each until it is accepted. Resolves to their number when the signal has aborted and all are accepted. */
async function sendAll(run: FaultRun, baseUrl: string, traffic: Traffic, signal: AbortSignal): Promise<number> {
  async function send(index: number): Promise<void> {
    const payment = paymentOf(index);
    await waitFor(
      `payment ${payment.value} to be accepted`,
      async () => {
        const beganMs = performance.now();
        const response = await fetch(`${baseUrl}/api/v1/relayers/r1/transactions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${apiKey}`,
            'content-type': 'application/json',
            'idempotency-key': `payment-${payment.value}`,
          },
          body: JSON.stringify({ ...payment, value: Number(payment.value) }),
          signal: AbortSignal.timeout(callTimeoutMs),
        }).catch(() => null);
        const text = (await response?.text().catch(() => null)) ?? null;
        if (response === null || text === null || response.status >= 500 || response.status === 409) {
          await delay(retryAfterMs);
          return undefined;
        }
        if (response.status !== 200) run.violation(`a send was answered ${response.status}: ${text}`);
        if (beganMs >= traffic.writableMs) traffic.firstAfterMs ??= performance.now();
        traffic.accepted.set(payment.value, (JSON.parse(text) as { data: { id: string } }).data.id);
        return true;
      },
      recoveryLimitMs,
    ).catch((error: unknown) => run.violation(String(error)));
  }

  const underWay = new Set<Promise<void>>();
  let count = 0;
  for (; !signal.aborted; await delay(1_000 / sendsPerSecond)) {
    const isProbing = traffic.writableMs < Number.POSITIVE_INFINITY && traffic.firstAfterMs === null;
    if (underWay.size >= greatestUnderWay && !isProbing) continue;
    const one: Promise<void> = send(count++).finally(() => underWay.delete(one));
    underWay.add(one);
  }
  await Promise.all(underWay);
  return count;
}
