import { existsSync } from 'node:fs';
import { parseEther, Wallet } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { type PatroniCluster, skipWithoutPatroni, startPatroni } from '../support/patroni.js';
import { runSql } from '../support/postgres-pair.js';
import { runProgram } from '../support/run-cli.js';
import { createServiceHome, type ServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { failOver } from './failover.js';
import type { FaultRun, FaultSuite } from './suite.js';

const instanceCount = 3;
const payments = 6;
const limitMs = 90_000;
/** Debian's libfaketime. */
const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
/** The goal of the first accepted send after the new primary takes writes. */
const backWithinMs = 3_000;
/** The goal of the first broadcast after that moment. */
const broadcastWithinMs = 5_000;

/**
 * Patroni, etcd, HAProxy and PostgreSQL under three instances: with a synchronous standby, a failover loses nothing and pays nothing twice; with an
 * asynchronous one that lags, payments that may have been made are held, and not made again.
 */
export const postgresHa: FaultSuite = async (run) => {
  if (skipWithoutPatroni !== false) return { 'nothing ran': skipWithoutPatroni };
  const figures: Record<string, string> = {};
  for (let round = 1; round <= run.rounds(30); round += 1) {
    // In turns, the primary is gone, or lives on without its Patroni. Each time the password changes before.
    const fail = async (cluster: PatroniCluster) => {
      await cluster.rotatePassword();
      await (round % 2 === 0 ? cluster.failOver() : cluster.abandonPrimary());
    };
    const { sends, backMs, broadcastMs } = await failOver(run, `synchronous ${round}`, {
      start: () => startPatroni(true),
      fail,
      instanceCount,
    });
    if (!run.isShort && backMs > backWithinMs) run.violation(`synchronous ${round}: the first send took ${Math.round(backMs)} ms`);
    if (!run.isShort && broadcastMs > broadcastWithinMs)
      run.violation(`synchronous ${round}: the first broadcast took ${Math.round(broadcastMs)} ms`);
    const [back, broadcast] = [backMs, broadcastMs].map((ms) => `${(ms / 1_000).toFixed(2)} s`);
    figures[`synchronous ${round}`] = `${sends} sends, writes back after ${back}, broadcasts after ${broadcast}`;
    run.say(`synchronous ${round}: ${figures[`synchronous ${round}`]}`);
    figures[`asynchronous ${round}`] = await loseCommits(run, `asynchronous ${round}`);
    run.say(`asynchronous ${round}: ${figures[`asynchronous ${round}`]}`);
  }
  return figures;
};

/** A dump and a rewrite of all tables under load, then a switchover: nothing is lost or paid twice, and no send is refused for ever. */
export const postgresMaintenance: FaultSuite = async (run) => {
  if (skipWithoutPatroni !== false) return { 'nothing ran': skipWithoutPatroni };
  const maintain = async (cluster: PatroniCluster) => {
    await cluster.maintain();
    await cluster.switchOver();
  };
  const { sends, backMs, broadcastMs } = await failOver(run, 'maintenance', {
    start: () => startPatroni(true),
    fail: maintain,
    instanceCount,
  });
  const [back, broadcast] = [backMs, broadcastMs].map((ms) => `${(ms / 1_000).toFixed(2)} s`);
  return { 'dump, vacuum full and switchover': `${sends} sends, writes back after ${back}, broadcasts after ${broadcast}` };
};

/** The disk of the primary is full for some seconds under load: nothing is lost or paid twice, and no send is refused for ever. */
export const postgresFullDisk: FaultSuite = async (run) => {
  if (skipWithoutPatroni !== false) return { 'nothing ran': skipWithoutPatroni };
  if (run.isShort) return { 'nothing ran': 'only in the long form' };
  const { sends, backMs } = await failOver(run, 'full disk', {
    start: () => startPatroni(true, { hasSmallDisk: true }),
    fail: (cluster) => cluster.fillDisk(),
    instanceCount,
  });
  return { 'full disk': `${sends} sends, writes back after ${(backMs / 1_000).toFixed(2)} s` };
};

/**
 * The clock of one instance is ten minutes behind, then that of the database: neither sends a payment after its time, the instance whose clock
 * is wrong leaves its work to the others, and with a wrong database none signs and each says why.
 */
export const postgresClocks: FaultSuite = async (run) => {
  if (skipWithoutPatroni !== false) return { 'nothing ran': skipWithoutPatroni };
  if (run.isShort) return { 'nothing ran': 'only in the long form' };
  if (!existsSync(fakeTime)) return { 'nothing ran': 'skipped: it needs the package faketime (apt-get install)' };
  const clockBehind = { LD_PRELOAD: fakeTime, FAKETIME: '-600s', FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' };
  await withService(run, { env: {}, settingsOf: (index) => (index === 0 ? clockBehind : {}) }, async ({ anvil, home, instances }) => {
    const [wrong, ...right] = instances.all as [Instance, ...Instance[]];
    await waitFor('the wrong clock to be said', () => saysClocksDiffer(wrong), limitMs);
    for (const one of right) await waitFor('the others to be ready', async () => (await one.isReady()) || undefined, limitMs);
    await anvil.rpc('anvil_setBalance', [home.address, '0x0']);
    const late = `0x${'0'.repeat(37)}abc`;
    const valid_until = new Date(Date.now() + 4_000).toISOString();
    const { body } = await rest(right[0]?.baseUrl ?? '', 'POST', '/relayers/r1/transactions', { to: late, value: 7, valid_until });
    const record = async () => (await rest(right[0]?.baseUrl ?? '', 'GET', `/relayers/r1/transactions/${body.data.id}`)).body.data;
    await waitFor('the payment to expire', async () => (await record()).status === 'expired' || undefined, limitMs);
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    await payFrom(run, right, anvil, 'one wrong clock');
    if (BigInt(String(await anvil.rpc('eth_getBalance', [late, 'latest']))) !== 0n) run.violation('a payment was made after its time');
  });
  await withService(run, { env: clockBehind, settingsOf: () => ({}) }, async ({ anvil, home, instances }) => {
    for (const one of instances.all) await waitFor('each instance to say that the clocks differ', () => saysClocksDiffer(one), limitMs);
    const sent = await rest(instances.all[0]?.baseUrl ?? '', 'POST', '/relayers/r1/transactions', { to: home.address, value: 7 });
    const height = () => anvil.rpc('eth_blockNumber').then(Number);
    const until = (await height()) + 8;
    await waitFor('more blocks', async () => (await height()) >= until || undefined, limitMs);
    const count = Number(await anvil.rpc('eth_getTransactionCount', [home.address, 'pending']));
    if (count !== 0) run.violation(`the clock of the database is wrong: ${count} transactions were sent`, sent.body);
  });
  return { 'clocks ten minutes behind': 'of one instance: it signs nothing, the others pay; of the database: none signs' };
};

/** A new server has all rows by logical replication, and sequences from the start: no instance starts before both are put right, and nothing is lost. */
export const postgresSequences: FaultSuite = async (run) => {
  if (skipWithoutPatroni !== false) return { 'nothing ran': skipWithoutPatroni };
  if (run.isShort) return { 'nothing ran': 'only in the long form' };
  let repaired = 0;
  await withService(run, { env: {}, settingsOf: () => ({}) }, async ({ anvil, cluster, home, instances }) => {
    await payFrom(run, instances.all, anvil, 'before the upgrade');
    await instances.stop();
    const url = await cluster.upgradeByReplication();
    const env = { ...home.env, DATABASE_URL: url };
    for (let tries = 0; ; tries += 1) {
      const { exitCode, stderr } = await runProgram(['restore', '--yes'], env);
      if (exitCode === 0) break;
      const repairs = /stop all instances and run: (.*;)/.exec(stderr)?.[1];
      if (repairs === undefined || tries > 1) throw new Error(`relayer restore ended with ${exitCode}: ${stderr}`);
      repaired = repairs.split(';').length - 1;
      await runSql(url, repairs);
    }
    if (repaired === 0) run.violation('sequences that are behind were not named');
    const upgraded = await startInstances({ ...home, env }, instanceCount);
    try {
      await upgraded.ready();
      await payFrom(run, upgraded.all, anvil, 'after the upgrade');
    } finally {
      await upgraded.stop();
    }
  });
  return { 'sequences behind after logical replication': `${repaired} named and set` };
};

/** The service on a cluster of its own. */
interface Running {
  readonly anvil: Awaited<ReturnType<typeof startAnvil>>;
  readonly cluster: PatroniCluster;
  readonly home: ServiceHome;
  readonly instances: Instances;
}

/** Runs a story with instances on a cluster whose servers have these variables. */
async function withService(
  run: FaultRun,
  { env, settingsOf }: { readonly env: Readonly<Record<string, string>>; readonly settingsOf: (index: number) => Record<string, string> },
  story: (running: Running) => Promise<void>,
): Promise<void> {
  const releases: (() => Promise<unknown>)[] = [];
  try {
    const anvil = await startAnvil({ blockTime: 1 });
    releases.push(() => anvil.stop());
    const cluster = await startPatroni(true, { env });
    releases.push(() => cluster.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: cluster.serviceUrl, HELD_TRANSACTIONS_FILE: '' } });
    releases.push(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const instances = await startInstances(home, instanceCount, settingsOf);
    releases.push(() => instances.stop());
    run.keepLog(() => [...instances.ended, ...instances.all.map((one) => one.process().output())].join('\n--- the next process ---\n'));
    await story({ anvil, cluster, home, instances });
  } finally {
    for (const release of releases.reverse()) await release();
  }
}

/** Sends payments to receivers of their own, through each instance in turns, and expects each once. */
async function payFrom(run: FaultRun, instances: readonly Instance[], anvil: Running['anvil'], name: string): Promise<void> {
  const receivers = Array.from({ length: payments }, () => Wallet.createRandom().address);
  for (const [index, to] of receivers.entries()) {
    const { body } = await rest(instances[index % instances.length]?.baseUrl ?? '', 'POST', '/relayers/r1/transactions', { to, value: 7 });
    if (body.success !== true) run.violation(`${name}: a payment was not accepted`, body);
  }
  const paid = () => Promise.all(receivers.map(async (to) => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])))));
  await waitFor('the payments', async () => (await paid()).every((wei) => wei > 0n) || undefined, limitMs);
  const height = () => anvil.rpc('eth_blockNumber').then(Number);
  const until = (await height()) + 5;
  await waitFor('more blocks', async () => (await height()) >= until || undefined, limitMs);
  expectPaidOnce(run, name, await paid());
}

