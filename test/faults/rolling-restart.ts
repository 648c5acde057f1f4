import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { type Instance, startInstances } from '../support/instances.js';
import { addRelayers } from '../support/more-relayers.js';
import { startPostgres } from '../support/postgres.js';
import { createRelayerClient } from '../support/relayer-client.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { otherReceiver, paymentOf } from './payment.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const instanceCount = 3;
const relayerCount = 6;
const sendsPerSecond = 50;
/** Every so manieth payment goes to the receiver that the new file forbids. */
const forbiddenEvery = 5;
const steadyMs = { short: 2_000, full: 10_000 } as const;
/** A load balancer tries each instance this often before the caller gets an error. */
const rounds = 3;
const limitMs = 120_000;

interface Sent {
  readonly value: string;
  readonly relayer: string;
  readonly id: string;
  readonly isForbidden: boolean;
  /** When it was answered. */
  readonly atMs: number;
}

/** What the caller behind a load balancer sees. */
interface Load {
  readonly accepted: readonly Sent[];
  /** Sends that no instance took. */
  readonly refused: readonly string[];
  /** Sends to the forbidden receiver that the policy refused. */
  readonly forbidden: () => number;
  /** Sends that began, per second so far. */
  readonly perSecond: () => number;
  stop(): Promise<void>;
}

/**
 * Three instances are restarted one after the other with a file that no longer allows a receiver, as `kubectl rollout` does it, under 50 sends a second. A caller
 * behind a load balancer notices nothing: each send that the new file allows is accepted and paid once. After the last instance with the old file has handed over,
 * nothing is sent to that receiver.
 */
