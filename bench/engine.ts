import { readFileSync } from 'node:fs';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Wallet } from 'ethers';
import { request } from 'undici';
import { type Anvil, anvilKeys, startAnvil } from '../test/support/anvil.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../test/support/service.js';
import { type CountingProxy, startCountingProxy } from './counting-proxy.js';
import { residentMb } from './reads.js';
import { createSenders, say } from './sends.js';

/*
 * The engine under load: the real service, SQLite fully durable, sends over HTTP, anvil with a higher block gas limit, all on the same cores.
 *
 *     npm run bench -- engine [-- latency calls flat throughput --sends 20000 --callers 64 --block-time 1 --latency-sends 2000 --latency-rate 100]
 */

const options = readOptions(process.argv.slice(2));

interface Options {
  readonly sends: number;
  readonly callers: number;
  readonly blockTime: number;
  readonly latencySends: number;
  /** Sends per second. */
  readonly latencyRate: number;
}

function readOptions(args: readonly string[]): Options {
  const numberOf = (name: string, fallback: number) => {
    const at = args.indexOf(`--${name}`);
    return at === -1 ? fallback : Number(args[at + 1]);
  };
  return {
    sends: numberOf('sends', 20_000),
    callers: numberOf('callers', 64),
    blockTime: numberOf('block-time', 1),
    latencySends: numberOf('latency-sends', 2_000),
    latencyRate: numberOf('latency-rate', 100),
  };
}

/** The number of sends before the first delay that is measured: until then the compilers are measured. */
const unmeasuredSends = 6_000;

const { agent, send, sendAll, totalOf, untilConfirmed } = createSenders(options.callers);

