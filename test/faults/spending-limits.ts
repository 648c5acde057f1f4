import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { untilAnswered } from '../support/until-answered.js';
import { waitFor } from '../support/wait-for.js';
import { type Miner, startMiner } from './miner.js';
import { setBalance } from './rig.js';
import type { FaultRun, FaultSuite } from './suite.js';

/*
 * A thousand sends, replacements and cancels at once against one limit, while processes are killed and stopped: what the chain pays never
 * exceeds the limit, and, when all of them have ended, sends use what is left of it, so nothing leaks.
 */

/** How many calls a round makes. A caller that has sent may also replace or cancel. */
const callers = 650;
/** What a send pays; the sends of a round are worth twice the limit. */
const sentValue = 20;
const limit = BigInt((callers * sentValue) / 2);
const limitMs = 300_000;
/** A stopped process goes on before that. */
const patienceMs = 20_000;
/** Blocks come within this time. */
const blockGapMs = 1_000;
/** Until so many replacements and cancels are answered, no block ends what they are about. */
const changesBeforeBlocks = 120;
const openStatuses = ['pending', 'sent', 'submitted', 'mined'];
const relayerPath = '/relayers/r1';
const path = `${relayerPath}/transactions`;

/** The instances of a service, and what a round counts. */
interface World {
  readonly run: FaultRun;
  readonly anvil: Anvil;
  readonly instances: Instances;
  readonly miner: Miner;
  readonly figures: {
    calls: number;
    sent: number;
    replaced: number;
    canceled: number;
    refused: number;
    killed: number;
    stopped: number;
    'least paid of a limit, in percent': number;
  };
}

/** What a limit has left. */
interface Usage {
  readonly rule_id: string;
  readonly used: string;
  readonly reserved: string;
  readonly left: string;
}

