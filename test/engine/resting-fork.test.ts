import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { createWatcher } from '../../src/engine/watcher.js';
import { openStore } from '../../src/storage/open-store.js';
import { evmNetwork, rememberingLog } from '../support/evm.js';
import { type AskedCall, answering, startFakeNode } from '../support/fake-node.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const startMs = Date.UTC(2030, 0, 1);
const hashOf = (branch: string, height: number): string => `0x${branch}${height.toString(16).padStart(62, '0')}`;

/** A network whose blocks come with the time that the test lets pass, and two endpoints: the first reports the heads, the second one is down at first. */
async function start(test: TestContext, { blockMs, rests, answerMs }: { blockMs: number; rests: boolean; answerMs: number }) {
  let elapsedMs = 0;
  const height = () => 1_000 + Math.floor(elapsedMs / blockMs);
  /** The second endpoint shows other blocks from this height on. */
  let forkedFrom = Number.POSITIVE_INFINITY;
  const away = { first: false, second: true };
  const node = (name: 'first' | 'second') =>
    startFakeNode(test, (request) =>
      away[name]
        ? 'hang up'
        : answering(request, ({ method, params: [at] }: AskedCall) => {
            if (method !== 'eth_getBlockByNumber') return undefined;
            const number = at === 'latest' ? height() : Number(at);
            if (number > height()) return null;
            const branchAt = (one: number) => (name === 'second' && one >= forkedFrom ? 'bb' : 'aa');
            const timestamp = `0x${Math.floor((startMs + number * blockMs) / 1000).toString(16)}`;
            const hash = hashOf(branchAt(number), number);
            const parentHash = hashOf(branchAt(number - 1), Math.max(0, number - 1));
            return { number: `0x${number.toString(16)}`, hash, parentHash, timestamp, baseFeePerGas: '0x1', gasLimit: '0x1c9c380' };
          }),
    );
  const nodes = [await node('first'), await node('second')];
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const clock = { nowMs: () => startMs + 1_000 * blockMs + elapsedMs, elapsedMs: () => elapsedMs };
  const network = evmNetwork({ averageBlockTimeMs: blockMs, requiredConfirmations: 12 });
  const log = rememberingLog();
  const chain = createEvmChain({ network, rpcUrls, rpcTimeoutMs: 3_000, log, clock });
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  let timer: { readonly atMs: number; readonly task: () => void } | null = null;
  let polls = 0;
  const timers = {
    after(ms: number, task: () => void) {
      timer = { atMs: elapsedMs + ms, task };
      return () => {
        timer = null;
      };
    },
  };
  const timed: typeof chain = {
    ...chain,
    async head() {
      polls += 1;
      // An answer takes this long.
      elapsedMs += answerMs;
      return chain.head();
    },
  };
  const watcher = createWatcher({
    chain: timed,
    store,
    directory: createDirectory([]),
    recordRelayerState: () => [],
    timers,
    clock: { nowMs: () => elapsedMs, elapsedMs: () => elapsedMs },
    log: silentLog,
  });
  watcher.listen({ tick: () => undefined, unreachable: () => undefined, isResting: () => rests });
  test.after(async () => {
    await watcher.stop();
    await store.close();
    await chain.close();
  });
  watcher.start();
  async function nextTimer() {
    const deadline = Date.now() + 10_000;
    while (timer === null) {
      if (Date.now() > deadline) throw new Error('no poll follows');
      await new Promise((resolve) => setImmediate(resolve));
    }
    return timer;
  }
  /** Lets time pass: each poll ends before the next timer. */
  async function pass(ms: number) {
    const end = elapsedMs + ms;
    for (;;) {
      const next = await nextTimer();
      if (next.atMs > end) break;
      timer = null;
      elapsedMs = Math.max(elapsedMs, next.atMs);
      next.task();
    }
    elapsedMs = Math.max(elapsedMs, end);
  }
  await pass(0);
  const calls = () => nodes.map(({ methods }) => methods.length);
  return { calls, watcher, chain, away, pass, height, log, polls: () => polls, fork: (from: number) => (forkedFrom = from) };
}

describe('an endpoint on another branch takes over while the one that reported the heads is down', () => {
  for (const [name, blockMs, answerMs] of [
    ['BNB', 450, 50],
    ['Arbitrum', 250, 50],
    ['Polygon, Avalanche and the OP stack', 2_000, 200],
    ['Ethereum', 12_000, 200],
  ] as const)
    for (const rests of [false, true])
      it(`${name}, ${rests ? 'all lanes rest' : 'a lane works'}: its head is not used`, async (test) => {
        const { watcher, chain, away, pass, height, fork, log, polls } = await start(test, { blockMs, rests, answerMs });
        await pass(Math.max(120_000, 100 * blockMs));
        assert.equal(watcher.health().problem, null);
        // 100 blocks ago: no reorg reaches so far.
        fork(height() - 100);
        away.first = true;
        away.second = false;
        await pass(Math.max(20_000, 2 * blockMs));
        const { head, problem } = watcher.health();
        test.diagnostic(JSON.stringify({ polls: polls(), head: head?.hash.slice(0, 4), problem, forked: chain.forkedHosts().length }));
        // What a lane would call confirmed meanwhile.
        const final = async () => {
          const now = watcher.health();
          return now.head === null || now.problem !== null ? null : chain.sequence.finalBlock(now.head, 12);
        };
        await final();
        await pass(Math.max(70_000, 10 * blockMs));
        const proved = await final().catch(() => null);
        test.diagnostic(`confirmed on the other branch: ${proved === null ? 'nothing' : `up to block ${proved} of ${height()}`}`);
        // The first one is back: is it the one that is left out?
        away.first = false;
        await pass(150_000);
        const later = watcher.health();
        test.diagnostic(`first endpoint back: head ${later.head?.hash.slice(0, 4)}, ${chain.endpoints().map((one) => one.state)}`);
        assert.equal(head?.hash.slice(0, 4), '0xaa', log.lines.join('\n'));
        assert.equal(proved, null);
        assert.equal(later.head?.hash.slice(0, 4), '0xaa');
        assert.deepEqual(
          chain.endpoints().map((one) => one.state),
          ['in_use', 'forked'],
        );
      });
});

describe('the calls of a minute with two working endpoints', () => {
  for (const [name, blockMs] of [
    ['BNB', 450],
    ['the OP stack', 2_000],
  ] as const)
    it(`${name}: are those for the heads and the probes`, async (test) => {
      const took: string[] = [];
      let most = 0;
      for (const rests of [false, true]) {
        const { away, pass, calls, polls } = await start(test, { blockMs, rests, answerMs: 100 });
        away.second = false;
        await pass(30_000);
        const [before, pollsBefore] = [calls(), polls()];
        await pass(60_000);
        const counts = calls().map((count, index) => count - (before[index] ?? 0));
        took.push(`${rests ? 'rests' : 'works'}: ${polls() - pollsBefore} polls, ${counts.join(' and ')} calls`);
        if (rests) most = counts.reduce((sum, count) => sum + count, 0) / (polls() - pollsBefore);
      }
      test.diagnostic(took.join('; '));
      // One for the head and one for the probe of the other endpoint, and the blocks by which endpoints are compared.
      assert.ok(most <= 2.5, `${most.toFixed(1)} calls per poll at rest`);
    });
});