/** A service on a node of its own, with a relayer that may have all transactions in flight. */
async function withService<T>(
  mining: 'steady' | 'on command',
  rpcUrlOf: (anvil: Anvil) => Promise<{ url: string; stop(): Promise<void> }>,
  run: (service: RunningService, home: ServiceHome, anvil: Anvil) => Promise<T>,
): Promise<T> {
  const blocks = mining === 'steady' ? { blockTime: options.blockTime } : { noMining: true };
  const anvil = await startAnvil({ ...blocks, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  const rpc = await rpcUrlOf(anvil);
  const home = await createServiceHome({
    rpcUrl: rpc.url,
    // Under a cap, so that no fee bump follows the market that the benchmark itself makes.
    policies: { max_in_flight: 50_000, gas_price_cap: '100000000000' },
    env: { LOG_LEVEL: 'info' },
  });
  await anvil.rpc('anvil_setBalance', [home.address, '0x56bc75e2d63100000000']);
  const service = await startService(home);
  try {
    return await run(service, home, anvil);
  } finally {
    await service.stop();
    await rpc.stop();
    await anvil.stop();
    await home.remove();
  }
}

/** Returns the CPU time of a process in milliseconds. Linux counts it in hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function throughput(): Promise<void> {
  await withService('steady', direct, async (service, _home, anvil) => {
    const cpuBefore = { service: cpuMs(service.pid), node: cpuMs(anvil.pid) };
    const startedAt = performance.now();
    await sendAll(service, options.sends);
    const acceptedAt = performance.now();
    await untilConfirmed(service, options.sends);
    const confirmedAt = performance.now();
    const perSecond = (ms: number) => Math.round((options.sends / ms) * 1000);
    say(`throughput: ${options.sends} sends, ${options.callers} callers, ${options.blockTime} s blocks`);
    say(`  accepted ${perSecond(acceptedAt - startedAt)}/s, accepted to confirmed ${perSecond(confirmedAt - startedAt)}/s in all`);
    const cpuEach = (pid: number, before: number) => Math.round(((cpuMs(pid) - before) / options.sends) * 1000);
    say(
      `  processor time a transaction: service ${cpuEach(service.pid, cpuBefore.service)} µs, node ${cpuEach(anvil.pid, cpuBefore.node)} µs`,
    );
    say(`  memory of the service (RSS) ${residentMb(service.pid).toFixed(0)} MB`);
  });
}

async function direct(anvil: Anvil): Promise<{ url: string; stop(): Promise<void> }> {
  return { url: anvil.url, stop: async () => {} };
}

async function calls(): Promise<void> {
  let counter: CountingProxy | undefined;
  const count = Math.min(options.sends, 5_000);
  await withService(
    'steady',
    async (anvil) => {
      counter = await startCountingProxy(anvil.url);
      return counter;
    },
    async (service) => {
      const before = counter?.requests() ?? 0;
      await sendAll(service, count);
      await untilConfirmed(service, count);
      const requests = (counter?.requests() ?? 0) - before;
      say(`calls: ${requests} requests to the node for ${count} transactions, ${(requests / count).toFixed(3)} each`);
      for (const [method, times] of [...(counter?.byMethod() ?? [])].sort((a, b) => b[1] - a[1])) say(`  ${method} ${times}`);
    },
  );
}

/** Sends at a steady rate. The record shows when a transaction was accepted and when a node accepted it. */
async function latency(): Promise<void> {
  await withService('steady', direct, async (service) => {
    await sendAll(service, unmeasuredSends);
    await untilConfirmed(service, unmeasuredSends);
    const startedAt = performance.now();
    const sending: Promise<number>[] = [];
    for (let index = 0; index < options.latencySends; index++) {
      const due = startedAt + (index * 1_000) / options.latencyRate;
      const waitMs = due - performance.now();
      if (waitMs > 0) await elapsed(waitMs);
      sending.push(send(service, index));
    }
    const refusals = (await Promise.all(sending)).filter((count) => count > 0).length;
    if (refusals > 0) throw new Error(`${refusals} sends were refused, so that their delays say nothing: 10,000 transactions waited`);
    await untilConfirmed(service, unmeasuredSends + options.latencySends);
    const delays: number[] = [];
    for (let page = 1; delays.length < options.latencySends; page++) {
      const answer = await request(`${service.baseUrl}/api/v1/relayers/r1/transactions?per_page=100&page=${page}`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const { data } = (await answer.body.json()) as { data: { created_at: string; sent_at: string }[] };
      if (data.length === 0) break;
      for (const { created_at, sent_at } of data) delays.push(Date.parse(sent_at) - Date.parse(created_at));
    }
    sayDelays('accepted by the service to accepted by the node', delays);
  });
  await nodeLatency();
}

/** What the node alone needs at this rate: signed transactions, one request each. It answers late while it mines, and shares the cores with its callers. */
async function nodeLatency(): Promise<void> {
  const anvil = await startAnvil({ blockTime: options.blockTime, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  try {
    const wallet = new Wallet(anvilKeys[0]);
    const signed: string[] = [];
    for (let nonce = 0; nonce < options.latencySends; nonce++)
      signed.push(
        await wallet.signTransaction({
          type: 2,
          chainId: 31_337,
          nonce,
          to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
          value: nonce + 1,
          gasLimit: 21_000,
          maxFeePerGas: 100_000_000_000n,
          maxPriorityFeePerGas: 1_000_000_000n,
        }),
      );
    const startedAt = performance.now();
    const delays = await Promise.all(
      signed.map(async (raw, index) => {
        await elapsed(startedAt + (index * 1_000) / options.latencyRate - performance.now());
        const sentAt = performance.now();
        await anvil.rpc('eth_sendRawTransaction', [raw]);
        return Math.round(performance.now() - sentAt);
      }),
    );
    sayDelays('signed to accepted by the node, without the service', delays);
  } finally {
    await anvil.stop();
  }
}

function sayDelays(what: string, delaysMs: readonly number[]): void {
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  say(
    `latency at ${options.latencyRate} sends/s: ${what}, median ${at(0.5)} ms, p99 ${at(0.99)} ms, maximum ${at(1)} ms, of ${sorted.length}`,
  );
}

/** Counts the requests to the node during empty blocks, with this number of transactions in flight. */
async function requestsPerBlock(inFlight: number, blocks: number): Promise<number> {
  let counter: CountingProxy | undefined;
  return withService(
    'on command',
    async (anvil) => {
      counter = await startCountingProxy(anvil.url);
      return counter;
    },
    async (service, _home, anvil) => {
      await sendAll(service, inFlight);
      for (let submitted = 0; submitted < inFlight; submitted = await totalOf(service, 'submitted')) {
        if (process.env.BENCH_VERBOSE) say(`  ${submitted} submitted`);
        await elapsed(500);
      }
      const beyondLooks = () => (counter?.requests() ?? 0) - (counter?.looks() ?? 0);
      const before = beyondLooks();
      for (let block = 0; block < blocks; block++) {
        // Above every bid, so that nothing is mined.
        await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x38d7ea4c68000']);
        await anvil.mine();
        await elapsed(400);
      }
      return (beyondLooks() - before) / blocks;
    },
  );
}

async function flat(): Promise<void> {
  const few = await requestsPerBlock(10, 5);
  say(`flat: ${few.toFixed(1)} requests a block beside looking at the head, with 10 in flight`);
  const many = await requestsPerBlock(10_000, 5);
  say(`flat: ${many.toFixed(1)} with 10,000`);
}

const modes = { latency, calls, flat, throughput };
const wanted = Object.entries(modes).filter(([name]) => process.argv.includes(name));
for (const [, run] of wanted.length === 0 ? Object.entries(modes) : wanted) await run();
await agent.close();