function limitSuite(count: number, databaseOf: (run: FaultRun) => Promise<Readonly<Record<string, string>>>): FaultSuite {
  return async (run) => {
    const anvil = await startAnvil({ noMining: true });
    run.atEnd(() => anvil.stop());
    const env = await databaseOf(run);
    const home = await createServiceHome({ rpcUrl: anvil.url, policies: { max_in_flight: 1_000 }, env });
    run.atEnd(() => home.remove());
    await setBalance(anvil, home.address, parseEther('100000'));
    const instances = await startInstances(home, count);
    run.atEnd(() => instances.stop());
    for (const { process } of instances.all) run.keepLog(() => process().output());
    const figures = { calls: 0, sent: 0, replaced: 0, canceled: 0, refused: 0, killed: 0, stopped: 0 };
    const miner = startMiner(run, anvil, run.random.fork('miner'), blockGapMs);
    const world = { run, anvil, miner, instances, figures: { ...figures, 'least paid of a limit, in percent': 100 } };
    const rounds = run.rounds(50);
    for (let round = 0; round < rounds; round += 1) {
      const startedMs = performance.now();
      const paid = await runRound(world, round);
      const percent = Number((paid * 10_000n) / limit) / 100;
      world.figures['least paid of a limit, in percent'] = Math.min(world.figures['least paid of a limit, in percent'], percent);
      if (rounds > 1) run.say(`round ${round}: ${percent} % of the limit paid, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
    }
    return { rounds, ...world.figures };
  };
}

/** Runs a round with a limit and a receiver of its own. Resolves to what the receiver has been paid. */
async function runRound(world: World, round: number): Promise<bigint> {
  const { run, anvil, instances, figures } = world;
  const ruleId = `round-${round}`;
  const receiver = `0x${(0x51_0000_0000n + BigInt(round)).toString(16).padStart(40, '0')}`;
  await setRule(instances, ruleId, receiver);
  await storm(world, receiver);
  const usage = await untilEnded(instances, ruleId);
  const paidOf = async () => BigInt((await anvil.rpc('eth_getBalance', [receiver, 'latest'])) as string);
  const afterStorm = await paidOf();
  if (afterStorm > limit) run.violation('the chain paid more than the limit', { ruleId, afterStorm, limit });
  if (afterStorm !== BigInt(usage.used)) run.violation('another amount counts as used than the chain paid', { ruleId, afterStorm, usage });
  // What is left can be spent.
  for (let left = BigInt(usage.left); left * 20n > limit; left = BigInt((await untilEnded(instances, ruleId)).left)) {
    const sends = Array.from({ length: Number(left) / sentValue }, (_, index) => send(world, index, receiver));
    const answers = await Promise.all(sends);
    figures.calls += answers.length;
    if (!answers.some(({ status }) => status === 200)) {
      run.violation('no send gets what the limit has left', { left, answer: answers[0]?.text });
      break;
    }
  }
  const paid = await paidOf();
  if (paid > limit) run.violation('the chain paid more than the limit', { ruleId, paid, limit });
  if (paid * 100n < limit * 95n) run.violation('what was not paid is not free again', { ruleId, paid, limit });
  return paid;
}

/** Gives the relayer one rule, which pays one receiver, and waits until each instance knows it. */
async function setRule(instances: Instances, id: string, receiver: string): Promise<void> {
  const limits = [{ asset: 'native', amount: String(limit), window_seconds: 86_400, per: 'relayer' }];
  const rules = [{ id, effect: 'allow', to: [receiver], limits }];
  await instances.ready();
  const { status, text } = await untilAnswered(instances, 0, { verb: 'PATCH', path: relayerPath, body: { policies: { rules } } });
  if (status !== 200) throw new Error(`a change of rules was answered ${status}: ${text}`);
  for (const { baseUrl } of instances.all)
    await waitFor('an instance to know the rule', async () => ((await usageAt(baseUrl))?.rule_id === id ? true : undefined), limitMs);
}

/** Calls from all sides, while the instances are struck. */
async function storm(world: World, receiver: string): Promise<void> {
  const { run, miner, figures } = world;
  const accepted: string[] = [];
  let changes = 0;
  const held = miner.hold(() => waitFor('changes', () => (changes >= changesBeforeBlocks ? true : undefined), limitMs));
  const over = new AbortController();
  const struck = world.instances.all.map((instance) => strike(world, instance, over.signal));
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const answer = await send(world, index, receiver);
      figures.calls += 1;
      if (answer.status === 200) {
        figures.sent += 1;
        accepted.push(answer.body.data.id);
      } else figures.refused += 1;
      if (index % 16 >= 9) return;
      await change(world, index, { receiver, id: accepted.at(-run.random.between(1, 20)) });
      changes += 1;
    }),
  );
  over.abort();
  await Promise.all([held, ...struck]);
}

/** Kills or stops the process of an instance, and after that perhaps the next one. */
async function strike({ run: { random }, figures }: World, instance: Instance, over: AbortSignal): Promise<void> {
  for (let strikes = 0; strikes < 2; strikes += 1) {
    await delay(random.between(100, 4_000), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return;
    const { pid, exited } = instance.process();
    if (random.chance(0.5)) {
      figures.killed += 1;
      process.kill(pid, 'SIGKILL');
      await exited;
    } else {
      figures.stopped += 1;
      process.kill(pid, 'SIGSTOP');
      await delay(random.between(500, 6_000));
      process.kill(pid, 'SIGCONT');
    }
  }
}

async function send({ run, instances }: World, index: number, receiver: string) {
  const body = { to: receiver, value: sentValue, speed: 'average' };
  const answer = await untilAnswered(instances, index, { verb: 'POST', path, body, patienceMs });
  const isRefused = answer.headers.get('x-error-reason') === 'SPEND_LIMIT_EXCEEDED';
  if (answer.status !== 200 && !isRefused) run.violation(`a send was answered ${answer.status}: ${answer.text}`);
  return answer;
}

/** Replaces a transaction by one that pays more or less, or cancels it. It may be mined by now. */
async function change(
  { run, instances, figures }: World,
  index: number,
  { receiver, id }: { readonly receiver: string; readonly id: string | undefined },
): Promise<void> {
  if (id === undefined) return;
  figures.calls += 1;
  const isCancel = run.random.chance(0.15);
  const body = { to: receiver, value: run.random.between(sentValue / 2, 2 * sentValue), speed: 'fastest' };
  const call = { ...(isCancel ? { verb: 'DELETE' } : { verb: 'PUT', body }), path: `${path}/${id}`, patienceMs };
  const { status, text } = await untilAnswered(instances, index + 1, call);
  if (status === 200) figures[isCancel ? 'canceled' : 'replaced'] += 1;
  else if (![400, 403, 409].includes(status)) run.violation(`a change was answered ${status}: ${text}`);
}

/** Resolves to what counts against the limit when every transaction has ended, and all of them are counted. */
function untilEnded(instances: Instances, ruleId: string): Promise<Usage> {
  return waitFor(
    'every transaction to end and to be counted',
    async () => {
      const { baseUrl } = await instances.ready();
      for (const status of openStatuses) {
        const answer = await rest(baseUrl, 'GET', `${path}?per_page=1&status=${status}`).catch(() => null);
        if (answer?.status !== 200 || answer.body.pagination.total_items > 0) return undefined;
      }
      const usage = await usageAt(baseUrl);
      return usage?.rule_id === ruleId && usage.reserved === '0' ? usage : undefined;
    },
    limitMs,
  );
}

/** Amounts as texts: they may be beyond what a number holds exactly. */
async function usageAt(baseUrl: string): Promise<Usage | undefined> {
  const answer = await rest(baseUrl, 'GET', `${relayerPath}/policies/usage`).catch(() => null);
  return answer?.status === 200 ? JSON.parse(answer.text.replaceAll(/:(\d+)/g, ':"$1"')).data.limits[0] : undefined;
}

/** With one process on SQLite, and with three instances on PostgreSQL. */
export const spendingLimits = {
  sqlite: limitSuite(1, async () => ({})),
  postgres: limitSuite(3, async (run) => {
    const postgres = await startPostgres();
    run.atEnd(() => postgres.stop());
    return { DATABASE_URL: await postgres.newDatabase() };
  }),
};