async function saysClocksDiffer({ baseUrl }: Instance): Promise<true | undefined> {
  const answer = await fetch(`${baseUrl}/api/v1/ready`).catch(() => null);
  return (answer?.status === 503 && /clocks of this instance and of the database differ/.test(await answer.text())) || undefined;
}

/** The standby has the payments, and lacks that they were made, when it becomes the primary. */
async function loseCommits(run: FaultRun, name: string): Promise<string> {
  const releases: (() => Promise<unknown>)[] = [];
  try {
    const anvil = await startAnvil({ blockTime: 1 });
    releases.push(() => anvil.stop());
    const cluster = await startPatroni(false);
    releases.push(() => cluster.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: cluster.serviceUrl, HELD_TRANSACTIONS_FILE: '' } });
    releases.push(() => home.remove());
    const instances = await startInstances(home, instanceCount);
    releases.push(() => instances.stop());
    run.keepLog(() => [...instances.ended, ...instances.all.map((one) => one.process().output())].join('\n--- the next process ---\n'));
    const balance = (ether: string) => anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther(ether).toString(16)}`]);
    const receivers = Array.from({ length: payments }, (_, index) => `0x${(0xabc000 + index).toString(16).padStart(40, '0')}`);
    const paid = () => Promise.all(receivers.map(async (to) => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])))));

    await balance('0');
    const { baseUrl } = await instances.ready();
    const paths: string[] = [];
    for (const to of receivers) {
      const { body } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', { to, value: 7 });
      paths.push(`/relayers/r1/transactions/${body.data.id}`);
    }
    const statuses = async (at: string) => Promise.all(paths.map(async (path) => (await rest(at, 'GET', path)).body.data?.status));
    await cluster.stopReplication();
    await balance('1000');
    await waitFor(
      'the payments to be confirmed',
      async () => (await statuses(baseUrl)).every((status) => status === 'confirmed') || undefined,
      limitMs,
    );
    await cluster.failOver();
    const begunMs = performance.now();
    for (const { baseUrl: at } of instances.all)
      await waitFor(
        'each instance to say that it signs nothing',
        async () => {
          const answer = await fetch(`${at}/api/v1/ready`).catch(() => null);
          return (answer?.status === 503 && /run relayer restore/.test(await answer.text())) || undefined;
        },
        limitMs,
      );
    const heldMs = performance.now() - begunMs;
    const height = () => anvil.rpc('eth_blockNumber').then(Number);
    const until = (await height()) + 8;
    await waitFor('more blocks', async () => (await height()) >= until || undefined, limitMs);
    expectPaidOnce(run, name, await paid());

    await instances.stop();
    const restored = await runProgram(['restore', '--yes'], home.env);
    if (restored.exitCode !== 0) run.violation(`${name}: relayer restore failed`, restored.stderr);
    const named = restored.stdout.split('\n').filter((line) => /^(failed|signed) /.test(line)).length;
    if (named !== payments) run.violation(`${name}: relayer restore named ${named} of ${payments} payments`, restored.stdout);
    const again = await startInstances(home, 1);
    releases.push(() => again.stop());
    await again.ready();
    const later = (await height()) + 5;
    await waitFor('more blocks', async () => (await height()) >= later || undefined, limitMs);
    expectPaidOnce(run, name, await paid());
    return `${payments} payments held, said after ${(heldMs / 1_000).toFixed(2)} s`;
  } finally {
    for (const release of releases.reverse()) await release();
  }
}

function expectPaidOnce(run: FaultRun, name: string, paid: readonly bigint[]): void {
  for (const [index, wei] of paid.entries()) if (wei !== 7n) run.violation(`${name}: payment ${index} of 7 wei: ${wei} wei were paid`);
}