export const rollingRestart: FaultSuite = async (run) => {
  const [anvil, postgres] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres()]);
  run.atEnd(() => anvil.stop());
  run.atEnd(() => postgres.stop());
  const env = {
    DATABASE_URL: await postgres.newDatabase(),
    RATE_LIMIT_REQUESTS_PER_SECOND: '2000',
    RATE_LIMIT_BURST_SIZE: '4000',
  };
  const home = await createServiceHome({ rpcUrl: anvil.url, env });
  run.atEnd(() => home.remove());
  const relayers = await addRelayers(home, relayerCount - 1);
  for (const { address } of relayers) await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('1000').toString(16)}`]);
  const instances = await startInstances(home, instanceCount);
  run.atEnd(() => instances.stop());
  run.keepLog(() => [...instances.ended, ...instances.all.map((one) => one.process().output())].join('\n--- the next process ---\n'));
  await allReady(instances.all);

  const load = startLoad(
    run,
    instances.all.map(({ baseUrl }) => baseUrl),
    relayers.map(({ id }) => id),
  );
  const steady = run.isShort ? steadyMs.short : steadyMs.full;
  await delay(steady);
  const lastsMs: number[] = [];
  for (let round = 0; round < run.rounds(5); round += 1) {
    const isForbidding = round % 2 === 0;
    const firstAccepted = load.accepted.length;
    await changeFile(home.dir, isForbidding, round);
    const beforeMs = performance.now();
    const handedOverMs = await restartAll(instances.all);
    lastsMs.push(performance.now() - beforeMs);
    await delay(steady);
    if (!isForbidding) continue;
    const late = load.accepted.slice(firstAccepted).filter(({ isForbidden, atMs }) => isForbidden && atMs > handedOverMs);
    if (late.length > 0) run.violation('accepted against the new file after the instances with the old one had handed over', late);
    if (load.forbidden() === 0) run.violation('the new file forbade nothing');
  }
  const rate = load.perSecond();
  await load.stop();

  const [first] = instances.all;
  if (first === undefined) throw new Error('there is no instance');
  let lost = 0;
  for (const { id, address } of relayers) {
    const client = createRelayerClient(first.baseUrl, id);
    await untilEverythingIsFinal(run, client, limitMs);
    const records = new Map((await client.list()).map((record) => [record.id, record]));
    const ledger = await readLedger(anvil, address);
    for (const sent of load.accepted.filter(({ relayer }) => relayer === id)) {
      const paid = ledger.transactions.filter(({ value }) => value === BigInt(sent.value)).length;
      const record = records.get(sent.id);
      // What was accepted and not signed before the file changed fails.
      const isFailed = sent.isForbidden && record?.status === 'failed' && record.failure_reason === 'notAllowed';
      if (paid > 1) run.violation('PAID TWICE: a payment is in several blocks', { sent, record });
      if (paid === 1 || isFailed) continue;
      lost += 1;
      run.violation('LOST: an accepted payment is in no block', { sent, record });
    }
  }
  for (const refusal of load.refused) run.violation('a send was refused by all instances', refusal);
  return {
    restarts: lastsMs.length * instanceCount,
    'sends per second': rate.toFixed(1),
    accepted: load.accepted.length,
    refused: load.refused.length,
    lost,
    'forbidden by the new file': load.forbidden(),
    'longest rollout': `${(Math.max(...lastsMs) / 1_000).toFixed(1)} s`,
  };
};

/** Writes another file, of the next revision. */
async function changeFile(dir: string, isForbidding: boolean, round: number): Promise<void> {
  const file = join(dir, 'config.json');
  const config: { revision?: number; relayers: { policies: object }[] } = JSON.parse(await readFile(file, 'utf8'));
  const allowed = isForbidding ? { whitelist_receivers: [paymentOf(0).to] } : {};
  config.revision = round + 1;
  for (const relayer of config.relayers) {
    relayer.policies = { min_balance: 0, ...allowed };
  }
  await writeFile(file, JSON.stringify(config));
}

/** Restarts them one after the other, each when the one before is ready. Resolves to when the last with the old file had handed over. */
async function restartAll(instances: readonly Instance[]): Promise<number> {
  let handedOverMs = 0;
  for (const [index, instance] of instances.entries()) {
    const { pid, exited } = instance.process();
    process.kill(pid, 'SIGTERM');
    await exited;
    await waitFor('the restarted instance to be ready', async () => ((await instance.isReady()) ? true : undefined), limitMs);
    if (index > 0) continue;
    // The others say that they do not work any more.
    await waitFor(
      'the others to hand over',
      async () => ((await Promise.all(instances.slice(1).map((one) => one.isReady()))).some(Boolean) ? undefined : true),
      limitMs,
    );
    handedOverMs = performance.now();
  }
  return handedOverMs;
}

async function allReady(instances: readonly Instance[]): Promise<void> {
  for (const instance of instances)
    await waitFor('an instance to be ready', async () => ((await instance.isReady()) ? true : undefined), limitMs);
}

/** Sends payments at an even rate. A send that an instance does not take goes to the next one. */
function startLoad(run: FaultRun, addresses: readonly string[], relayers: readonly string[]): Load {
  const accepted: Sent[] = [];
  const refused: string[] = [];
  const open = new Set<Promise<void>>();
  let forbidden = 0;
  let sends = 0;

  async function send(number: number): Promise<void> {
    const isForbidden = number % forbiddenEvery === 0;
    const payment = { ...paymentOf(number), ...(isForbidden ? { to: otherReceiver } : {}) };
    const relayer = relayers[number % relayers.length] ?? '';
    const tries: string[] = [];
    for (let turn = 0; turn < rounds * addresses.length; turn += 1) {
      const address = addresses[(number + turn) % addresses.length] ?? '';
      const answer = await rest(address, 'POST', `/relayers/${relayer}/transactions`, payment, {
        'idempotency-key': `payment-${number}`,
      }).catch((error: unknown) => String(error));
      if (typeof answer !== 'string' && answer.status === 200) {
        const { id } = answer.body.data;
        accepted.push({ value: payment.value, relayer, id, isForbidden, atMs: performance.now() });
        return;
      }
      if (typeof answer !== 'string' && answer.status === 400 && isForbidden && answer.text.includes('whitelist_receivers')) {
        forbidden += 1;
        return;
      }
      tries.push(typeof answer === 'string' ? answer : `${answer.status} ${answer.text}`);
    }
    refused.push(`payment ${number}: ${tries.join('; ')}`);
  }

  const beganMs = performance.now();
  // A late timer catches up, so the rate holds on a busy machine, too.
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganMs) * sendsPerSecond) / 1_000);
    while (sends < due) {
      const sent = send(sends++).catch((error: unknown) => run.violation(String(error)));
      open.add(sent);
      void sent.finally(() => open.delete(sent));
    }
  }, 1_000 / sendsPerSecond);
  return {
    accepted,
    perSecond: () => (sends * 1_000) / (performance.now() - beganMs),
    refused,
    forbidden: () => forbidden,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}
