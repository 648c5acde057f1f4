import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { type PatroniCluster, skipWithoutPatroni, startPatroni } from '../support/patroni.js';
import { runProgram } from '../support/run-cli.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { failOver } from './failover.js';
import type { FaultRun, FaultSuite } from './suite.js';

const instanceCount = 3;
const payments = 6;
const limitMs = 90_000;
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
  for (let round = 1; round <= (run.isShort ? 1 : 30); round += 1) {
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
