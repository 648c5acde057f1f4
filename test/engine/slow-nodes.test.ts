import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { openSimDatabase } from '../sim/database.js';
import { createLedger } from '../sim/evm/ledger.js';
import { createNode } from '../sim/evm/node.js';
import { startService } from '../sim/service.js';
import { createSkewedClock, createVirtualTime, trueTimeMs } from '../sim/virtual-time.js';
import { evmNetwork, evmRelayer, wanted } from '../support/evm.js';
import { createRandom } from '../support/seeded-random.js';

const blockMs = 12_000;
const gwei = 10n ** 9n;

/** A service in virtual time on a chain with 12-second blocks, whose nodes take as long to answer as `delay` says. */
async function startSlow(test: TestContext, urls: number) {
  const random = createRandom(1);
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const database = await openSimDatabase();
  const signer = createLocalSigner({ id: 's1', privateKey: Buffer.alloc(32, 11) });
  const accounts = new Map([[signer.address.toLowerCase(), { nonce: 0, balanceWei: 10n ** 21n }]]);
  const ledger = createLedger(random.fork('ledger'), accounts, Math.floor(trueTimeMs(time) / 1_000) - 1);
  const nodes = Array.from({ length: urls }, (_, index) =>
    createNode({
      name: `n${index}`,
      kind: 'geth',
      chainId: 31_337n,
      ledger,
      gossip: () => undefined,
      stranger: () => assert.fail('no node shows foreign transactions'),
      refusedBid: () => undefined,
    }),
  );
  const rpcUrls = nodes.map(({ name }, index) => ({ url: `http://${name}.sim`, weight: 100 - index }));
  const network = evmNetwork({ rpcUrls, requiredConfirmations: 1, averageBlockTimeMs: blockMs });
  const relayer = { ...evmRelayer(signer.address, {}), id: 'r1', signerId: signer.id, network };
  const delay = { ms: 5 };
  const service = startService({
    database,
    wire: {
      time,
      sent: () => undefined,
      fate: () => 'answered',
      delayMs: () => delay.ms,
      answer: (host, body) => nodes.find(({ name }) => host.startsWith(name))?.answer(body) ?? '',
    },
    clock,
    relayers: [{ relayer, signer }],
    random: random.fork('service'),
    rpcTimeoutMs: 10_000,
    openChain: (parts) => createEvmChain({ ...parts, network, rpcUrls, maxFeeWei: null }),
    commitFate: () => 'done',
    commitDelayMs: () => 1,
    signDelayMs: null,
    isFenced: true,
    logged: () => undefined,
    lostDatabase: () => undefined,
    wroteStale: () => undefined,
    sharing: null,
  });
  test.after(() => {
    service.kill();
    database.close();
  });

  async function turns(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (service.isBusy());
  }
  async function pass(ms: number): Promise<void> {
    const endMs = time.elapsedMs() + ms;
    await turns();
    for (let next = time.nextAtMs(); next !== null && next <= endMs; next = time.nextAtMs()) {
      time.runNext();
      await turns();
    }
    time.advanceTo(endMs);
  }
  function mine(): void {
    ledger.build([], {
      timestampS: Math.floor(trueTimeMs(time) / 1_000),
      baseFeeWei: gwei,
      marketTipWei: gwei,
      leastTipWei: 0n,
      room: 100,
      deposits: new Map(),
    });
    for (const node of nodes) node.follow();
  }
  async function attemptsOf(id: string): Promise<number> {
    const reading = service.deps.store.read.transactionsById([id]);
    await pass(100);
    return (await reading)[0]?.attempts.length ?? 0;
  }

  mine();
  await pass(blockMs);
  return {
    /** Sends three payments while answers take this long, and returns after how many seconds the last one was signed. */
    async secondsToSign(ms: number): Promise<number> {
      delay.ms = ms;
      const startedMs = time.elapsedMs();
      const sending = [1n, 2n, 3n].map((valueWei) => sendTransaction(service.deps, relayer, wanted({ valueWei })));
      await pass(100);
      const ids = (await Promise.all(sending)).map(({ transaction }) => transaction.id);
      for (let blockAtMs = startedMs + blockMs / 2; time.elapsedMs() - startedMs < 300_000; ) {
        await pass(500);
        if (time.elapsedMs() >= blockAtMs) {
          mine();
          blockAtMs += blockMs;
        }
        const counts: number[] = [];
        for (const id of ids) counts.push(await attemptsOf(id));
        if (counts.every((count) => count === 1)) return (time.elapsedMs() - startedMs) / 1_000;
      }
      throw new Error('not all of them were signed within five minutes');
    },
    pass,
  };
}

describe('three payments on a chain with 12-second blocks', () => {
  for (const urls of [1, 2]) {
    for (const { ms, limitS } of [
      { ms: 2_500, limitS: 15 },
      { ms: 9_000, limitS: 40 },
    ]) {
      it(`are signed within ${limitS} s by ${urls} URL(s) whose answers take ${ms} ms`, async (test) => {
        const slow = await startSlow(test, urls);
        const seconds = await slow.secondsToSign(ms);
        assert.ok(seconds <= limitS, `signed after ${seconds} s`);
      });
    }
  }

  it('are signed within 40 s by answers that take 9 s after an hour without any', async (test) => {
    const slow = await startSlow(test, 1);
    await slow.secondsToSign(5);
    await slow.pass(3_600_000);
    const seconds = await slow.secondsToSign(9_000);
    assert.ok(seconds <= 40, `signed after ${seconds} s`);
  });
});
